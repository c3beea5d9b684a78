use std::collections::{HashMap, HashSet};

use crate::applied::{missing_references, other_clusters};
use crate::store::{Store, StreamsSnapshot, Wildcard};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, StreamId, Variant};

use super::{Graph, NodeId, References, is_read, servers};

/// Number of passes over the nodes.
const PASSES_PER_NODE: usize = 3;

/// A builder that makes a graph in steps, from one snapshot of the streams.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    snapshot: StreamsSnapshot,
    graph: Graph,
    wild: Vec<Kind>,
    stage: Stage,
    /// Number of rows of the store at the time of the snapshot.
    rows: usize,
    /// Number of nodes visited in all passes.
    done: usize,
    /// Approximate number of nodes.
    total: usize,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Adds the resources of the streams.
    Nodes,
    /// Adds the references from `next` up to `end`.
    Edges {
        next: NodeId,
        end: NodeId,
    },
    /// Derives the states from this node on.
    States(NodeId),
    Done,
}

impl GraphBuilder {
    /// Starts a graph of the current state of these streams.
    pub fn new(store: &Store, streams: &[StreamId]) -> GraphBuilder {
        let snapshot = store.snapshot(streams);
        let has = |kind: Kind, is_meant: fn(Wildcard) -> bool| {
            snapshot.wildcards().any(|(url, wildcard)| {
                is_meant(wildcard) && Kind::of_type_url(url.as_str()).is_some_and(|(known, _)| known == kind)
            })
        };
        let is_wildcard = |wildcard| !matches!(wildcard, Wildcard::None | Wildcard::Unknown);
        let wild = [Kind::Cds, Kind::Lds].into_iter().filter(|kind| has(*kind, is_wildcard)).collect();
        let has_unseen_clusters = has(Kind::Cds, |wildcard| wildcard == Wildcard::Unknown);
        let total = snapshot.len();
        let warming = streams.iter().flat_map(|stream| store.warming_of(*stream));
        let warming = warming.map(|fact| ((fact.kind, fact.name.clone()), Box::new(fact))).collect();
        let servers = servers::of_streams(store, streams);
        let (is_dump, unseen) = (snapshot.is_dump(), unseen_kinds(store, streams));
        let dumped = streams.iter().find_map(|stream| store.engine().stream(*stream));
        let other_clusters = dumped.and_then(|stream| other_clusters(&stream.open));
        let facts = Graph { warming, has_unseen_clusters, is_dump, unseen, servers, ..Graph::default() };
        let missing = dumped.map(|stream| missing_references(&stream.open)).unwrap_or_default();
        let missing = missing.into_iter().map(|missing| (missing.kind, missing.name.into())).collect();
        let graph = Graph { other_clusters, missing, ..facts };
        GraphBuilder { snapshot, graph, wild, stage: Stage::Nodes, rows: store.rows(), done: 0, total }
    }

    /// Returns the approximate number of nodes.
    pub fn len(&self) -> usize {
        self.total
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the progress in percent, at most 99.
    pub fn percent(&self) -> usize {
        (self.done.saturating_mul(100) / (self.total * PASSES_PER_NODE).max(1)).min(99)
    }

    /// Visits up to `most` more nodes. Returns true once the graph is complete.
    ///
    /// Takes references from the cache `known`, and drops unused references from the cache.
    pub fn step(&mut self, store: &Store, known: &mut References, most: usize) -> bool {
        self.done = self.done.saturating_add(most);
        match self.stage {
            Stage::Nodes => match self.snapshot.read(store, most) {
                Some(facts) => {
                    for (fact, request) in facts {
                        self.graph.add(fact, request);
                    }
                }
                None => {
                    self.graph.forget_others(known);
                    self.stage = Stage::Edges { next: 0, end: self.graph.nodes.len() };
                }
            },
            Stage::Edges { next, end } => {
                let to = next.saturating_add(most).min(end);
                for id in next..to {
                    let links = self.graph.references_of(id, known);
                    self.graph.connect_all(id, links.as_deref().unwrap_or_default(), known);
                    self.graph.note_changes(id, links.as_deref().unwrap_or_default(), known);
                    let earlier = self.graph.earlier_references(id, known);
                    self.graph.connect_all(id, earlier.as_deref().unwrap_or_default(), known);
                }
                self.stage = if to < end { Stage::Edges { next: to, end } } else { Stage::States(0) };
            }
            Stage::States(from) => {
                let end = self.graph.nodes.len();
                let to = from.saturating_add(most).min(end);
                for id in from..to {
                    self.graph.derive_state(id, &self.wild);
                }
                self.stage = Stage::States(to);
                if to == end {
                    self.graph.mark_troubled();
                    self.graph.mark_pending();
                    self.graph.find_gaps(store, known, self.rows);
                    self.stage = Stage::Done;
                }
            }
            Stage::Done => {}
        }
        matches!(self.stage, Stage::Done)
    }

    /// Returns the graph, and the newest version that was sent for each type.
    pub fn finish(self) -> (Graph, HashMap<Kind, String>) {
        let offered = self.snapshot.offered();
        let offered = offered
            .filter_map(|(url, version)| Some((Kind::of_type_url(url.as_str())?.0, version.to_owned())));
        (self.graph, offered.collect())
    }
}

/// Returns the types that refer to others, and of which the client of the streams may have
/// resources that were not recorded.
fn unseen_kinds(store: &Store, streams: &[StreamId]) -> HashSet<Kind> {
    let mut unseen = HashSet::new();
    for stream in streams.iter().filter_map(|stream| store.engine().stream(*stream)) {
        let is_delta = stream.variant().is_some_and(Variant::is_delta);
        let has_lost = |kind: Kind| {
            let mut tracks = stream.tracks.iter().filter(|track| track.kind == Some(kind)).peekable();
            if tracks.peek().is_none() {
                return stream.losses.lost.is_some() && stream.is_aggregated();
            }
            tracks.any(|track| !track.knows_all_resources(is_delta))
        };
        unseen.extend(Kind::all().filter(|kind| is_read(*kind) && has_lost(*kind)));
    }
    unseen
}

impl Graph {
    /// Forgets references of contents that the graph does not use, if there are many.
    fn forget_others(&self, known: &mut References) {
        if known.0.len() > 2 * self.nodes.len() + 1024 {
            let contents = self.nodes.iter().flat_map(|node| {
                let refused = node.refused.as_ref().and_then(|update| update.content);
                let unanswered = node.unanswered.as_ref().and_then(|update| update.content);
                [node.content, refused, unanswered].into_iter().flatten()
            });
            let earlier = self.warming.values().filter_map(|fact| fact.earlier);
            let used: HashSet<BlobId> = contents.chain(earlier).collect();
            known.0.retain(|id, _| used.contains(id));
        }
    }

    /// Drops up to `most` nodes. Returns true once the graph is empty.
    ///
    /// Dropping 100,000 nodes at once would take longer than a frame.
    pub fn drop_nodes(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some(node) = self.nodes.pop() else { return true };
            self.by_name.remove(&(node.kind, node.name));
            self.by_spelling.clear();
            self.by_server.clear();
            self.by_alias.clear();
        }
        self.nodes.is_empty()
    }
}
