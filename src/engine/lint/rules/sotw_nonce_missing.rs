//! A SotW response without a nonce.
//!
//! Why: The nonce ties a verdict to its response. Without one an ACK, a NACK and a stale request can't be told
//! apart.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 [foo]
//! ```
//!
//! Instead: give each response of a stream a nonce of its own.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-07.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-nonce-missing",
    severity: Severity::Error,
    rows: "E-07",
    source: include_str!("sotw_nonce_missing.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if !answer.view.is_delta && answer.view.nonce.is_empty() && case.is_grpc() {
        let text = format!("response {} without a nonce", super::shown(answer.view.version));
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
