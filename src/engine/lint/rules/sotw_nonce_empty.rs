//! A request has no nonce although the client has used one before.
//!
//! Why: After the first verdict every request carries the newest nonce. Without a nonce the server
//! cannot tell which response the request belongs to, and may read a new subscription. While
//! nothing was acknowledged, the finding is info.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo]
//! > eds v=1 n=a names=[foo]
//! > eds v=1 names=[foo bar]
//! ```
//!
//! Advice: Repeat the newest nonce in every request, including requests that only change names.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use crate::lint::prelude::*;
use crate::session::RequestClass;

rule! {
    sotw-nonce-empty: Error, rows "E-08",
    ends(Ending::Message(CorrectMessage::Ack)), about(Subject::AcceptedFault);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !request.has_class(RequestClass::NonceDropped) || !ctx.is_grpc() {
        return;
    }
    // `nack-without-nonce` covers a request with an error.
    if super::nack_without_nonce::is_broken(ctx, request) {
        return;
    }
    // The newest response has no nonce to echo.
    if request.track.responses.last().is_some_and(|newest| newest.nonce.is_empty()) {
        return;
    }
    let has_acked = request.track.verdicts.in_force.is_some() || request.track.verdicts.has_unseen;
    let severity = (!has_acked).then_some(Severity::Info);
    let text = "request without a nonce, after requests with one";
    ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]).severity(severity));
}
