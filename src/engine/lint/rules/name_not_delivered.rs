//! A requested resource was not sent.
//!
//! Why: SotW cannot report that a resource does not exist, so clients give up after a timeout (15
//! s). A missing resource and a faulty server look alike.
//!
//! Example:
//! ```text
//! > eds names=[foo q]
//! < eds v=1 n=a [foo]
//! advance 15s
//! ```
//!
//! Advice: Check whether the server has a resource of exactly that name.
//!
//! Reference: xDS protocol, "Knowing When a Requested Resource Does Not Exist".

use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::Sym;

rule! {
    name-not-delivered: Info, rows "E-34, E-46, L-05",
    ends(Ending::State);
    checks: Alarm(Alarm::Missing, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    if ctx.is_delta() {
        return;
    }
    let (catalog, limit) = (ctx.catalog(), ctx.options.timers.exist);
    let prior = ctx.previous_track(&track.type_url);
    let was_sent = |track: &Track, name: Sym| {
        let entry = track.sent.get(catalog, name);
        entry.is_some_and(|entry| entry.blob.is_some())
    };
    let mut overdue = ctx.overdue_names(track, limit, ctx.state.checked.existence_checked_until);
    overdue.retain(|overdue| {
        let was_sent_before = prior.is_some_and(|prior| was_sent(prior, overdue.name));
        !overdue.was_present && !was_sent(track, overdue.name) && !was_sent_before
    });
    ctx.report_overdue(&RULE, &format!("not delivered within {}s", limit.as_secs()), None, overdue);
}
