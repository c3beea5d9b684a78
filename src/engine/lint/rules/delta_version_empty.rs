//! A server sends delta resources without a version.
//!
//! Why: Delta tracks each resource by version. Without a version the client cannot state after a
//! reconnect which content it has, and receives the resource again. Clients accept such resources,
//! and Istio sends no others.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a]
//! ```
//!
//! Advice: If the control plane is yours, give each resource a version, for example a hash of its
//! content. xdscope reports the first such response of each server.
//!
//! Reference: API reference, `Resource.version`.

use crate::lint::memory::state::MAX_SOURCE_ENTRIES;
use crate::lint::prelude::*;
use xdscope_wire::event::Variant;

rule! {
    delta-version-empty: Info, rows "F-02",
    ends(Ending::OfContent);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = &response.scan.unversioned;
    // A dump states no versions of delta resources.
    if names.is_empty() || ctx.stream.variant() == Some(Variant::Dump) {
        return;
    }
    let servers = &mut ctx.source_state.servers_without_versions;
    let server = ctx.stream.open.server.clone().unwrap_or_default();
    if servers.len() < MAX_SOURCE_ENTRIES && servers.insert(server) {
        let text = "the server sends resources without a version";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, names));
    }
}
