//! A server sends a TTL to a client that does not support TTLs.
//!
//! Why: Only clients with the node feature `xds.config.supports-resource-ttl` run a timer. Other
//! clients keep the resource, and misread heartbeats.
//!
//! Example:
//! ```text
//! node n1
//! < n=1 [r@1 ttl=10s]
//! ```
//!
//! Advice: Check the client features of the node before setting a TTL.
//!
//! Reference: xDS protocol, "TTL".

use crate::lint::prelude::*;
use crate::session::key;
use xdscope_wire::NodeInfo;

rule! {
    ttl-unsupported-client: Warn, rows "G-03",
    ends(Ending::Content), about(Subject::AcceptedFault);
    checks: Response(check)
}

const FEATURE: &str = NodeInfo::TTL_FEATURE;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.ttl.is_empty() {
        return;
    }
    // `sotw-wrapper-unsupported` covers TTLs in wrappers that the client does not read at all.
    if lacks_ttl(ctx) && (response.view.is_delta || !super::sotw_wrapper_unsupported::lacks_wrappers(ctx)) {
        let catalog = ctx.catalog();
        let names: Vec<_> = response.scan.ttl.iter().map(|id| key(catalog, *id)).collect();
        let text = format!("TTL for a client without the feature {FEATURE}");
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}

/// Whether the client is known not to support TTLs.
fn lacks_ttl(ctx: &RuleContext<'_>) -> bool {
    ctx.client_features().is_some_and(|features| !features.iter().any(|feature| feature == FEATURE))
}
