//! A request other than the first of its type has `initial_resource_versions`.
//!
//! Why: `initial_resource_versions` tells a server on a new stream what the client holds. Later
//! the server knows.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1]
//! > n=1
//! > sub=[c] irv={a:1}
//! ```
//!
//! Advice: Set the field in the first request of each type on a stream, and only there.
//!
//! Reference: API reference, `DeltaDiscoveryRequest.initial_resource_versions`.

use crate::lint::prelude::*;

rule! {
    delta-irv-late: Error, rows "F-15",
    ends(Ending::Message(CorrectMessage::Ack));
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if let Some(body) = request.delta()
        && !request.outcome.first
    {
        let names: Vec<_> = body.initial_resource_versions.keys().copied().collect();
        ctx.report_names(&RULE, Blame::Client, "initial_resource_versions after the first request", &names);
    }
}
