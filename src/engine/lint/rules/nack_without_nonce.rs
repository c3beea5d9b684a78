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

use super::support::stated_reason;
use crate::lint::prelude::*;
use crate::nack::StatedFaults;

rule! {
    nack-without-nonce: Error, rows "E-21, F-05",
    about(Subject::StrayVerdict);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !is_broken(ctx, request) {
        return;
    }
    let error = request.error().map_or("", |error| error.message.trim());
    let text = match error {
        "" => "error_detail without a nonce".to_owned(),
        error => format!("error_detail without a nonce: {}", StatedFaults::read(error, &[])),
    };
    let draft = FindingDraft::new(Blame::Client, text, &[]);
    ctx.report(&RULE, FindingDraft { reason: stated_reason(request), ..draft });
}

/// Whether a request reports an error and has no nonce, although the client has one to echo.
pub(super) fn is_broken(ctx: &RuleContext<'_>, request: &RequestContext<'_>) -> bool {
    if request.error().is_none() || !request.nonce().is_empty() || !ctx.is_grpc() {
        return false;
    }
    let newest = request.track.responses.last();
    // Without a response there is nothing to refuse: types of other planes carry reports.
    let is_report = request.track.kind.is_none() && newest.is_none();
    // Responses before the recording may have had no nonce.
    let has_nonces = !request.outcome.partial || newest.is_some_and(|newest| !newest.nonce.is_empty());
    // An answered response had no nonce: the client has nothing else to echo.
    has_nonces && request.outcome.answers.is_none() && !is_report
}
