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

use serde_json::Value;

use super::support::sender;
use crate::lint::prelude::*;
use xdscope_schema::read_json;
use xdscope_wire::Message;

rule! {
    rest-bad-json: Error, rows "D-04";
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    let Some(bytes) = super::rest_delta::undecodable_body(ctx, message) else { return };
    let what = message.shape.message();
    let text = match read_json::<Value>(&bytes) {
        Ok(json) if super::rest_delta::is_delta_json(&json) => return,
        Ok(_) => format!("JSON, but not a {what}"),
        Err(error) => format!("not a {what}: {error}"),
    };
    let blame = sender(message);
    ctx.report(&RULE, FindingDraft { part: blame.word(), ..FindingDraft::new(blame, text, &[]) });
}
