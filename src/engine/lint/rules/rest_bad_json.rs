//! The body of a REST poll, or of its answer, is not the JSON form of its message.
//!
//! Why: Bodies are the proto3 JSON mapping of a DiscoveryRequest and a DiscoveryResponse. This one is no JSON, or has fields
//! or values that the message does not have.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"node": "n1"}
//! ```
//!
//! Instead: let a protobuf library write and read the JSON.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-04.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-bad-json",
    severity: Severity::Error,
    rows: "D-04",
    source: include_str!("rest_bad_json.rs"),
    on: &[On::Message(check)],
};

use serde_json::Value;

use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    let unread = super::super::undecodable(message).is_some() && case.stream.variant() == Some(Variant::Rest);
    let Some(bytes) = unread.then(|| message.bytes(case.catalog())).flatten() else { return };
    let what = message.shape.message();
    let text = match serde_json::from_slice::<Value>(&bytes) {
        Ok(json) if super::is_delta_json(&json) => return,
        Ok(_) => format!("JSON that is no {what}"),
        Err(error) => format!("no {what}: {error}"),
    };
    let blame = super::sender(message);
    case.raise(&RULE, Found { blame, text, part: blame.word(), ..Found::default() });
}
