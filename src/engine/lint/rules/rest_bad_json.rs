//! The body of a REST poll or of its response is not the JSON form of its message.
//!
//! Why: Bodies use the JSON mapping of DiscoveryRequest and DiscoveryResponse. The body is not
//! JSON, or has fields or values that the message does not have.
//!
//! Example:
//! ```text
//! POST /v3/discovery:clusters
//! {"node": "n1"}
//! ```
//!
//! Advice: Write and read the JSON with a protobuf library.
//!
//! Reference: xDS protocol, "REST-JSON polling subscriptions".

use crate::lint::prelude::*;

rule! {
    rest-bad-json: Error, rows "D-04";
    checks: Message(check)
}

use serde_json::Value;

use xdscope_schema::read_json;
use xdscope_wire::event::Variant;

fn check(ctx: &mut RuleContext<'_>, message: &xdscope_wire::Message) {
    let unread =
        super::super::exchange::undecodable(message).is_some() && ctx.stream.variant() == Some(Variant::Rest);
    let Some(bytes) = unread.then(|| message.bytes(ctx.catalog())).flatten() else { return };
    let what = message.shape.message();
    let text = match read_json::<Value>(&bytes) {
        Ok(json) if super::rest_delta::is_delta_json(&json) => return,
        Ok(_) => format!("JSON, but not a {what}"),
        Err(error) => format!("not a {what}: {error}"),
    };
    let blame = super::support::sender(message);
    ctx.report(&RULE, FindingDraft { blame, text, part: blame.word(), ..FindingDraft::default() });
}
