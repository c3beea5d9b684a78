//! The first request of a stream has no node.
//!
//! Why: Servers choose the resources of a client by its node, and need to look at the first
//! request of a stream only.
//!
//! Example:
//! ```text
//! > cds nonode
//! ```
//!
//! Advice: Set `node` in the first request of each stream.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use crate::lint::prelude::*;

rule! {
    node-missing: Error, rows "E-05";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let is_first = ctx.seq.is_some() && ctx.stream.traffic.first_request == ctx.seq;
    if is_first && ctx.has_full_history() && request.message.node().is_none() {
        let text = "first request of the stream without a node";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
    }
}
