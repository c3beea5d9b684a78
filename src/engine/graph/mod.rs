//! What hangs together: Listener → Route → Cluster → Endpoints and secrets of one client, with the
//! state of each.
//!
//! Nodes are the resources that the client's streams know and those that these refer to; edges are
//! the references that [`crate::schema::links`] finds in the newest content of each. References are
//! looked up once for each content and kept by the reader ([`References`]), a slice at a time, so
//! that no frame waits for 100,000 of them.

mod build;
mod draw;
mod state;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::engine::store::{ResourceFact, Store};
use crate::schema::Schema;
use crate::schema::links::{self, Link};
use crate::wire::content::BlobId;
use crate::wire::event::{ApiVersion, Kind, Seq, StreamId, Time, TypeUrl};

pub use build::GraphBuilder;
pub use draw::{KIND_CHAIN, dot, mermaid};
pub use state::{NodeState, has_orphans};
pub use walk::{Rows, TreeRow, TreeRowKind, TreeView};

/// Place of a node among the nodes of its graph.
pub type NodeId = usize;

/// A resource that is there, or that something refers to.
#[derive(Clone, Debug)]
pub struct GraphNode {
    pub kind: Kind,
    pub name: Arc<str>,
    pub state: NodeState,
    /// The newest version sent.
    pub version: Option<Arc<str>>,
    pub acked_version: Option<Arc<str>>,
    /// The stream that it comes on; `None` for one that no stream knows.
    pub stream: Option<StreamId>,
    pub type_url: Option<TypeUrl>,
    pub content: Option<BlobId>,
    /// What it refers to, in the order of its fields, each once, with the field.
    pub uses: Vec<(NodeId, Arc<str>)>,
    /// Who refers to it.
    pub users: Vec<NodeId>,
    /// It or something below it has a problem.
    pub troubled: bool,
}

impl GraphNode {
    /// It is there, is of a type that others refer to, and nothing does.
    pub fn is_orphan(&self) -> bool {
        self.users.is_empty() && !matches!(self.kind, Kind::Lds | Kind::Rtds) && self.state.is_present()
    }
}

/// References by content.
#[derive(Clone, Debug, Default)]
pub struct References(HashMap<BlobId, Arc<[Link]>>);

impl References {
    /// Contents that are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks up the references of these contents, as [`Graph::unread`] tells them.
    pub fn read(&mut self, store: &Store, schema: &Schema, contents: &[BlobId]) {
        for id in contents {
            let body = store.catalog().bytes(*id).map(|bytes| schema.any_to_json(&bytes));
            let links = body.map(|body| links::links_of(schema, &body)).unwrap_or_default();
            self.0.insert(*id, links.into());
        }
    }
}

/// The graph of one client.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub nodes: Vec<GraphNode>,
    by_name: HashMap<(Kind, Arc<str>), NodeId>,
    /// Contents whose references are not looked up yet: their edges are not there.
    pub unread: Vec<BlobId>,
    /// Types of which the client was sent or asked for something.
    sent: HashSet<Kind>,
    /// How many nodes are there, by type.
    counts: HashMap<Kind, u64>,
    /// Nodes with a problem of their own.
    problems: Vec<NodeId>,
    /// Listeners, and what nothing refers to: where the tree begins.
    roots: Vec<NodeId>,
    loose: Vec<NodeId>,
}

/// The streams of a stream's client that are open, or the stream alone: types may come on streams
/// of their own.
pub fn streams_of(store: &Store, stream: StreamId) -> Vec<StreamId> {
    store.streams_of_client(stream)
}

/// A number that changes when the graph of these streams may have.
pub fn fingerprint(store: &Store, streams: &[StreamId]) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    for fact in streams.iter().flat_map(|stream| store.summaries_of(*stream)) {
        let counts = (fact.missing, fact.overdue, fact.names, fact.resources, fact.refused);
        (fact.stream, &fact.type_url, fact.state, counts).hash(&mut hasher);
        store.mark(fact.stream, &fact.type_url).hash(&mut hasher);
    }
    hasher.finish()
}

/// Types whose resources refer to others.
fn refers(kind: Kind) -> bool {
    matches!(kind, Kind::Lds | Kind::Rds | Kind::Srds | Kind::Vhds | Kind::Cds | Kind::Ecds)
}

impl Graph {
    /// The graph of these streams, whole.
    pub fn of(store: &Store, schema: &Schema, streams: &[StreamId]) -> Graph {
        let mut known = References::default();
        let unread = Graph::build(store, streams, &mut known).unread;
        known.read(store, schema, &unread);
        Graph::build(store, streams, &mut known)
    }

    /// The graph of these streams as far as references are known. What is not part of it is
    /// forgotten.
    pub fn build(store: &Store, streams: &[StreamId], known: &mut References) -> Graph {
        let mut building = GraphBuilder::new(store, streams);
        while !building.step(store, known, usize::MAX) {}
        building.finish().0
    }

    fn add(&mut self, fact: ResourceFact, asked: Option<(Time, Seq)>) {
        let Some((kind, _)) = Kind::of_type_url(fact.type_url.as_str()) else { return };
        let node = GraphNode {
            kind,
            state: NodeState::of(&fact, asked),
            version: fact.version,
            acked_version: fact.acked_version,
            stream: Some(fact.stream),
            type_url: Some(fact.type_url),
            content: fact.content,
            name: fact.name,
            uses: Vec::new(),
            users: Vec::new(),
            troubled: false,
        };
        self.sent.insert(kind);
        let key = (kind, node.name.clone());
        match self.by_name.get(&key).and_then(|id| self.nodes.get_mut(*id)) {
            // Of several streams the one that has it counts.
            Some(other) if !other.state.is_present() && node.state.is_present() => *other = node,
            Some(_) => {}
            None => {
                self.by_name.insert(key, self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    fn references_of(&mut self, id: NodeId, known: &References) -> Option<Arc<[Link]>> {
        let node = self.nodes.get(id).filter(|node| refers(node.kind) && node.state.is_present())?;
        let content = node.content?;
        if let Some(links) = known.0.get(&content) {
            return Some(links.clone());
        }
        self.unread.push(content);
        None
    }

    fn connect(&mut self, from: NodeId, link: &Link) {
        let path: Arc<str> = Arc::from(link.path.as_str());
        let several = link.name.ends_with('*') && matches!(link.kind, Kind::Vhds | Kind::Srds);
        let targets: Vec<NodeId> = match several {
            true => {
                let meant = |node: &GraphNode| node.kind == link.kind && link.matches_name(&node.name);
                self.nodes.iter().enumerate().filter(|(_, node)| meant(node)).map(|(id, _)| id).collect()
            }
            false => vec![self.find_or_add(link)],
        };
        for to in targets {
            let Some(node) = self.nodes.get_mut(from) else { return };
            if node.uses.iter().any(|(known, _)| *known == to) || to == from {
                continue;
            }
            node.uses.push((to, path.clone()));
            if let Some(target) = self.nodes.get_mut(to) {
                target.users.push(from);
            }
        }
    }

    fn find_or_add(&mut self, link: &Link) -> NodeId {
        let key = (link.kind, Arc::from(link.name.as_str()));
        if let Some(id) = self.by_name.get(&key) {
            return *id;
        }
        let id = self.nodes.len();
        self.by_name.insert(key.clone(), id);
        self.nodes.push(GraphNode {
            kind: link.kind,
            name: key.1,
            state: NodeState::NotAsked,
            version: None,
            acked_version: None,
            stream: None,
            type_url: link.kind.type_url(ApiVersion::V3),
            content: None,
            uses: Vec::new(),
            users: Vec::new(),
            troubled: false,
        });
        id
    }

    pub fn get(&self, id: NodeId) -> Option<&GraphNode> {
        self.nodes.get(id)
    }

    pub fn find(&self, kind: Kind, name: &str) -> Option<NodeId> {
        self.by_name.get(&(kind, Arc::from(name))).copied()
    }

    /// How many nodes of a type are there.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// How many of all types.
    pub fn count_all(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Nodes with a problem of their own.
    pub fn problems(&self) -> impl Iterator<Item = &GraphNode> {
        self.problems.iter().filter_map(|id| self.nodes.get(*id))
    }

    pub fn orphans(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_orphan()).map(|(id, _)| id)
    }
}
