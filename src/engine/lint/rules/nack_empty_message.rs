//! A refusal without a word of why.
//!
//! Why: The message is for people. Without it somebody has to guess which resource the client did not like.
//!
//! Example:
//! ```text
//! > cds n=a nack="" code=3
//! ```
//!
//! Instead: fill `error_detail.message`.
//!
//! Protocol: "ACK/NACK and resource type instance version"; row E-25.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "nack-empty-message",
    severity: Severity::Info,
    rows: "E-25",
    source: include_str!("nack_empty_message.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if asking.refuses() && asking.error().is_some_and(|error| error.message.is_empty()) {
        let text = "NACK without a message".to_owned();
        let evidence: Vec<_> = asking.outcome.answers.into_iter().collect();
        case.raise(&RULE, Found { text, evidence: &evidence, ..Found::default() });
    }
}
