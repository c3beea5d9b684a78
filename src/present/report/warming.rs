//! Clusters and listeners that wait for resources that they refer to
//! (Envoy, "Cluster manager: Cluster warming").

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::graph::{self, Graph, GraphNode, NodeState};
use crate::engine::store::Store;
use crate::schema::Schema;
use crate::wire::event::{Kind, Seq, StreamId, Time};
use crate::wire::text::age;

/// A cluster or listener that is warming.
#[derive(Clone, Debug)]
pub struct Warming {
    /// The stream of the client.
    pub stream: StreamId,
    /// The node of the client, if it is known.
    pub node: Option<Arc<str>>,
    /// The type of the resource: cluster or listener.
    pub kind: Kind,
    /// The name of the resource.
    pub name: Arc<str>,
    /// The resources that it waits for, longest wait first. The client has requested all of them.
    pub waits: Vec<Waits>,
}

/// A resource that was requested and not sent.
#[derive(Clone, Debug)]
pub struct Waits {
    /// The type of the missing resource.
    pub kind: Kind,
    /// The name of the missing resource.
    pub name: Arc<str>,
    /// Time and message of the first request.
    pub since: Option<(Time, Seq)>,
}

/// Returns the warming resources on open streams, by client.
///
/// Reads contents only of clients that wait for endpoints, routes or secrets.
pub fn warming(store: &Store, schema: &Schema) -> Vec<Warming> {
    let mut out = Vec::new();
    let mut seen = HashSet::new();
    for cell in store.summaries() {
        let kind = Kind::of_type_url(cell.type_url.as_str()).map(|(kind, _)| kind);
        let held_up = matches!(kind, Some(Kind::Eds | Kind::Rds | Kind::Sds)) && cell.missing > 0;
        if !held_up || cell.last_state.is_some() || !seen.insert(cell.stream) {
            continue;
        }
        let streams = graph::streams_of(store, cell.stream);
        seen.extend(&streams);
        let graph = Graph::of(store, schema, &streams);
        out.extend(of_client(&graph, cell.stream, cell.node.as_ref()));
    }
    out.sort_by_key(|warming| warming.waits.first().and_then(|waits| waits.since));
    out
}

/// Returns the warming resources of one client. `stream` stands for parents without a stream.
fn of_client(graph: &Graph, stream: StreamId, node: Option<&Arc<str>>) -> Vec<Warming> {
    let parents = graph.problems().filter(|node| matches!(node.state, NodeState::Warming { .. }));
    let warming = |parent: &GraphNode| {
        let below = parent.uses.iter().filter_map(|(id, _)| graph.get(*id));
        let mut waits: Vec<Waits> = below
            .filter_map(|child| match child.state {
                NodeState::Waiting { since } | NodeState::Missing { since } => {
                    Some(Waits { kind: child.kind, name: child.name.clone(), since })
                }
                _ => None,
            })
            .collect();
        waits.sort_by_key(|waits| waits.since);
        let stream = parent.stream.unwrap_or(stream);
        Warming { stream, node: node.cloned(), kind: parent.kind, name: parent.name.clone(), waits }
    };
    parents.map(warming).collect()
}

impl Warming {
    /// Returns `cluster ledger waits for EDS ledger-v2 since 12s (asked in #4): the server owes
    /// it`.
    ///
    /// Without `now` there is no age.
    pub fn text(&self, now: Option<Time>) -> String {
        let what = match self.kind {
            Kind::Cds => "cluster",
            Kind::Lds => "listener",
            kind => kind.label(),
        };
        let mut text = format!("{what} {} waits for ", self.name);
        let spelled: Vec<String> =
            self.waits.iter().take(3).map(|waits| format!("{} {}", waits.kind.label(), waits.name)).collect();
        text.push_str(&spelled.join(", "));
        if self.waits.len() > 3 {
            text.push_str(&format!(" and {} more", self.waits.len() - 3));
        }
        if let Some((since, asked)) = self.waits.first().and_then(|waits| waits.since) {
            if let Some(now) = now {
                text.push_str(&format!(" since {}", age(now.since(since))));
            }
            text.push_str(&format!(" (asked in #{})", asked.0));
        }
        text.push_str(if self.waits.len() > 1 { ": the server owes them" } else { ": the server owes it" });
        text
    }
}
