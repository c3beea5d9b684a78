//! A server does not resend a newly requested resource.
//!
//! Why: A client drops resources that it did not request. When the client requests one later, the
//! server must send the resource, changed or not.
//!
//! Example:
//! ```text
//! > eds names=[a]
//! < eds v=1 n=1 [a b]
//! > eds v=1 n=1 names=[a]
//! > eds v=1 n=1 names=[a b]
//! advance 15s
//! ```
//!
//! Advice: Send every name that is new in a request.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::prelude::*;

rule! {
    new-name-not-resent: Warn, rows "E-36, L-05",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check)
}

use xdscope_wire::Profile;

fn check(ctx: &mut RuleContext<'_>) {
    let delta = ctx.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = ctx.current_track().filter(|track| !delta && !track.polled) else {
        return;
    };
    let catalog = ctx.catalog();
    let was_sent = |name| {
        track.sent.get(catalog, name).is_some_and(|s| s.blob.is_some() && track.responses.next() > s.order)
    };
    let is_kept =
        |name| track.sent.get(catalog, name).is_some_and(|s| s.state == crate::session::Presence::Kept);
    let overdue = ctx.overdue_names(track, ctx.options.timers.answer, ctx.state.answers_checked_until);
    let overdue = overdue.into_iter().filter(|overdue| was_sent(overdue.name) && !is_kept(overdue.name));
    let limit = ctx.options.timers.answer.as_secs();
    let text = format!("requested, sent before the request, and not sent again within {limit}s");
    let severity = (ctx.profile() == Profile::P002).then_some(Severity::Info);
    ctx.report_overdue(&RULE, (&text, severity), overdue);
}
