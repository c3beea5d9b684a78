//! A message of the incremental protocol over REST.
//!
//! Why: There is no REST form of incremental xDS. The body has fields that only the delta messages have.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"resource_names_subscribe": ["a"]}
//! ```
//!
//! Instead: poll with a DiscoveryRequest, or use gRPC for the incremental variant.
//!
//! Protocol: "REST-JSON polling subscriptions"; row D-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "rest-delta",
    severity: Severity::Error,
    rows: "D-06",
    source: include_str!("rest_delta.rs"),
    on: &[On::Message(check)],
};

use crate::wire::event::Variant;

fn check(case: &mut RuleContext<'_>, message: &crate::wire::Message) {
    let unread = super::super::undecodable(message).is_some() && case.stream.variant() == Some(Variant::Rest);
    let Some(bytes) = unread.then(|| message.bytes(case.catalog())).flatten() else { return };
    if serde_json::from_slice(&bytes).is_ok_and(|json| super::is_delta_json(&json)) {
        let text = format!("a Delta{} over REST", message.shape.message());
        case.raise(&RULE, Found { blame: super::sender(message), text, ..Found::default() });
    }
}
