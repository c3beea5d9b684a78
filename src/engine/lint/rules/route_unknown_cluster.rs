//! A route leads to a cluster that the client does not have.
//!
//! Why: Routes are not warmed: from now on traffic for it is lost, until the cluster comes. Clusters that stand
//! in the client's own bootstrap are not seen here. On different streams the order is not the server's promise:
//! then it is a note.
//!
//! Example:
//! ```text
//! > rds v=1 n=c names=[r]
//! < rds v=2 n=d [r{to: [Y]}]
//! ```
//!
//! Instead: add the new cluster, let the route lead there, then remove the old one.
//!
//! Protocol: "Eventual consistency considerations"; row H-11.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "route-unknown-cluster",
    severity: Severity::Warn,
    rows: "H-11",
    source: include_str!("route_unknown_cluster.rs"),
    on: &[On::Response(check), On::Request(close)],
};

use crate::engine::session::MessageKind;
use crate::wire::event::Kind;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if matches!(answer.track.kind, Some(Kind::Rds | Kind::Vhds)) {
        super::unknown_clusters(
            case,
            answer,
            &RULE,
            "the route leads to a cluster that the client does not have",
        );
    }
}

/// The client accepted the cluster: the window closes.
fn close(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let clusters = asking.track.kind == Some(Kind::Cds) && asking.outcome.kind == MessageKind::Ack;
    if !clusters || case.world.graphs.windows.is_empty() {
        return;
    }
    let (client, at, catalog) = (case.client(), case.at, case.catalog());
    let (mut windows, mut closed) = (std::mem::take(&mut case.world.graphs.windows), Vec::new());
    windows.retain_mut(|window| {
        if window.client == client {
            window.clusters.retain(|name| !asking.track.accepted.is_present(catalog, *name));
        }
        let open = !window.clusters.is_empty();
        if !open {
            closed.push((window.finding, window.since));
        }
        open
    });
    case.world.graphs.windows = windows;
    for (finding, since) in closed {
        let note = format!("; it came after {:.1}s", at.since(since).as_secs_f64());
        case.findings.end(finding, at, &note);
    }
}
