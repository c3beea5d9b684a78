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
    let Some(body) = request.delta().filter(|_| !request.outcome.first) else {
        return;
    };
    if !body.initial_resource_versions.is_empty() {
        let names: Vec<_> = body.initial_resource_versions.keys().copied().collect();
        let text = "initial_resource_versions after the first request".to_owned();
        ctx.report(&RULE, FindingDraft { text, names: &names, ..FindingDraft::default() });
    }
}
