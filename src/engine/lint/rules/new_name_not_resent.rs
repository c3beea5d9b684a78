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
use crate::session::Presence;
use xdscope_wire::Profile;
use xdscope_wire::event::Sym;

rule! {
    new-name-not-resent: Warn, rows "E-36, L-05",
    ends(Ending::State);
    checks: Alarm(Alarm::Waiting, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    if ctx.is_delta() || track.polled {
        return;
    }
    let (catalog, limit) = (ctx.catalog(), ctx.options.timers.answer);
    let was_sent = |name: Sym| {
        let Some(entry) = track.sent.get(catalog, name) else { return false };
        entry.blob.is_some() && track.responses.next() > entry.order && entry.state != Presence::Kept
    };
    let mut overdue = ctx.overdue_names(track, limit, ctx.state.checked.answers_checked_until);
    overdue.retain(|overdue| was_sent(overdue.name));
    let text = format!("requested, sent before the request, and not sent again within {}s", limit.as_secs());
    let severity = (ctx.profile() == Profile::P002).then_some(Severity::Info);
    ctx.report_overdue(&RULE, &text, severity, overdue);
}
