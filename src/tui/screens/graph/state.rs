//! The state of Graph: the graph, the next graph while it is built, and the rows.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::data::{BodyFormat, Contents};
use crate::widgets::list::{List, ListRow, SelectionList};
use xdscope_engine::graph::{
    self, Graph, GraphBuilder, GraphNode, NodeId, References, TreeRow, TreeRowKind, TreeView,
};
use xdscope_engine::nack::{self, Nack};
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Seq, StreamId, Time};

/// Contents whose references are looked up in one step.
const CONTENTS_PER_STEP: usize = 32;
/// Nodes that are built, or dropped, in one step. Smaller graphs are built at once.
const NODES_PER_STEP: usize = 1024;
/// Resources that a filter lists.
const MAX_MATCHES: usize = 10_000;
/// The graph is built again at most once a second for each of this many nodes.
const NODES_PER_SECOND: usize = 20_000;

/// Lines of a content that are shown.
const MAX_BODY_LINES: usize = 40;

/// The inputs of a graph: a number that changes with the facts of its streams, and the number of
/// references that were known.
pub(super) type GraphKey = (u64, usize);

#[derive(Clone, Debug, Default)]
pub struct GraphScreen {
    pub stream: Option<StreamId>,
    pub(super) key: Option<GraphKey>,
    /// The time at which building started last.
    pub(super) built: Time,
    pub(super) references: References,
    pub graph: Graph,
    /// The next graph, while it is built.
    pub(super) next: Option<(GraphKey, Box<GraphBuilder>)>,
    /// The previous graph, dropped in steps.
    pub(super) old: Graph,
    /// The number of unread references of the graph that were looked up by now.
    read: usize,
    pub view: TreeView,
    pub(super) filter: Option<String>,
    pub tree: SelectionList<TreeRow>,
    /// The resource to select once the graph is built.
    pub(super) wanted: Option<(Kind, Arc<str>)>,
    /// Endpoint counts of the nodes on the screen.
    pub endpoints: HashMap<NodeId, String>,
    /// The first lines of the selected node's content, below the lines about the node.
    pub(super) body: Option<(BlobId, Vec<String>)>,
    /// The NACK of the selected node's refused update, parsed.
    pub(super) nack: Option<(Seq, Nack)>,
    /// The newest version of each type that was pushed.
    pub offered: HashMap<Kind, String>,
}

impl ListRow for TreeRow {
    type Key = u64;

    fn key(&self) -> u64 {
        self.key
    }
}

impl GraphScreen {
    /// Selects a resource once the graph is built.
    pub fn reveal(&mut self, kind: Kind, name: &Arc<str>) {
        self.wanted = Some((kind, name.clone()));
    }

    /// Selects the resource that was asked for.
    pub(super) fn select_wanted(&mut self) {
        if self.key.is_none() {
            return;
        }
        let Some((kind, name)) = self.wanted.take() else { return };
        let wanted = self.graph.find(kind, &name);
        let is_wanted =
            |row: &TreeRow| matches!(row.what, TreeRowKind::Node { id, .. } if Some(id) == wanted);
        if let Some(at) = self.tree.rows.iter().position(is_wanted) {
            self.tree.select(at);
        }
    }

    /// References are still looked up.
    pub fn is_reading(&self) -> bool {
        self.read < self.graph.unread.len()
    }

    /// There is more to build, to look up or to drop.
    pub fn is_building(&self) -> bool {
        self.is_reading() || self.next.is_some() || !self.old.nodes.is_empty()
    }

    /// The progress of the first graph in percent, until it is built.
    pub fn first_progress(&self) -> Option<usize> {
        match (&self.next, self.key) {
            (Some((_, next)), None) => Some(next.percent()),
            _ => None,
        }
    }

    /// Builds the graph again.
    pub fn rebuild(&mut self) {
        (self.key, self.next) = (None, None);
    }

    /// Drops the known references: contents have other ids in another source.
    pub fn forget_contents(&mut self) {
        self.rebuild();
        self.body = None;
        self.nack = None;
        self.references = References::default();
    }

    /// The progress of looking up references in percent.
    pub fn percent(&self) -> usize {
        self.read * 100 / self.graph.unread.len().max(1)
    }

    pub fn node(&self) -> Option<(NodeId, &GraphNode)> {
        match self.tree.row()?.what {
            TreeRowKind::Node { id, .. } => Some((id, self.graph.get(id)?)),
            _ => None,
        }
    }

    /// Folds or unfolds the selected row. Returns false if nothing changed.
    pub(super) fn fold(&mut self, open: Option<bool>) -> bool {
        let Some(row) = self.tree.row() else { return false };
        let is = match row.what {
            TreeRowKind::Node { open: Some(is), .. } => is,
            TreeRowKind::More { count, .. } => count == 0,
            _ => return false,
        };
        if open.is_some_and(|wanted| wanted == is) {
            return false;
        }
        let key = row.key;
        if !self.view.toggled.remove(&key) {
            self.view.toggled.insert(key);
        }
        self.lay_out();
        true
    }

    /// Builds more of the next graph, and shows it once it is complete.
    fn build(&mut self, store: &Store, nodes: usize) {
        let Some((key, mut next)) = self.next.take() else { return };
        if !next.step(store, &mut self.references, nodes) {
            self.next = Some((key, next));
            return;
        }
        let target = self.view.users_of.and_then(|id| self.graph.get(id));
        let target = target.map(|node| (node.kind, node.name.clone()));
        let (graph, offered) = next.finish();
        self.old = std::mem::replace(&mut self.graph, graph);
        (self.key, self.read, self.offered) = (Some((key.0, self.references.len())), 0, offered);
        self.view.users_of = target.and_then(|(kind, name)| self.graph.find(kind, &name));
        self.lay_out();
    }

    /// Makes the rows for view and filter. A filter lists all resources that match, folded or not.
    pub(super) fn lay_out(&mut self) {
        let Some(text) = self.filter.as_ref().map(|text| text.to_lowercase()) else {
            self.tree.rows = self.graph.rows(&self.view);
            return;
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let matching = self.graph.nodes.iter().enumerate().filter(|(_, node)| matches(node, &words));
        let row = |id: NodeId| TreeRow {
            key: self.graph.get(id).map_or(0, row_key),
            follows: Vec::new(),
            what: TreeRowKind::Node { id, open: None },
        };
        self.tree.rows = matching.map(|(id, _)| row(id)).take(MAX_MATCHES).collect();
    }

    /// Builds more, looks up more references, or drops more of the previous graph.
    pub(super) fn step(&mut self, store: &Store, schema: &Schema) {
        if !self.old.nodes.is_empty() {
            self.old.drop_nodes(NODES_PER_STEP);
        } else if self.next.is_some() {
            self.build(store, NODES_PER_STEP);
        } else {
            let end = self.graph.unread.len().min(self.read + CONTENTS_PER_STEP);
            let slice = self.graph.unread.get(self.read..end).unwrap_or_default();
            self.references.read(store, schema, slice);
            self.read = end;
        }
    }

    /// Shows another stream. The previous graph is dropped in steps.
    pub(super) fn show_stream(&mut self, stream: StreamId) {
        *self = GraphScreen {
            stream: Some(stream),
            references: std::mem::take(&mut self.references),
            old: std::mem::take(&mut self.graph),
            ..GraphScreen::default()
        };
    }

    /// Starts building the graph again if the facts changed and enough time has passed.
    pub(super) fn refresh(&mut self, store: &Store, streams: &[StreamId], refresh: Refresh) {
        let now = store.now();
        let key = (graph::fingerprint(store, streams), self.references.len());
        // At a point of a recording, the graph is that of the point. A live graph is finished
        // first.
        if !refresh.is_live && self.next.as_ref().is_some_and(|(next, _)| next.0 != key.0) {
            self.next = None;
        }
        let is_young = now.since(self.built).as_secs() < (self.graph.nodes.len() / NODES_PER_SECOND) as u64;
        // The first graph has nearly all references unread.
        let is_bare = self.graph.unread.len() > self.graph.nodes.len() / 2;
        let is_idle = !self.is_building() && !refresh.is_paused;
        let is_due = is_idle && self.key != Some(key) && (!refresh.is_live || !is_young || is_bare);
        if self.next.is_none() && (self.key.is_none() || is_due) {
            let next = GraphBuilder::new(store, streams);
            let is_small = next.len() <= NODES_PER_STEP;
            (self.next, self.built) = (Some((key, Box::new(next))), now);
            while is_small && self.next.is_some() {
                self.build(store, usize::MAX);
            }
        }
    }

    /// Loads the content of the selected node.
    pub(super) fn load_body(&mut self, contents: Contents<'_>) {
        let id = self.node().and_then(|(_, node)| node.content);
        if self.body.as_ref().map(|(known, _)| *known) != id {
            self.body = id.map(|id| (id, contents.lines(id, BodyFormat::Yaml, MAX_BODY_LINES)));
        }
    }

    /// Parses the NACK of the selected node's refused update.
    pub(super) fn read_nack(&mut self, store: &Store, schema: &Schema) {
        let update = self.node().and_then(|(_, node)| node.refused.as_ref());
        let Some(n) = update.map(|update| update.refusal.nack) else { return };
        if self.nack.as_ref().is_none_or(|(known, _)| *known != n) {
            self.nack = nack::of_message(store, schema, n).map(|nack| (n, nack));
        }
    }

    pub(super) fn has_problem(&self, row: &TreeRow) -> bool {
        match row.what {
            TreeRowKind::Node { id, .. } => self.graph.get(id).is_some_and(GraphNode::is_problem),
            _ => false,
        }
    }
}

/// The key of a resource that a filter lists.
fn row_key(node: &GraphNode) -> u64 {
    let mut hasher = DefaultHasher::new();
    (node.kind, &node.name, &node.server).hash(&mut hasher);
    hasher.finish()
}

/// Whether all words are in a resource: `type:cds`, `name:reviews`, `state:nack`, or parts of them.
fn matches(node: &GraphNode, words: &[&str]) -> bool {
    let is_in = |text: &str, word: &str| {
        let (text, word) = (text.as_bytes(), word.as_bytes());
        text.windows(word.len().max(1)).any(|part| part.eq_ignore_ascii_case(word))
    };
    words.iter().all(|word| match word.split_once(':') {
        Some(("type", kind)) => node.kind.word() == kind,
        Some(("name", name)) => is_in(&node.name, name.trim_end_matches('*')),
        Some(("state", state)) => is_in(node.state.word(), state),
        _ => is_in(&node.name, word) || is_in(node.kind.label(), word) || is_in(node.state.word(), word),
    })
}

/// The state of the source that decides whether the graph is built again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refresh {
    pub(super) is_live: bool,
    pub(super) is_paused: bool,
}
