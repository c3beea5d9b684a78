use std::collections::{HashMap, HashSet};

use crate::engine::store::{Store, StreamsSnapshot, Wildcard};
use crate::wire::content::BlobId;
use crate::wire::event::{Kind, StreamId};

use super::{Graph, NodeId, References};

/// Nodes are looked at this many times in all.
const PASSES_PER_NODE: usize = 3;

/// A graph in the making: step by step, so that no frame waits for all of it, and all of it as of
/// one moment.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    glance: StreamsSnapshot,
    graph: Graph,
    wild: Vec<Kind>,
    stage: Stage,
    /// Nodes looked at, in all passes; and about how many there are.
    done: usize,
    total: usize,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The resources that the streams know.
    Nodes,
    /// What those refer to, from this one on; and how many they are.
    Edges(NodeId, usize),
    /// What follows from the whole, from this one on.
    States(NodeId),
    Whole,
}

impl GraphBuilder {
    /// Begins with these streams as they are now.
    pub fn new(store: &Store, streams: &[StreamId]) -> GraphBuilder {
        let glance = store.glance(streams);
        let is = |kind: Kind| {
            glance.wildcards().any(|(url, wildcard)| {
                wildcard != Wildcard::None
                    && Kind::of_type_url(url.as_str()).is_some_and(|(of, _)| of == kind)
            })
        };
        let wild = [Kind::Cds, Kind::Lds].into_iter().filter(|kind| is(*kind)).collect();
        let total = glance.len();
        GraphBuilder { glance, graph: Graph::default(), wild, stage: Stage::Nodes, done: 0, total }
    }

    /// About how many nodes it has.
    pub fn len(&self) -> usize {
        self.total
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub fn percent(&self) -> usize {
        (self.done.saturating_mul(100) / (self.total * PASSES_PER_NODE).max(1)).min(99)
    }

    /// Goes on by so many nodes. True once it is whole. References are looked up among those known;
    /// the known ones that are not part of it are forgotten.
    pub fn step(&mut self, store: &Store, known: &mut References, most: usize) -> bool {
        self.done = self.done.saturating_add(most);
        match self.stage {
            Stage::Nodes => match self.glance.read(store, most) {
                Some(facts) => facts.into_iter().for_each(|(fact, asked)| self.graph.add(fact, asked)),
                None => {
                    self.graph.forget_others(known);
                    self.stage = Stage::Edges(0, self.graph.nodes.len());
                }
            },
            Stage::Edges(from, end) => {
                let to = from.saturating_add(most).min(end);
                for id in from..to {
                    let Some(links) = self.graph.references_of(id, known) else { continue };
                    links.iter().for_each(|link| self.graph.connect(id, link));
                }
                self.stage = if to < end { Stage::Edges(to, end) } else { Stage::States(0) };
            }
            Stage::States(from) => {
                let end = self.graph.nodes.len();
                let to = from.saturating_add(most).min(end);
                (from..to).for_each(|id| self.graph.derive_state(id, &self.wild));
                self.stage = Stage::States(to);
                if to == end {
                    self.graph.mark_troubled();
                    self.stage = Stage::Whole;
                }
            }
            Stage::Whole => {}
        }
        matches!(self.stage, Stage::Whole)
    }

    /// The graph, and the newest version offered of each type.
    pub fn finish(self) -> (Graph, HashMap<Kind, String>) {
        let offered = self.glance.offered();
        let offered = offered
            .filter_map(|(url, version)| Some((Kind::of_type_url(url.as_str())?.0, version.to_owned())));
        (self.graph, offered.collect())
    }
}

impl Graph {
    fn forget_others(&self, known: &mut References) {
        if known.0.len() > 2 * self.nodes.len() + 1024 {
            let used: HashSet<BlobId> = self.nodes.iter().filter_map(|node| node.content).collect();
            known.0.retain(|id, _| used.contains(id));
        }
    }

    /// Lets go of so many of its nodes: to drop 100,000 at once takes longer than a frame. True
    /// once there is none.
    pub fn drop_nodes(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some(node) = self.nodes.pop() else { return true };
            self.by_name.remove(&(node.kind, node.name));
        }
        self.nodes.is_empty()
    }
}
