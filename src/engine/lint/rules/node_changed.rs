//! A later request of a stream has another node.
//!
//! Why: A repeated node must be identical. Servers may look at the first node only, so a change
//! may have no effect.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [A]
//! > cds v=1 n=a node={cluster: other}
//! ```
//!
//! Advice: Open a new stream for another node.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use crate::lint::prelude::*;

rule! {
    node-changed: Warn, rows "E-06";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let fields = &request.outcome.node_changes;
    // A client may return to its first node.
    let is_first = match (request.message.node(), &ctx.stream.peers.node) {
        (Some(node), Some(first)) => node.blob.is_some() && node.blob == first.blob,
        _ => false,
    };
    if !fields.is_empty() && !is_first {
        let text = format!("node differs from the previous one on the stream: {}", fields.join(", "));
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
    }
}
