//! A requested resource was not sent.
//!
//! Why: SotW cannot report that a resource does not exist, so clients give up after a timeout (15
//! s). A missing resource and a faulty server look alike. On a new stream the server owes what it
//! has sent before, unless the client states the version that was sent last.
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

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Info,
    "name-not-delivered",
    "E-34, E-46, L-05",
    include_str!("name_not_delivered.rs"),
)
.ends(Ending::State);

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Missing, check)];

use crate::session::Presence;

fn check(ctx: &mut RuleContext<'_>) {
    let delta = ctx.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = ctx.current_track().filter(|_| !delta) else { return };
    let catalog = ctx.catalog();
    // `new-name-not-resent` covers names of resources that the server has sent on the stream.
    let was_sent = |name| {
        let slot = track.sent.get(catalog, name);
        slot.is_some_and(|slot| slot.blob.is_some() && slot.state != Presence::Kept)
    };
    let overdue = ctx.overdue_names(track, ctx.options.timers.exist, ctx.state.existence_checked_until);
    let overdue = overdue.into_iter().filter(|overdue| !overdue.was_present && !was_sent(overdue.name));
    let text = format!("not delivered within {}s", ctx.options.timers.exist.as_secs());
    ctx.report_overdue(&RULE, (&text, None), overdue);
}
