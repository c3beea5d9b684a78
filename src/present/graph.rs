//! Graphviz and Mermaid texts of the graph of a client's resources.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::engine::graph::{Graph, GraphNode, NodeId, NodeState};
use crate::engine::nack::RestUse;
use crate::wire::event::Kind;
use crate::wire::text::display_safe;

use super::report::RefusedState;

/// Returns the colour of a node, a name that both languages know.
fn color(state: &NodeState) -> &'static str {
    match state {
        NodeState::Ready => "green",
        NodeState::Sent | NodeState::Waiting { .. } => "blue",
        NodeState::Refused { .. } | NodeState::Dangling => "red",
        NodeState::RefusedPush { rest: RestUse::Used, .. } => "green",
        NodeState::Warming { .. } | NodeState::Missing { .. } | NodeState::RefusedPush { .. } => "orange",
        NodeState::Gone(_) | NodeState::NotAsked | NodeState::Orphan => "gray",
    }
}

/// Returns the lines of a label: type, name and state.
fn lines(node: &GraphNode) -> [String; 3] {
    let version = node.version.as_deref().filter(|version| !version.is_empty());
    let refused = node
        .refused
        .as_ref()
        .map(|update| RefusedState::new(&update.refusal, node.in_force.as_deref()).text());
    let state = match (&node.state, version) {
        (NodeState::Refused { .. } | NodeState::RefusedPush { .. }, _) if refused.is_some() => {
            let refused = refused.unwrap_or_default();
            version.map_or(refused.clone(), |version| format!("{version} {refused}"))
        }
        (NodeState::Ready, Some(version)) => version.to_owned(),
        (state, Some(version)) if state.is_present() => format!("{version} {}", state.word()),
        (state, _) => state.word().to_owned(),
    };
    let state = if node.is_orphan() && node.state != NodeState::Orphan {
        format!("{state}, not referenced")
    } else {
        state
    };
    [node.kind.label().to_owned(), display_safe(&node.name).into_owned(), display_safe(&state).into_owned()]
}

/// A reference between two nodes.
struct Edge<'a> {
    from: NodeId,
    to: NodeId,
    /// Path of the field in the referring resource.
    path: &'a str,
}

fn edges(graph: &Graph) -> impl Iterator<Item = Edge<'_>> {
    let nodes = graph.nodes.iter().enumerate();
    nodes.flat_map(|(from, node)| node.uses.iter().map(move |(to, path)| Edge { from, to: *to, path }))
}

/// References that refused updates would add: an overlay on the graph.
struct Overlay<'a> {
    /// Resources that only refused updates refer to. Their numbers follow those of the nodes.
    resources: Vec<(Kind, &'a str)>,
    edges: Vec<Edge<'a>>,
}

impl Overlay<'_> {
    fn of(graph: &Graph) -> Overlay<'_> {
        let mut overlay = Overlay { resources: Vec::new(), edges: Vec::new() };
        let mut known: HashMap<(Kind, &str), NodeId> = HashMap::new();
        let updates =
            graph.nodes.iter().enumerate().filter_map(|(id, node)| Some((id, node.refused.as_ref()?)));
        for (from, update) in updates {
            for change in update.changes.iter().filter(|change| change.is_added) {
                let key = (change.kind, &*change.name);
                let next = graph.nodes.len() + overlay.resources.len();
                let to = graph.find(change.kind, &change.name).or_else(|| known.get(&key).copied());
                let to = to.unwrap_or_else(|| {
                    overlay.resources.push(key);
                    known.insert(key, next);
                    next
                });
                overlay.edges.push(Edge { from, to, path: &change.path });
            }
        }
        overlay
    }

    /// Returns the numbers and the labels of the resources that only refused updates refer to.
    fn labels(&self, graph: &Graph) -> impl Iterator<Item = (NodeId, [String; 3])> {
        let first = graph.nodes.len();
        self.resources.iter().enumerate().map(move |(at, (kind, name))| {
            let only = "only in a refused version".to_owned();
            (first + at, [kind.label().to_owned(), display_safe(name).into_owned(), only])
        })
    }
}

/// Formats the graph in the Graphviz DOT language. References of refused versions are dashed.
pub fn dot(graph: &Graph, title: &str) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&display_safe(title)));
    for (id, node) in graph.nodes.iter().enumerate() {
        let label = lines(node).map(|line| quoted(&line)).join("\\n");
        let style = if matches!(node.state, NodeState::Dangling | NodeState::NotAsked) {
            ", style=dashed"
        } else {
            ""
        };
        let _ = writeln!(out, "  n{id} [label=\"{label}\", color={}{style}];", color(&node.state));
    }
    for Edge { from, to, path } in edges(graph) {
        let _ = writeln!(out, "  n{from} -> n{to} [tooltip=\"{}\"];", quoted(&display_safe(path)));
    }
    let overlay = Overlay::of(graph);
    for (id, label) in overlay.labels(graph) {
        let label = label.map(|line| quoted(&line)).join("\\n");
        let _ = writeln!(out, "  n{id} [label=\"{label}\", color=red, style=dashed];");
    }
    for Edge { from, to, path } in &overlay.edges {
        let path = quoted(&display_safe(path));
        let _ = writeln!(out, "  n{from} -> n{to} [tooltip=\"refused: {path}\", color=red, style=dashed];");
    }
    out.push_str("}\n");
    out
}

/// Formats the graph as a Mermaid flowchart. References of refused versions are dotted.
pub fn mermaid(graph: &Graph, title: &str) -> String {
    // Quotes and brackets would end a label, so use entities.
    let escaped = |text: &str| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '"' | '#' | '&' | '<' | '>' | ';' | '`' => {
                    let _ = write!(out, "#{};", u32::from(c));
                }
                c => out.push(c),
            }
        }
        out
    };
    let mut out = format!("%% {}\nflowchart LR\n", display_safe(title));
    for (id, node) in graph.nodes.iter().enumerate() {
        let label = lines(node).map(|line| escaped(&line)).join("<br/>");
        let _ = writeln!(out, "  n{id}[\"{label}\"]:::{}", color(&node.state));
    }
    for Edge { from, to, .. } in edges(graph) {
        let _ = writeln!(out, "  n{from} --> n{to}");
    }
    let overlay = Overlay::of(graph);
    for (id, label) in overlay.labels(graph) {
        let label = label.map(|line| escaped(&line)).join("<br/>");
        let _ = writeln!(out, "  n{id}[\"{label}\"]:::red");
    }
    for Edge { from, to, .. } in &overlay.edges {
        let _ = writeln!(out, "  n{from} -.-> n{to}");
    }
    for color in ["green", "blue", "red", "orange", "gray"] {
        let _ = writeln!(out, "  classDef {color} stroke:{color}");
    }
    out
}

/// The types in the order of `1 listener → 1 route → 119 clusters`, with singular names.
pub const KIND_CHAIN: [(Kind, &str); 5] = [
    (Kind::Lds, "listener"),
    (Kind::Rds, "route"),
    (Kind::Cds, "cluster"),
    (Kind::Eds, "endpoint"),
    (Kind::Sds, "secret"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names_in_labels() {
        let node = GraphNode {
            kind: Kind::Cds,
            name: "a\"]; x[\"\n\u{1b}[31m".into(),
            state: NodeState::Ready,
            version: None,
            in_force: None,
            stream: None,
            type_url: None,
            content: None,
            refused: None,
            uses: Vec::new(),
            users: Vec::new(),
            warming: None,
            certificate: None,
            is_troubled: false,
        };
        let mut graph = Graph::default();
        graph.nodes.push(node);
        let (dot, mermaid) = (dot(&graph, "t\"\n}"), mermaid(&graph, "t\nx"));
        assert!(dot.contains("a\\\"]; x[\\\"") && dot.lines().count() == 5, "{dot}");
        assert!(!mermaid.contains("\"]; x") && mermaid.lines().count() == 8, "{mermaid}");
        assert!(!dot.contains('\u{1b}') && !mermaid.contains('\u{1b}'));
    }
}
