//! Resources wrapped in `Resource` for a client that does not announce to unwrap them.
//!
//! Why: In SotW the wrapper is only for clients with the node feature `xds.config.supports-resource-in-sotw`.
//! Others refuse it as a resource of another type.
//!
//! Example:
//! ```text
//! node n1
//! > rtds names=[rt]
//! < rtds v=1 n=a [wrap(rt@1 ttl=5s)]
//! ```
//!
//! Instead: look at the node's client features before you wrap.
//!
//! Protocol: "TTL"; row G-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "sotw-wrapper-unsupported",
    severity: Severity::Error,
    rows: "G-09",
    source: include_str!("sotw_wrapper_unsupported.rs"),
    on: &[On::Response(check)],
};

const FEATURE: &str = "xds.config.supports-resource-in-sotw";
/// What gRPC clients call it, which take wrappers too.
const OF_GRPC: &str = "xds.config.resource-in-sotw";

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(features) = case.features().filter(|_| !answer.scan.wrapped.is_empty()) else { return };
    if !features.iter().any(|feature| feature == FEATURE || feature == OF_GRPC) {
        let names = &answer.scan.wrapped;
        let text = format!("wrapped resources for a client without the feature {FEATURE}");
        case.raise(&RULE, Found { blame: Blame::Server, text, names, ..Found::default() });
    }
}
