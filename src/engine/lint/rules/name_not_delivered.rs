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

rule! {
    name-not-delivered: Info, rows "E-34, E-46, L-05",
    ends(Ending::State);
    checks: Alarm(Alarm::Missing, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let delta = ctx.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = ctx.current_track().filter(|_| !delta) else { return };
    let catalog = ctx.catalog();
    let prior = ctx.previous_track(&track.type_url);
    let never_sent = |name| {
        let was_sent =
            |track: &crate::session::Track| track.sent.get(catalog, name).is_some_and(|s| s.blob.is_some());
        !was_sent(track) && !prior.is_some_and(was_sent)
    };
    let overdue = ctx.overdue_names(track, ctx.options.timers.exist, ctx.state.existence_checked_until);
    let overdue = overdue.into_iter().filter(|overdue| !overdue.was_present && never_sent(overdue.name));
    let text = format!("not delivered within {}s", ctx.options.timers.exist.as_secs());
    ctx.report_overdue(&RULE, (&text, None), overdue);
}
