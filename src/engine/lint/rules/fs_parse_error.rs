//! A file that should hold a DiscoveryResponse can't be read as one.
//!
//! Why: It is neither the JSON, YAML, text nor binary form of the message. The client keeps what it had before; at its start
//! it has nothing.
//!
//! Example:
//! ```text
//! stream 1 file cds
//! < raw=/w==
//! ```
//!
//! Instead: write the file elsewhere and rename it over the old one, after reading it back with the descriptors.
//!
//! Protocol: "Filesystem subscriptions"; row C-01.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "fs-parse-error",
    severity: Severity::Error,
    rows: "C-01",
    source: include_str!("fs_parse_error.rs"),
    on: &[On::Message(check)],
};

use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    let file = case.stream.variant() == Some(Variant::File);
    let Some(reason) = super::super::undecodable(message).filter(|_| file) else { return };
    let bytes = message.bytes(case.catalog()).unwrap_or_default();
    // Of text the wire form says nothing; the reader's words stand in the notices of the source.
    let text = match bytes.is_ascii() && !bytes.is_empty() {
        true => "the file holds no DiscoveryResponse in any form".to_owned(),
        false => format!("the file holds no DiscoveryResponse: {reason}"),
    };
    case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
}
