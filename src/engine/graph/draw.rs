//! Export of the graph to Graphviz and Mermaid.

use std::fmt::Write as _;

use crate::wire::event::Kind;
use crate::wire::text::display_safe;

use super::{Graph, GraphNode, NodeState};

/// Returns the colour of a node, a name that both languages know.
fn color(state: &NodeState) -> &'static str {
    match state {
        NodeState::Ready => "green",
        NodeState::Sent | NodeState::Waiting { .. } => "blue",
        NodeState::Refused | NodeState::Dangling => "red",
        NodeState::Warming { .. } | NodeState::Missing { .. } => "orange",
        NodeState::Gone(_) | NodeState::NotAsked | NodeState::Orphan => "gray",
    }
}

fn lines(node: &GraphNode) -> [String; 3] {
    let version = node.version.as_deref().filter(|version| !version.is_empty());
    let state = match (&node.state, version) {
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

/// Returns the edges as ids of two nodes and the path of the field.
fn edges(graph: &Graph) -> impl Iterator<Item = (usize, usize, &str)> {
    graph
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(from, node)| node.uses.iter().map(move |(to, path)| (from, *to, &**path)))
}

/// Formats the graph in the Graphviz DOT language.
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
    for (from, to, path) in edges(graph) {
        let _ = writeln!(out, "  n{from} -> n{to} [tooltip=\"{}\"];", quoted(&display_safe(path)));
    }
    out.push_str("}\n");
    out
}

/// Formats the graph as a Mermaid flowchart.
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
    for (from, to, _) in edges(graph) {
        let _ = writeln!(out, "  n{from} --> n{to}");
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
