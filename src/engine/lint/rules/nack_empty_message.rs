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
        let draft = FindingDraft::new(Blame::Client, "NACK without a message", &[]);
        ctx.report(&RULE, draft.evidence(request.answered()));
    }
}
