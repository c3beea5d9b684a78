//! Fields that the published message does not have.
//!
//! Why: They hint at the wrong pair of messages for the method (the numbers of SotW and delta overlap), or at a
//! peer with a newer API. A `Resource` of v2 has no `ttl`.
//!
//! Example:
//! ```text
//! > raw=+gYBeA==
//! ```
//!
//! Instead: compare the peer's API version with the method; newer optional fields are harmless.
//!
//! Protocol: "Transport API"; rows B-05, L-19, L-24.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "unexpected-fields",
    severity: Severity::Warn,
    rows: "B-05, L-19, L-24",
    source: include_str!("unexpected_fields.rs"),
    on: &[On::Message(check), On::Response(ttl)],
};

use crate::wire::event::ApiVersion;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    let unknown = message.unknown_fields();
    if unknown.is_empty() {
        return;
    }
    let numbers: Vec<String> = unknown.iter().take(8).map(u32::to_string).collect();
    let text = format!("{} has no field {}", message.shape.message(), numbers.join(", "));
    case.raise(&RULE, Found { blame: super::sender(message), text, guess: true, ..Found::default() });
}

/// The time to live came with v3 (row L-19).
fn ttl(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let transport = case.stream.method.as_ref().map(|method| method.transport);
    if answer.scan.ttl.is_empty() || transport != Some(ApiVersion::V2) {
        return;
    }
    let catalog = case.catalog();
    let names: Vec<_> = answer.scan.ttl.iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
    let text = "Resource has no field 6 (ttl) in v2".to_owned();
    case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, guess: true, ..Found::default() });
}
