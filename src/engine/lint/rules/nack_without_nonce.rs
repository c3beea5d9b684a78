//! A NACK has no nonce.
//!
//! Why: A NACK carries the nonce of the rejected response. Without a nonce the server does not
//! know which response is meant.
//!
//! Example:
//! ```text
//! > eds names=[foo] nack="bad"
//! ```
//!
//! Advice: Put the nonce of the rejected response into `response_nonce`.
//!
//! Reference: xDS protocol, "ACK and NACK semantics summary".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "nack-without-nonce", "E-21, F-05", include_str!("nack_without_nonce.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check)];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    // Responses before the recording may have had no nonce.
    let has_nonces = request.track.responses.last().is_some_and(|newest| !newest.nonce.is_empty());
    let certain = !request.outcome.partial || has_nonces;
    // The server has sent responses without a nonce: the client has nothing else to echo.
    let certain = certain && request.outcome.answers.is_none();
    // Without a response there is nothing to refuse: types of other planes carry reports.
    let is_report = request.track.kind.is_none() && request.track.responses.last().is_none();
    let certain = certain && !is_report;
    if request.error().is_some() && request.nonce().is_empty() && ctx.is_grpc() && certain {
        let text = "error_detail without a nonce".to_owned();
        ctx.report(&RULE, FindingDraft { text, ..FindingDraft::default() });
    }
}
