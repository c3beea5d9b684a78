//! A time to live for a client that does not announce to know it.
//!
//! Why: Only clients with the node feature `xds.config.supports-resource-ttl` keep the time. Others hold the
//! resource for ever, and take heartbeats for something else.
//!
//! Example:
//! ```text
//! node n1
//! < n=1 [r@1 ttl=10s]
//! ```
//!
//! Instead: look at the node's client features before you set a TTL.
//!
//! Protocol: "TTL"; row G-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ttl-unsupported-client",
    severity: Severity::Warn,
    rows: "G-03",
    source: include_str!("ttl_unsupported_client.rs"),
    on: &[On::Response(check)],
};

const FEATURE: &str = "xds.config.supports-resource-ttl";

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(features) = case.features().filter(|_| !answer.scan.ttl.is_empty()) else { return };
    if !features.iter().any(|feature| feature == FEATURE) {
        let catalog = case.catalog();
        let names: Vec<_> =
            answer.scan.ttl.iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
        let text = format!("TTL for a client without the feature {FEATURE}");
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
