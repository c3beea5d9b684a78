//! Graphviz and Mermaid texts of the graph of a client's resources.

use std::collections::HashMap;
use std::fmt::Write as _;

use xdscope_engine::graph::{Graph, GraphNode, NodeId, NodeState, PendingStates};
use xdscope_engine::nack::RestUse;
use xdscope_engine::store::ResourceState;
use xdscope_schema::links::{OtherSource, SourceKind};
use xdscope_wire::event::{Kind, Time};
use xdscope_wire::text::{count, display_safe, shown_name};

use super::report::{self, RefusedState, UNREADABLE, gap_duration, unanswered_update};

/// Returns the colour of a node, a name that both languages know.
fn color(state: &NodeState) -> &'static str {
    match state {
        NodeState::Ready => "green",
        NodeState::Sent { .. } | NodeState::Waiting { .. } => "blue",
        NodeState::Refused { .. } | NodeState::Dangling => "red",
        NodeState::RefusedPush { rest: RestUse::Used, .. } => "green",
        NodeState::Warming { .. } | NodeState::Missing { .. } | NodeState::RefusedPush { .. } => "orange",
        NodeState::Gone(ResourceState::Redirected) | NodeState::Replaced => "green",
        NodeState::Gone(_)
        | NodeState::NotAsked
        | NodeState::NotDumped
        | NodeState::Static
        | NodeState::Ignored
        | NodeState::Elsewhere
        | NodeState::InFile
        | NodeState::Orphan => "gray",
    }
}

/// A pending state and its words.
type PendingWords = (fn(PendingStates) -> bool, &'static str);

/// The pending states with their words, in the order in which a resource passes them.
const PENDING_WORDS: [PendingWords; 4] = [
    (|states| states.not_asked, "not asked for"),
    (|states| states.waiting, "waiting"),
    (|states| states.sent, "not answered yet"),
    (|states| states.unseen, "unknown: not behind this tap"),
];

/// Returns `all ready`, or the states of those that are not: `some not asked for, some waiting`.
pub fn pending_states(states: PendingStates) -> String {
    let words = PENDING_WORDS.iter().filter(|(has, _)| has(states));
    let words: Vec<String> = words.map(|(_, word)| format!("some {word}")).collect();
    if words.is_empty() { "all ready".to_owned() } else { words.join(", ") }
}

/// Returns how many resources are in a pending state: `2 not asked for, 1 waiting`; `None` without
/// any.
pub fn pending_counts(graph: &Graph) -> Option<String> {
    let counts = PENDING_WORDS.iter().map(|(has, word)| (graph.count_pending(*has), word));
    let words: Vec<String> =
        counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", count(n))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Returns `from file /etc/x.yaml`, `from cluster sds (GRPC)` or `from another server (REST)`.
pub fn other_source(source: &OtherSource) -> String {
    let OtherSource { kind, place } = source;
    match (kind, place) {
        (SourceKind::Path, Some(path)) => format!("from file {path}"),
        (SourceKind::Path, None) => "from a file".to_owned(),
        (kind, Some(cluster)) => format!("from cluster {cluster} ({})", kind.word()),
        (kind, None) => format!("from another server ({})", kind.word()),
    }
}

/// Returns the name of a resource, and the server if several send resources of this name.
pub fn name_at_server(node: &GraphNode) -> String {
    let server = node.server.as_ref().map(|server| format!(" server={server}")).unwrap_or_default();
    format!("{}{server}", shown_name(&node.name))
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
        (NodeState::Sent { in_force: true }, _) => unanswered_update(node),
        (state, Some(version)) if state.is_present() => format!("{version} {}", state.word()),
        (NodeState::InFile, _) => String::new(),
        (state, _) => state.word().to_owned(),
    };
    let source = node.other_source.as_ref().map(other_source);
    let unreadable = node.is_unreadable.then(|| UNREADABLE.to_owned());
    let state = [Some(state), unreadable, source].into_iter().flatten().filter(|part| !part.is_empty());
    let state = state.collect::<Vec<_>>().join(", ");
    let state = if node.is_orphan() && node.state != NodeState::Orphan {
        format!("{state}, not referenced")
    } else {
        state
    };
    [
        node.kind.label().to_owned(),
        display_safe(&name_at_server(node)).into_owned(),
        display_safe(&state).into_owned(),
    ]
}

/// Returns the lines of a label, and the owner if the resource has one, each line escaped.
fn label(node: &GraphNode, line_end: &str, escaped: impl Fn(&str) -> String) -> String {
    let owner = display_safe(&report::owners(&node.owners)).into_owned();
    let lines = lines(node).into_iter().chain((!owner.is_empty()).then_some(owner));
    lines.map(|line| escaped(&line)).collect::<Vec<_>>().join(line_end)
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

/// Why the client does not use an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unused {
    Refused,
    Unanswered,
}

impl Unused {
    /// The word before the path of a reference.
    fn word(self) -> &'static str {
        match self {
            Unused::Refused => "refused",
            Unused::Unanswered => "not answered yet",
        }
    }

    fn color(self) -> &'static str {
        match self {
            Unused::Refused => "red",
            Unused::Unanswered => "blue",
        }
    }

    /// The third line of a resource to which nothing else refers.
    fn only(self) -> &'static str {
        match self {
            Unused::Refused => "only in a refused version",
            Unused::Unanswered => "only in a version that is not answered yet",
        }
    }
}

/// References that updates would add which the client does not use: an overlay on the graph.
struct Overlay<'a> {
    /// Resources that only such updates refer to. Their numbers follow those of the nodes.
    resources: Vec<(Kind, &'a str, Unused)>,
    edges: Vec<(Edge<'a>, Unused)>,
}

impl Overlay<'_> {
    fn of(graph: &Graph) -> Overlay<'_> {
        let mut overlay = Overlay { resources: Vec::new(), edges: Vec::new() };
        let mut known: HashMap<(Kind, &str), NodeId> = HashMap::new();
        let updates = graph.nodes.iter().enumerate().flat_map(|(id, node)| {
            let refused = node.refused.as_ref().map(|update| (id, &update.changes, Unused::Refused));
            let unanswered = node.unanswered.as_ref();
            let unanswered = unanswered.map(|update| (id, &update.changes, Unused::Unanswered));
            refused.into_iter().chain(unanswered)
        });
        for (from, changes, unused) in updates {
            for change in changes.iter().filter(|change| change.is_added) {
                let key = (change.kind, &*change.name);
                let next = graph.nodes.len() + overlay.resources.len();
                let to = graph.find(change.kind, &change.name).or_else(|| known.get(&key).copied());
                let to = to.unwrap_or_else(|| {
                    overlay.resources.push((change.kind, &*change.name, unused));
                    known.insert(key, next);
                    next
                });
                overlay.edges.push((Edge { from, to, path: &change.path }, unused));
            }
        }
        overlay
    }

    /// Returns the numbers and the labels of the resources that only unused updates refer to.
    fn labels(&self, graph: &Graph) -> impl Iterator<Item = (NodeId, [String; 3], Unused)> {
        let first = graph.nodes.len();
        self.resources.iter().enumerate().map(move |(at, (kind, name, unused))| {
            let only = unused.only().to_owned();
            (first + at, [kind.label().to_owned(), display_safe(name).into_owned(), only], *unused)
        })
    }
}

/// Returns the texts of routes to clusters that the client cannot use, by edge: `503 since 12s`.
fn gaps(graph: &Graph, now: Option<Time>) -> HashMap<(NodeId, NodeId), String> {
    let gaps = graph.gaps.iter();
    gaps.map(|gap| ((gap.route, gap.cluster), gap_duration(gap, now))).collect()
}

/// A graph as boxes and arrows, in the words of [`dot`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The boxes. Those of resources that only unused updates refer to come last.
    pub boxes: Vec<DrawnBox>,
    /// The arrows.
    pub arrows: Vec<DrawnArrow>,
}

/// A resource in a [`Drawing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnBox {
    /// The type.
    pub kind: Kind,
    /// Type, name and state.
    pub lines: [String; 3],
    /// Name of a colour: `green`, `blue`, `red`, `orange` or `gray`.
    pub color: &'static str,
    /// Whether the client does not have the resource.
    pub is_dashed: bool,
    /// Whether the resource, or one that it refers to, has a problem.
    pub is_troubled: bool,
}

/// A reference in a [`Drawing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnArrow {
    /// Index of the referring box.
    pub from: usize,
    /// Index of the other box.
    pub to: usize,
    /// Path of the field, after `refused: ` or `not answered yet: ` if only an update has the
    /// reference that the client does not use.
    pub path: String,
    /// The effect on requests: `503 since 12s`.
    pub gap: Option<String>,
    /// Whether only a refused update has the reference.
    pub is_refused: bool,
    /// Whether only an update without a verdict has the reference.
    pub is_unanswered: bool,
}

/// Returns the boxes and arrows of a graph.
///
/// Without `now`, routes to clusters that the client cannot use have no age.
pub fn drawing(graph: &Graph, now: Option<Time>) -> Drawing {
    let overlay = Overlay::of(graph);
    let of_node = |node: &GraphNode| DrawnBox {
        kind: node.kind,
        lines: lines(node),
        color: color(&node.state),
        is_dashed: !node.state.is_delivered(),
        is_troubled: node.is_troubled,
    };
    let labels = overlay.labels(graph).zip(&overlay.resources);
    let of_unused = labels.map(|((_, lines, unused), (kind, ..))| DrawnBox {
        kind: *kind,
        lines,
        color: unused.color(),
        is_dashed: true,
        is_troubled: unused == Unused::Refused,
    });
    let gaps = gaps(graph, now);
    let in_force = edges(graph).map(|Edge { from, to, path }| DrawnArrow {
        from,
        to,
        path: path.to_owned(),
        gap: gaps.get(&(from, to)).cloned(),
        is_refused: false,
        is_unanswered: false,
    });
    let unused = overlay.edges.iter().map(|(Edge { from, to, path }, unused)| DrawnArrow {
        from: *from,
        to: *to,
        path: format!("{}: {path}", unused.word()),
        gap: None,
        is_refused: *unused == Unused::Refused,
        is_unanswered: *unused == Unused::Unanswered,
    });
    Drawing {
        boxes: graph.nodes.iter().map(of_node).chain(of_unused).collect(),
        arrows: in_force.chain(unused).collect(),
    }
}

/// Formats the graph in the Graphviz DOT language. References of versions that are refused, or not
/// answered yet, are dashed.
///
/// Routes to clusters that the client cannot use are red; without `now` they have no age.
pub fn dot(graph: &Graph, title: &str, now: Option<Time>) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", quoted(&display_safe(title)));
    for (id, node) in graph.nodes.iter().enumerate() {
        let label = label(node, "\\n", quoted);
        let style = if node.state.is_delivered() { "" } else { ", style=dashed" };
        let _ = writeln!(out, "  n{id} [label=\"{label}\", color={}{style}];", color(&node.state));
    }
    let gaps = gaps(graph, now);
    for Edge { from, to, path } in edges(graph) {
        let gap = gaps.get(&(from, to)).map(|gap| format!(", label=\"{gap}\", color=red"));
        let (path, gap) = (quoted(&display_safe(path)), gap.unwrap_or_default());
        let _ = writeln!(out, "  n{from} -> n{to} [tooltip=\"{path}\"{gap}];");
    }
    let overlay = Overlay::of(graph);
    for (id, label, unused) in overlay.labels(graph) {
        let label = label.map(|line| quoted(&line)).join("\\n");
        let _ = writeln!(out, "  n{id} [label=\"{label}\", color={}, style=dashed];", unused.color());
    }
    for (Edge { from, to, path }, unused) in &overlay.edges {
        let (path, word, color) = (quoted(&display_safe(path)), unused.word(), unused.color());
        let _ =
            writeln!(out, "  n{from} -> n{to} [tooltip=\"{word}: {path}\", color={color}, style=dashed];");
    }
    out.push_str("}\n");
    out
}

/// Formats the graph as a Mermaid flowchart. References of versions that are refused, or not
/// answered yet, are dotted.
///
/// Routes to clusters that the client cannot use have a label; without `now` the label has no age.
pub fn mermaid(graph: &Graph, title: &str, now: Option<Time>) -> String {
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
        let label = label(node, "<br/>", escaped);
        let _ = writeln!(out, "  n{id}[\"{label}\"]:::{}", color(&node.state));
    }
    let gaps = gaps(graph, now);
    for Edge { from, to, .. } in edges(graph) {
        let gap = gaps.get(&(from, to)).map(|gap| format!("|\"{gap}\"|")).unwrap_or_default();
        let _ = writeln!(out, "  n{from} -->{gap} n{to}");
    }
    let overlay = Overlay::of(graph);
    for (id, label, unused) in overlay.labels(graph) {
        let label = label.map(|line| escaped(&line)).join("<br/>");
        let _ = writeln!(out, "  n{id}[\"{label}\"]:::{}", unused.color());
    }
    for (Edge { from, to, .. }, _) in &overlay.edges {
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
    use xdscope_engine::graph::TrafficGap;

    /// A resource that is in use.
    fn node(kind: Kind, name: &str) -> GraphNode {
        GraphNode {
            kind,
            name: name.into(),
            state: NodeState::Ready,
            is_unreadable: false,
            version: None,
            in_force: None,
            stream: None,
            server: None,
            type_url: None,
            content: None,
            list: None,
            refused: None,
            unanswered: None,
            uses: Vec::new(),
            users: Vec::new(),
            other_source: None,
            warming: None,
            certificate: None,
            owners: std::sync::Arc::default(),
            is_troubled: false,
            pending: PendingStates::default(),
        }
    }

    #[test]
    fn escapes_names_in_labels() {
        let mut graph = Graph::default();
        graph.nodes.push(node(Kind::Cds, "a\"]; x[\"\n\u{1b}[31m"));
        let (dot, mermaid) = (dot(&graph, "t\"\n}", None), mermaid(&graph, "t\nx", None));
        assert!(dot.contains("a\\\"]; x[\\\"") && dot.lines().count() == 5, "{dot}");
        assert!(!mermaid.contains("\"]; x") && mermaid.lines().count() == 8, "{mermaid}");
        assert!(!dot.contains('\u{1b}') && !mermaid.contains('\u{1b}'));
    }

    /// docs/protocol.md#h-11
    #[test]
    fn exports_show_routes_to_unusable_clusters() {
        let mut graph = Graph::default();
        graph.nodes = vec![node(Kind::Rds, "r"), node(Kind::Cds, "c")];
        graph.nodes[0].uses.push((1, "routes[0].route.cluster".into()));
        graph.gaps.push(TrafficGap { route: 0, cluster: 1, since: Some(Time(0)) });
        let now = Some(Time(12_000_000_000));
        let dot = dot(&graph, "t", now);
        assert!(
            dot.contains("tooltip=\"routes[0].route.cluster\", label=\"503 since 12s\", color=red]"),
            "{dot}"
        );
        let mermaid = mermaid(&graph, "t", None);
        assert!(mermaid.contains("n0 -->|\"503\"| n1"), "{mermaid}");
    }
}
