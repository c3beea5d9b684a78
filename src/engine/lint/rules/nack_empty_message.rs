//! A NACK has no message.
//!
//! Why: The message is for people. Without a message somebody has to guess which resource the
//! client rejected.
//!
//! Example:
//! ```text
//! > cds n=a nack="" code=3
//! ```
//!
//! Advice: Fill `error_detail.message`.
//!
//! Reference: API reference, `DiscoveryRequest.error_detail`.

use crate::lint::prelude::*;

rule! {
    nack-empty-message: Info, rows "E-25";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if request.is_nack() && request.error().is_some_and(|error| error.message.is_empty()) {
        let text = "NACK without a message".to_owned();
        let evidence: Vec<_> = request.outcome.answers.into_iter().collect();
        ctx.report(&RULE, FindingDraft { text, evidence: &evidence, ..FindingDraft::default() });
    }
}
