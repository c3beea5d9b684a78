//! A REST body is a delta message.
//!
//! Why: Delta is not available over REST. The body has fields that only delta messages have.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"resource_names_subscribe": ["a"]}
//! ```
//!
//! Advice: Poll with a DiscoveryRequest, or use gRPC for delta.
//!
//! Reference: xDS protocol, "Incremental xDS".

use super::support::sender;
use crate::lint::exchange::undecodable;
use crate::lint::prelude::*;
use xdscope_schema::read_json;
use xdscope_wire::Message;
use xdscope_wire::event::Variant;

rule! {
    rest-delta: Error, rows "D-06";
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let Some(bytes) = undecodable_body(ctx, message) else { return };
    if read_json(&bytes).is_ok_and(|json| is_delta_json(&json)) {
        let text = format!("Delta{} over REST", message.shape.message());
        ctx.report(&RULE, FindingDraft::new(sender(message), text, &[]));
    }
}

/// Returns the body of a poll or its response that is not a message.
pub(super) fn undecodable_body(ctx: &RuleContext<'_>, message: &Message) -> Option<Vec<u8>> {
    undecodable(message)?;
    if ctx.stream.variant() == Some(Variant::Rest) { message.bytes(ctx.catalog()) } else { None }
}

/// Whether JSON has fields that only delta messages have.
pub(super) fn is_delta_json(json: &serde_json::Value) -> bool {
    const FIELDS: [&str; 5] = [
        "resource_names_subscribe",
        "resource_names_unsubscribe",
        "initial_resource_versions",
        "removed_resources",
        "system_version_info",
    ];
    let normalized = |key: &str| key.replace('_', "").to_ascii_lowercase();
    let is_delta = |key: &String| FIELDS.iter().any(|field| normalized(field) == normalized(key));
    json.as_object().is_some_and(|map| map.keys().any(is_delta))
}
