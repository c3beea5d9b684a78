//! A client states held versions on its first stream.
//!
//! Why: A client that has just started holds no resources. The client may have started before the
//! capture, or may keep its cache on disk.
//!
//! Example:
//! ```text
//! stream 1 delta cds
//! > sub=[a] irv={a:1}
//! ```
//!
//! Advice: No action is needed if the client ran before the capture.
//!
//! Reference: API reference, `DeltaDiscoveryRequest.initial_resource_versions`.

use crate::lint::prelude::*;

rule! {
    delta-irv-first-stream: Info, rows "F-16";
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta() else { return };
    if !request.outcome.first || !ctx.has_full_history() {
        return;
    }
    let is_first_stream = ctx.store.engine().before(ctx.stream).next().is_none();
    if is_first_stream && !body.initial_resource_versions.is_empty() {
        let names: Vec<_> = body.initial_resource_versions.keys().copied().collect();
        let server = if ctx.store.engine().has_other_server(ctx.stream) { " to this server" } else { "" };
        let text = format!("initial_resource_versions on the first stream of the client{server}");
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &names).guessed());
    }
}
