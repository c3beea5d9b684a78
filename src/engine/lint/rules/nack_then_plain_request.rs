//! A request after a NACK looks like an ACK.
//!
//! Why: After a NACK the response stays rejected. A server may read a later request with the nonce
//! and the version of the response, but without the error, as an ACK.
//!
//! Example:
//! ```text
//! < eds v=1 n=2 [B]
//! > eds v=1 n=2 names=[A B] nack="B is invalid"
//! > eds v=1 n=2 names=[A B]
//! ```
//!
//! Advice: Repeat `error_detail`, or wait for the next response with changes of names.
//!
//! Reference: xDS protocol, "NACK".

use crate::lint::prelude::*;

rule! {
    nack-then-plain-request: Info, rows "E-26";
    checks: Request(check)
}

use crate::session::Status;

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(about) = request.outcome.referenced.filter(|about| about.was == Status::Nacked) else { return };
    let Some(body) = request.sotw().filter(|body| body.error_detail.is_none()) else { return };
    let refused = request.answered_version().filter(|version| !version.is_empty());
    if refused == Some(&body.version_info) {
        let text = format!(
            "repeats nonce and version of the rejected version {} without error_detail: it looks like an ACK",
            body.version_info
        );
        let evidence = [about.seq];
        ctx.report(&RULE, FindingDraft { text, evidence: &evidence, ..FindingDraft::default() });
    }
}
