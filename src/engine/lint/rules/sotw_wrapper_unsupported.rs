//! A server sends wrapped resources to a client that does not support them.
//!
//! Why: In SotW the `Resource` wrapper is for clients with the node feature
//! `xds.config.supports-resource-in-sotw`. Other clients reject the wrapper as a resource of
//! another type.
//!
//! Example:
//! ```text
//! node n1
//! > rtds names=[rt]
//! < rtds v=1 n=a [wrap(rt@1 ttl=5s)]
//! ```
//!
//! Advice: Check the client features of the node before wrapping.
//!
//! Reference: xDS protocol, "SotW TTL".

use crate::lint::prelude::*;
use xdscope_wire::NodeInfo;

rule! {
    sotw-wrapper-unsupported: Error, rows "G-09",
    ends(Ending::Content);
    checks: Response(check)
}

const FEATURE: &str = NodeInfo::WRAPPER_FEATURE;
/// The name of the feature in gRPC clients.
const GRPC_FEATURE: &str = "xds.config.resource-in-sotw";

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = &response.scan.wrapped;
    if !names.is_empty() && lacks_wrappers(ctx) {
        let text = format!("wrapped resources for a client without the feature {FEATURE}");
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, names));
    }
}

/// Whether the client is known not to support wrapped resources in SotW.
pub(super) fn lacks_wrappers(ctx: &RuleContext<'_>) -> bool {
    let is_supported = |feature: &String| feature == FEATURE || feature == GRPC_FEATURE;
    ctx.client_features().is_some_and(|features| !features.iter().any(is_supported))
}
