//! A requested resource was not sent.
//!
//! Why: SotW cannot report that a resource does not exist, so clients give up after a timeout (15
//! s). A missing resource and a faulty server look alike. A server answers a wildcard for
//! listeners or clusters in both variants, if need be with an empty list.
//!
//! Example:
//! ```text
//! > eds names=[foo q]
//! < eds v=1 n=a [foo]
//! advance 15s
//! ```
//!
//! Advice: Check whether the server has a resource of exactly that name, or, for a wildcard,
//! whether the server knows the client.
//!
//! Reference: xDS protocol, "Knowing When a Requested Resource Does Not Exist".

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::session::{Track, Wildcard};
use xdscope_wire::event::Sym;

rule! {
    name-not-delivered: Info, rows "E-34, E-46, L-05",
    ends(Ending::State);
    checks: Alarm(Alarm::Missing, check), Alarm(Alarm::Missing, check_wildcard)
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
    let mut overdue = ctx.overdue_names(track, limit, ctx.state.existence_checked_until);
    overdue.retain(|overdue| {
        let was_sent_before = prior.is_some_and(|prior| was_sent(prior, overdue.name));
        !overdue.was_present && !was_sent(track, overdue.name) && !was_sent_before
    });
    ctx.report_overdue(&RULE, &format!("not delivered within {}s", limit.as_secs()), None, overdue);
}

/// Reports a wildcard that the server has not answered.
fn check_wildcard(ctx: &mut RuleContext<'_>) {
    let limit = ctx.options.timers.exist;
    let Some(track) = ctx.current_track() else { return };
    let Some(owed) = track.wildcard_owed() else { return };
    let is_reported = ctx.state.existence_checked_until.is_some_and(|until| owed.due_from <= until);
    if is_reported || !ctx.has_all_since(owed.message) {
        return;
    }
    if !owed.is_overdue(ctx.at, limit) {
        return ctx.arm(Alarm::Missing, owed.due(limit));
    }
    let text = format!("the wildcard: not answered within {}s", limit.as_secs());
    let evidence = [owed.message];
    let draft = FindingDraft {
        part: "wildcard",
        guess: track.subscribed.wildcard == Wildcard::Ambiguous,
        ..FindingDraft::new(Blame::Server, text, &[]).evidence(&evidence)
    };
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::UnansweredWildcard, owed.since));
}
