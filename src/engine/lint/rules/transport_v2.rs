//! A stream uses the v2 transport API.
//!
//! Why: Envoy and gRPC removed v2 years ago. xdscope supports v2 to inspect old peers.
//!
//! Example:
//! ```text
//! stream 1 ads v2
//! ```
//!
//! Advice: Move to the v3 services.
//!
//! Reference: xDS protocol, "Transport API version".

use crate::lint::prelude::*;
use xdscope_wire::event::ApiVersion;

rule! {
    transport-v2: Info, rows "I-13, L-01";
    checks: Open(check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let method = ctx.stream.method.as_ref();
    if method.is_some_and(|method| method.transport == ApiVersion::V2) {
        let text = format!("v2 transport: {}", ctx.stream.open.method);
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &[]));
    }
}
