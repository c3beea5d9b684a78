//! A delta response without a nonce.
//!
//! Why: The nonce is required: without it the client can neither accept nor refuse the response.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < [a@1]
//! ```
//!
//! Instead: give each response a nonce of its own.
//!
//! Protocol: "Incremental xDS"; row F-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-nonce-missing",
    severity: Severity::Error,
    rows: "F-03",
    source: include_str!("delta_nonce_missing.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.view.is_delta && answer.view.nonce.is_empty() {
        let text = "delta response without a nonce".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
