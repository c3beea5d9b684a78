//! A route points to a cluster that the client does not have.
//!
//! Why: Routes are not warmed: traffic is lost until the cluster arrives. Clusters in the
//! bootstrap of the client are not visible. Across streams a server cannot control the order, so
//! the finding is info there.
//!
//! Example:
//! ```text
//! > rds v=1 n=c names=[r]
//! < rds v=2 n=d [r{to: [Y]}]
//! ```
//!
//! Advice: Add the new cluster, change the route, then remove the old cluster.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "route-unknown-cluster", "H-11", include_str!("route_unknown_cluster.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check), Check::Request(close)];

use crate::engine::session::MessageKind;
use crate::wire::event::Kind;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if matches!(response.track.kind, Some(Kind::Rds | Kind::Vhds)) {
        super::support::report_unknown_clusters(
            ctx,
            response,
            &RULE,
            "points to a cluster that the client does not have",
        );
    }
}

/// Ends the finding when the client accepts the cluster.
fn close(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let clusters = request.track.kind == Some(Kind::Cds) && request.outcome.kind == MessageKind::Ack;
    if !clusters || ctx.source_state.graphs.windows.is_empty() {
        return;
    }
    let (client, at, catalog) = (ctx.client(), ctx.at, ctx.catalog());
    let (mut windows, mut closed) = (std::mem::take(&mut ctx.source_state.graphs.windows), Vec::new());
    windows.retain_mut(|window| {
        if window.client == client {
            window.clusters.retain(|name| !request.track.accepted.is_present(catalog, *name));
        }
        let open = !window.clusters.is_empty();
        if !open {
            closed.push((window.finding, window.since));
        }
        open
    });
    // Another window may keep the finding open.
    closed.retain(|(finding, _)| windows.iter().all(|window| window.finding != *finding));
    ctx.source_state.graphs.windows = windows;
    for (finding, since) in closed {
        let note = format!("; the cluster arrived after {:.1}s", at.since(since).as_secs_f64());
        ctx.findings.end(finding, at, &note);
    }
}
