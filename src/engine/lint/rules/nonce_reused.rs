//! A nonce is used for a second response of the type.
//!
//! Why: A nonce names one response. Used twice, a verdict could mean either. In SotW, where only the newest
//! counts, it is a warning.
//!
//! Example:
//! ```text
//! < eds v=1 n=A [foo]
//! > eds v=1 n=A names=[foo]
//! < eds v=2 n=A [foo~2]
//! ```
//!
//! Instead: count nonces up, or draw them at random.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row F-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nonce-reused",
    severity: Severity::Error,
    rows: "F-03",
    source: include_str!("nonce_reused.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.outcome.nonce_reused && case.is_grpc() {
        let text = format!("nonce {} was issued before", answer.view.nonce);
        let severity = (!answer.view.is_delta).then_some(Severity::Warn);
        case.raise(&RULE, Found { blame: Blame::Server, text, severity, ..Found::default() });
    }
}
