//! Routes in force to clusters that the client cannot use.
//!
//! Routes are not warmed: requests that are routed to an unknown cluster fail until the cluster is
//! ready (docs/protocol.md#h-07, docs/protocol.md#h-11).

use crate::store::{ResourceState, Store, Verdict, Versions};
use xdscope_schema::links::Link;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, StreamId, Time};

use super::{Graph, GraphNode, NodeId, NodeState, References};

/// Gaps whose start is searched for.
const MAX_DATED_GAPS: usize = 16;
/// Earlier streams of the client in which the start of a gap is searched for.
const MAX_SEARCHED_STREAMS: usize = 4;
/// Rows in which the start of a gap is searched for, on each stream.
const MAX_SEARCHED_ROWS: usize = 1 << 14;

/// A route in force that points to a cluster that the client cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficGap {
    /// The route configuration, or the listener with inline routes.
    pub route: NodeId,
    /// The cluster, which is absent or warms for the first time.
    pub cluster: NodeId,
    /// Since when the route points to the cluster and the client cannot use the cluster. `None` if
    /// the messages were dropped.
    pub since: Option<Time>,
}

/// Returns a stream and the newest earlier streams of its client, newest first: a client keeps what
/// it uses when it reconnects.
fn with_earlier(store: &Store, stream: Option<StreamId>) -> Vec<StreamId> {
    let earlier = stream.into_iter().flat_map(|stream| store.earlier_streams(stream));
    stream.into_iter().chain(earlier.take(MAX_SEARCHED_STREAMS)).collect()
}

impl Graph {
    /// Returns the gaps of a cluster.
    pub fn gaps_of(&self, cluster: NodeId) -> impl Iterator<Item = &TrafficGap> {
        self.gaps.iter().filter(move |gap| gap.cluster == cluster)
    }

    /// Finds the gaps, from the rows of the store before `rows`.
    pub(super) fn find_gaps(&mut self, store: &Store, known: &References, rows: usize) {
        let is_cut_off = |id: &NodeId| self.nodes.get(*id).is_some_and(|node| self.is_unavailable(node));
        let clusters: Vec<NodeId> = (0..self.nodes.len()).filter(is_cut_off).collect();
        let (mut gaps, mut unread) = (Vec::new(), Vec::new());
        for cluster in clusters {
            let Some(node) = self.nodes.get(cluster) else { continue };
            let routes = node.users.iter().filter(|user| self.routes_in_force(**user, cluster));
            let routes = routes.filter(|user| !self.is_fetched(node, **user));
            for route in routes.copied() {
                let is_dated = gaps.len() < MAX_DATED_GAPS;
                let mut start = || self.start_of_gap(store, known, rows, route, cluster, &mut unread);
                let since = if is_dated { start() } else { None };
                gaps.push(TrafficGap { route, cluster, since });
            }
        }
        self.gaps = gaps;
        unread.dedup();
        self.unread.append(&mut unread);
    }

    /// Whether a request to a route waits for a cluster, which the client fetches on demand.
    fn is_fetched(&self, cluster: &GraphNode, route: NodeId) -> bool {
        let is_absent = matches!(
            cluster.state,
            NodeState::NotAsked | NodeState::Dangling | NodeState::Waiting { again: None, .. }
        );
        is_absent && self.fetches_clusters(route)
    }

    /// Whether a node is a cluster that the client cannot use, not even in an earlier version.
    fn is_unavailable(&self, node: &GraphNode) -> bool {
        let is_absent = match &node.state {
            NodeState::Warming { .. } => node.warming.as_ref().is_some_and(|fact| !fact.is_update),
            NodeState::Waiting { again, .. } | NodeState::Missing { again, .. } => again.is_none(),
            NodeState::Gone(_) => true,
            NodeState::Refused { in_force } | NodeState::RefusedPush { in_force, .. } => !in_force,
            NodeState::NotAsked | NodeState::Ignored | NodeState::Dangling => {
                let has_all = self.other_clusters.is_some();
                has_all || (self.sent.contains(&Kind::Cds) && !self.has_unseen_clusters)
            }
            _ => false,
        };
        node.kind == Kind::Cds && is_absent
    }

    /// Whether the node has routes to the cluster that the client uses for HTTP requests.
    fn routes_in_force(&self, user: NodeId, cluster: NodeId) -> bool {
        let Some(node) = self.nodes.get(user) else { return false };
        let is_accepted = node.in_force.is_some()
            && matches!(
                node.state,
                NodeState::Ready
                    | NodeState::Sent { in_force: true }
                    | NodeState::Refused { in_force: true }
                    | NodeState::RefusedPush { in_force: true, .. }
                    | NodeState::Waiting { again: Some(_), .. }
                    | NodeState::Missing { again: Some(_), .. }
            );
        let is_route = match node.kind {
            Kind::Rds | Kind::Vhds => true,
            Kind::Lds => {
                let path = node.uses.iter().find(|(to, _)| *to == cluster).map(|(_, path)| path);
                path.is_some_and(|path| path.contains("route_config"))
            }
            _ => false,
        };
        is_route && is_accepted
    }

    /// Returns the later of two times: since when the route has pointed to the cluster without
    /// interruption, and since when the client has lacked the cluster.
    ///
    /// Adds an earlier content of the route to `unread` if its references are unknown.
    fn start_of_gap(
        &self,
        store: &Store,
        known: &References,
        rows: usize,
        route: NodeId,
        cluster: NodeId,
        unread: &mut Vec<BlobId>,
    ) -> Option<Time> {
        let versions = |node: &GraphNode, stream: Option<StreamId>| {
            let url = node.type_url.clone().unwrap_or_default();
            let name = node.name.clone();
            with_earlier(store, stream).into_iter().flat_map(move |stream| {
                let mut found = Versions::before(rows);
                store.more_versions(stream, &url, &name, MAX_SEARCHED_ROWS, &mut found);
                found.versions
            })
        };
        let is_cluster = |link: &Link| {
            link.kind == Kind::Cds && self.find_referenced(link.kind, &link.name) == Some(cluster)
        };
        let mut pointed = None;
        let of_route = self.nodes.get(route)?;
        for version in versions(of_route, of_route.stream) {
            let verdict = version.verdict.filter(|verdict| verdict.verdict == Verdict::Accepted);
            let (Some(verdict), Some(content)) = (verdict, version.content) else { continue };
            let Some(links) = known.links(content) else {
                unread.push(content);
                break;
            };
            if !links.iter().any(is_cluster) {
                break;
            }
            pointed = Some(verdict.at);
        }
        let node = self.nodes.get(cluster)?;
        // A cluster that the client lost on an earlier stream has no stream.
        let mut lost = versions(node, node.stream.or(of_route.stream));
        let removed = lost.find(|version| version.content.is_none());
        let mut expired = None;
        if let (Some(stream), Some(url)) = (node.stream, &node.type_url)
            && let Some(fact) = store.resource(stream, url, &node.name)
            && fact.state == ResourceState::Expired
        {
            expired = fact.ttl_deadline;
        }
        let lacked = removed.map(|removed| removed.at).max(expired);
        pointed.map(|pointed| lacked.map_or(pointed, |lacked| lacked.max(pointed)))
    }
}
