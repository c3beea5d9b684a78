//! A server does not send a name that is new after a reconnect.
//!
//! Why: After a reconnect a server may skip resources only if the client requests nothing new. A
//! name that was not requested on the previous stream must be sent, whatever version the client
//! states. The resource may also not exist.
//!
//! Example:
//! ```text
//! stream 2 sotw eds
//! > v=X names=[foo bar baz]
//! advance 15s
//! ```
//!
//! Advice: Compare the names of the first request with those of the previous stream, or send
//! everything.
//!
//! Reference: xDS protocol, "ACK/NACK and resource type instance version".

use crate::lint::prelude::*;

rule! {
    reconnect-new-name-unsent: Warn, rows "E-19",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let states_version =
        ctx.state.versions.stated_version.as_ref().is_some_and(|version| !version.is_empty());
    if track.polled || !states_version {
        return;
    }
    let Some(prior) = ctx.previous_track(&track.type_url) else { return };
    let (first, limit) = (ctx.stream.traffic.first_request, ctx.options.timers.answer);
    let mut overdue = ctx.overdue_names(track, limit, ctx.state.checked.answers_checked_until);
    overdue.retain(|overdue| {
        Some(overdue.requested_in) == first && !prior.subscribed.names.contains(overdue.name)
    });
    let text = format!("new after the reconnect, but not sent within {}s", limit.as_secs());
    ctx.report_overdue(&RULE, &text, None, overdue);
}
