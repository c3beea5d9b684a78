//! A message is not of the type that its method carries.
//!
//! Why: SotW and delta methods have different messages with overlapping field numbers. Other rules
//! skip a message that cannot be read, and are silent where they depend on it.
//!
//! Example:
//! ```text
//! > raw=/w==
//! ```
//!
//! Advice: Check whether the peer uses the variant of the method, and whether a proxy changed the
//! bytes.
//!
//! Reference: xDS protocol, "RPC Services and Methods for Each Variant".

use super::support::sender;
use crate::lint::exchange::undecodable;
use crate::lint::prelude::*;
use xdscope_wire::Message;
use xdscope_wire::event::Variant;

rule! {
    message-undecodable: Error, rows "B-05",
    about(Subject::UndecodableMessage);
    checks: Message(check)
}

fn check(ctx: &mut RuleContext<'_>, message: &Message) {
    // `fs-parse-error` and `rest-bad-json` cover messages that are not protobuf.
    let is_protobuf = !matches!(ctx.stream.variant(), Some(Variant::Rest | Variant::File));
    if let Some(reason) = undecodable(message)
        && is_protobuf
    {
        let text = format!("not a {}: {reason}", message.shape.message());
        ctx.report(&RULE, FindingDraft::new(sender(message), text, &[]));
    }
}
