//! A delta response has no nonce.
//!
//! Why: The nonce is required: without a nonce the client can neither accept nor reject the
//! response.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < [a@1]
//! ```
//!
//! Advice: Give each response a nonce of its own.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::prelude::*;

rule! {
    delta-nonce-missing: Error, rows "F-03",
    ends(Ending::Response), about(Subject::AcceptedFault);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.view.is_delta && response.view.nonce.is_empty() {
        ctx.report(&RULE, FindingDraft::new(Blame::Server, "delta response without a nonce", &[]));
    }
}
