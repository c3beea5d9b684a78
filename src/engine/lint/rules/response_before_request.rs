//! A server responds before the first request of the stream.
//!
//! Why: The client speaks first: its request states the node and the names.
//!
//! Example:
//! ```text
//! stream 1 sotw cds
//! < v=1 n=a [A]
//! ```
//!
//! Advice: Wait for the first request of the stream.
//!
//! Reference: xDS protocol, "Basic Protocol Overview".

use crate::lint::prelude::*;

rule! {
    response-before-request: Error, rows "E-01",
    ends(Ending::Response);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_first = ctx.stream.traffic.requests == 0 && !ctx.is_aggregated();
    if is_first && ctx.is_grpc() && !response.track.completeness.has_lost {
        ctx.report(&RULE, FindingDraft::new(Blame::Server, "response before any request", &[]));
    }
}
