use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use xdscope_wire::event::Kind;

use super::{Graph, NodeId, PendingStates};

/// Maximum depth of the tree. References of the API are four levels deep, aggregate clusters add a
/// few.
const MAX_DEPTH: usize = 16;
/// Number of children without a problem to show before the rest is folded into one row.
const MAX_HEALTHY_CHILDREN: usize = 8;
/// Size of the largest graph that is initially expanded. In larger graphs only problems are
/// expanded.
const MAX_OPEN_NODES: usize = 40;
/// Maximum number of rows.
const MAX_ROWS: usize = 200_000;

/// The view of a graph as a tree.
#[derive(Clone, Debug, Default)]
pub struct TreeView {
    /// Whether to show only branches with a problem.
    pub problems: bool,
    /// Shows the nodes that refer to this node, directly and indirectly.
    pub users_of: Option<NodeId>,
    /// Keys of the rows that the user has expanded or collapsed.
    pub toggled: HashSet<u64>,
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Identifies the row in later graphs, too.
    pub key: u64,
    /// By level, whether more rows follow on the level. Empty for a root.
    pub follows: Vec<bool>,
    /// The kind of the row.
    pub what: TreeRowKind,
}

/// The kind of a row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeRowKind {
    /// A node, also below each of its other users.
    Node {
        /// Index of the node.
        id: NodeId,
        /// Whether the children are shown. `None` for a node without children.
        open: Option<bool>,
    },
    /// A folded row for more children of a parent, none with a problem.
    More {
        /// Type of the first of these children.
        kind: Kind,
        /// Number of these children.
        count: usize,
        /// The pending states of these children and the nodes below.
        pending: PendingStates,
    },
    /// A heading for the unreferenced nodes below.
    Unreferenced {
        /// Number of the nodes.
        count: usize,
    },
}

fn key(parent: u64, part: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (parent, part).hash(&mut hasher);
    hasher.finish()
}

struct Walk<'a> {
    graph: &'a Graph,
    view: &'a TreeView,
    rows: Vec<TreeRow>,
    path: Vec<NodeId>,
}

impl Graph {
    /// Returns the rows of a view in order.
    pub fn rows(&self, view: &TreeView) -> Vec<TreeRow> {
        let mut walk = Walk { graph: self, view, rows: Vec::new(), path: Vec::new() };
        if let Some(id) = view.users_of {
            walk.children(&[id], 0, &mut Vec::new());
            return walk.rows;
        }
        let (roots, loose) = (&self.roots, &self.unreferenced);
        walk.children(roots, 0, &mut Vec::new());
        let is_shown = !view.problems || loose.iter().any(|id| self.get(*id).is_some_and(|n| n.is_troubled));
        if !loose.is_empty() && is_shown {
            if !roots.is_empty() {
                let what = TreeRowKind::Unreferenced { count: loose.len() };
                walk.rows.push(TreeRow { key: key(1, "loose"), follows: Vec::new(), what });
            }
            walk.children(loose, 2, &mut Vec::new());
        }
        walk.rows
    }
}

impl Walk<'_> {
    /// Returns the nodes to show below a node: its users, or what it refers to.
    fn below(&self, id: NodeId) -> Vec<NodeId> {
        let Some(node) = self.graph.get(id) else { return Vec::new() };
        match self.view.users_of {
            Some(_) => node.users.clone(),
            None => node.uses.iter().map(|(to, _)| *to).collect(),
        }
    }

    /// Whether a row is unfolded. `by_default`: whether it is until the user toggles it.
    fn is_open(&self, key: u64, by_default: bool) -> bool {
        by_default != self.view.toggled.contains(&key)
    }

    /// Adds the rows below a node: troubled ones first, few healthy ones.
    fn children(&mut self, ids: &[NodeId], parent: u64, follows: &mut Vec<bool>) {
        let is_troubled = |id: &NodeId| self.graph.get(*id).is_some_and(|node| node.is_troubled);
        let (troubled, mut healthy): (Vec<NodeId>, Vec<NodeId>) = ids.iter().copied().partition(is_troubled);
        if self.view.problems && self.view.users_of.is_none() {
            healthy.clear();
        }
        // One node more than the limit takes as many rows as the row about the rest.
        let has_more_row = healthy.len() > MAX_HEALTHY_CHILDREN + 1;
        let more = key(parent, "more");
        let is_unfolded = self.is_open(more, !has_more_row);
        let count = if is_unfolded { healthy.len() } else { MAX_HEALTHY_CHILDREN };
        let (listed, rest) = healthy.split_at(count.min(healthy.len()));
        let all = [&troubled[..], listed].concat();
        for (i, id) in all.iter().enumerate() {
            let is_last = i + 1 == all.len() && !has_more_row;
            self.node(*id, parent, follows, is_last);
        }
        let first = rest.first().or(healthy.first()).and_then(|id| self.graph.get(*id));
        if let Some(node) = first
            && has_more_row
            && self.rows.len() < MAX_ROWS
        {
            let rest_nodes = rest.iter().filter_map(|id| self.graph.get(*id));
            let pending =
                rest_nodes.map(|node| node.pending).fold(PendingStates::default(), PendingStates::or);
            let what = TreeRowKind::More { kind: node.kind, count: rest.len(), pending };
            self.rows.push(TreeRow { key: more, follows: branch(follows, parent, true), what });
        }
    }

    /// Adds the row of a node, and the rows below the node if it is unfolded.
    fn node(&mut self, id: NodeId, parent: u64, follows: &mut Vec<bool>, last: bool) {
        let Some(node) = self.graph.get(id) else { return };
        if self.rows.len() >= MAX_ROWS || self.path.contains(&id) || self.path.len() >= MAX_DEPTH {
            return;
        }
        let own = key(parent, (node.kind, &node.name, &node.server));
        let below = self.below(id);
        let is_small = self.graph.nodes.len() <= MAX_OPEN_NODES || self.view.users_of.is_some();
        let open = match below.is_empty() {
            true => None,
            false => Some(self.is_open(own, is_small || node.is_troubled)),
        };
        let what = TreeRowKind::Node { id, open };
        self.rows.push(TreeRow { key: own, follows: branch(follows, parent, last), what });
        if open == Some(true) {
            self.path.push(id);
            let root = parent == 0 || parent == 2;
            if !root {
                follows.push(!last);
            }
            self.children(&below, own, follows);
            if !root {
                follows.pop();
            }
            self.path.pop();
        }
    }
}

/// Returns the levels of a row. A root has none.
fn branch(follows: &[bool], parent: u64, last: bool) -> Vec<bool> {
    let mut out = follows.to_vec();
    if parent != 0 && parent != 2 {
        out.push(!last);
    }
    out
}
