//! A message that is not what its method carries.
//!
//! Why: SotW and delta methods have messages of their own, whose field numbers overlap. What can't be read is
//! not looked at by any other rule, and what depends on it can't be known.
//!
//! Example:
//! ```text
//! > raw=/w==
//! ```
//!
//! Instead: look whether the peer speaks the variant of the method it calls, and whether a proxy between
//! changed the bytes.
//!
//! Protocol: "Transport API"; row B-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "message-undecodable",
    severity: Severity::Error,
    rows: "B-05",
    source: include_str!("message_undecodable.rs"),
    on: &[On::Message(check)],
};

use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    // What is no protobuf has rules of its own (rows C-01, D-04).
    let other = matches!(case.stream.variant(), Some(Variant::Rest | Variant::File));
    if let Some(reason) = super::super::undecodable(message).filter(|_| !other) {
        let text = format!("no {}: {reason}", message.shape.message());
        case.raise(&RULE, Found { blame: super::sender(message), text, ..Found::default() });
    }
}
