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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "delta-nonce-missing", "F-03", include_str!("delta_nonce_missing.rs"))
        .ends(Ending::Response)
        .about(Subject::AcceptedFault);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.view.is_delta && response.view.nonce.is_empty() {
        let text = "delta response without a nonce".to_owned();
        ctx.report(&RULE, FindingDraft { blame: Blame::Server, text, ..FindingDraft::default() });
    }
}
