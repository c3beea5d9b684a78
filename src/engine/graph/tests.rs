use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::store::{NeededResource, Options};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Seq, Time};

/// An empty store with the built-in types.
struct World {
    store: Store,
    schema: Arc<Schema>,
}

impl World {
    fn new() -> World {
        let catalog = Catalog::new(7, None, Box::new(MemoryBodies::default()));
        World {
            store: Store::new(catalog, xdscope_wire::event::Clock::default(), Options::default()),
            schema: Schema::builtin(),
        }
    }

    fn any(&self, kind: Kind, body: Value) -> Vec<u8> {
        let mut body = body;
        body["@type"] = kind.type_url(ApiVersion::V3).unwrap().as_str().into();
        self.schema.encode("google.protobuf.Any", &body).unwrap()
    }
}

/// Creates a graph from the kind, name, state and references of each node.
fn graph(nodes: &[(Kind, &str, NodeState, &[(Kind, &str)])]) -> Graph {
    let mut out = Graph::default();
    for (kind, name, state, _) in nodes {
        let id = out.find_or_add(&Link {
            path: String::new(),
            kind: *kind,
            name: (*name).to_owned(),
            source: None,
            other_source: None,
            authority: None,
        });
        out.nodes[id].state = state.clone();
    }
    for (from, (_, _, _, uses)) in nodes.iter().enumerate() {
        for (kind, name) in *uses {
            let link = Link {
                path: "field".into(),
                kind: *kind,
                name: (*name).to_owned(),
                source: None,
                other_source: None,
                authority: None,
            };
            out.connect_all(from, &[link], &References::default());
        }
    }
    for (kind, name, _, uses) in nodes {
        let missing = uses.iter().filter_map(|(kind, name)| out.get(out.find(*kind, name)?));
        let missing: Vec<_> =
            missing.filter(|node| node.kind == Kind::Eds && !node.state.is_present()).collect();
        if let Some(need) = missing.first() {
            let fact = warming(*kind, name, need);
            out.warming.insert((*kind, Arc::from(*name)), Box::new(fact));
        }
    }
    (0..out.nodes.len()).for_each(|id| out.derive_state(id, &[]));
    out.mark_troubled();
    out.mark_pending();
    out
}

fn warming(kind: Kind, name: &str, need: &GraphNode) -> WarmingFact {
    let need = NeededResource { is_owed: true, ..NeededResource::new(need.kind, need.name.clone(), Time(1)) };
    WarmingFact {
        stream: StreamId(1),
        node: None,
        type_url: kind.type_url(ApiVersion::V3).unwrap(),
        kind,
        name: name.into(),
        since: Time(1),
        response: Seq(1),
        is_used_without: false,
        is_update: false,
        earlier: None,
        withheld: None,
        needs: vec![need],
        other_waits: Vec::new(),
        is_dumped: false,
        caused_by: None,
    }
}

fn names(graph: &Graph, view: &TreeView) -> Vec<String> {
    let name = |row: &TreeRow| match row.what {
        TreeRowKind::Node { id, .. } => {
            format!("{}{}", "  ".repeat(row.follows.len()), graph.get(id).unwrap().name)
        }
        TreeRowKind::More { count, .. } => format!("{}+{count}", "  ".repeat(row.follows.len())),
        TreeRowKind::Unreferenced { count } => format!("loose {count}"),
    };
    graph.rows(view).iter().map(name).collect()
}

fn mesh() -> Graph {
    let missing = NodeState::Missing { again: None, request: None };
    graph(&[
        (Kind::Lds, "web", NodeState::Ready, &[(Kind::Rds, "edge")]),
        (Kind::Rds, "edge", NodeState::Ready, &[(Kind::Cds, "a"), (Kind::Cds, "b")]),
        (Kind::Cds, "a", NodeState::Ready, &[(Kind::Eds, "a")]),
        (Kind::Cds, "b", NodeState::Ready, &[(Kind::Eds, "b")]),
        (Kind::Cds, "old", NodeState::Ready, &[]),
        (Kind::Eds, "a", NodeState::Ready, &[]),
        (Kind::Eds, "b", missing, &[]),
    ])
}

#[test]
fn cluster_warms_while_endpoints_are_missing() {
    let graph = mesh();
    let state = |kind, name| graph.get(graph.find(kind, name).unwrap()).unwrap().state.word();
    assert_eq!((state(Kind::Cds, "a"), state(Kind::Cds, "b")), ("in sync", "warming"));
    assert_eq!(state(Kind::Lds, "web"), "in sync", "a listener waits for routes only");
    let orphans: Vec<_> = graph.orphans().map(|id| &*graph.get(id).unwrap().name).collect();
    assert_eq!(orphans, ["old"]);
}

#[test]
fn marks_nodes_above_a_problem() {
    let graph = mesh();
    let troubled: Vec<_> =
        graph.nodes.iter().filter(|node| node.is_troubled).map(|node| &*node.name).collect();
    assert_eq!(troubled, ["web", "edge", "b", "b"]);
    let view = TreeView { problems: true, ..TreeView::default() };
    assert_eq!(names(&graph, &view), ["web", "  edge", "    b", "      b"]);
}

#[test]
fn rows_stand_below_the_referring_node() {
    let graph = mesh();
    assert_eq!(
        names(&graph, &TreeView::default()),
        ["web", "  edge", "    b", "      b", "    a", "      a", "loose 1", "old"]
    );
    let up = TreeView { users_of: graph.find(Kind::Eds, "b"), ..TreeView::default() };
    assert_eq!(names(&graph, &up), ["b", "  b", "    edge", "      web"]);
}

#[test]
fn folds_row_by_key() {
    let graph = mesh();
    let edge = graph.rows(&TreeView::default())[1].key;
    let view = TreeView { toggled: [edge].into(), ..TreeView::default() };
    assert_eq!(names(&graph, &view), ["web", "  edge", "loose 1", "old"]);
}

#[test]
fn folds_many_healthy_children_into_one_row() {
    let clusters: Vec<String> = (0..100).map(|i| format!("c{i}")).collect();
    let uses: Vec<(Kind, &str)> = clusters.iter().map(|name| (Kind::Cds, name.as_str())).collect();
    let mut nodes: Vec<(Kind, &str, NodeState, &[(Kind, &str)])> =
        vec![(Kind::Lds, "web", NodeState::Ready, &uses)];
    nodes.extend(clusters.iter().map(|name| (Kind::Cds, name.as_str(), NodeState::Ready, &[][..])));
    let graph = graph(&nodes);
    let web = graph.rows(&TreeView::default())[0].key;
    let mut view = TreeView { toggled: [web].into(), ..TreeView::default() };
    let rows = graph.rows(&view);
    let pending = PendingStates::default();
    assert_eq!((rows.len(), &rows[9].what), (10, &TreeRowKind::More { kind: Kind::Cds, count: 92, pending }));
    view.toggled.insert(rows[9].key);
    assert_eq!(graph.rows(&view).len(), 102);
}

/// Rows that stand for others say which of them are not ready.
#[test]
fn folded_rows_know_pending_states_below() {
    let waiting = NodeState::Waiting { again: None, request: None };
    let clusters: Vec<String> = (0..20).map(|i| format!("c{i}")).collect();
    let uses: Vec<(Kind, &str)> = clusters.iter().map(|name| (Kind::Cds, name.as_str())).collect();
    let mut nodes: Vec<(Kind, &str, NodeState, &[(Kind, &str)])> =
        vec![(Kind::Lds, "web", NodeState::Ready, &uses), (Kind::Sds, "e", waiting, &[])];
    for name in &clusters {
        let uses: &[(Kind, &str)] = if name == "c15" { &[(Kind::Sds, "e"), (Kind::Sds, "s")] } else { &[] };
        nodes.push((Kind::Cds, name, NodeState::Ready, uses));
    }
    let graph = graph(&nodes);
    let states = PendingStates { not_asked: true, waiting: true, sent: false, unseen: false };
    let pending = |kind, name| graph.get(graph.find(kind, name).unwrap()).unwrap().pending;
    assert_eq!((pending(Kind::Lds, "web"), pending(Kind::Cds, "c15")), (states, states));
    assert_eq!(pending(Kind::Cds, "c1"), PendingStates::default());
    let more = graph.rows(&TreeView::default()).into_iter().find_map(|row| match row.what {
        TreeRowKind::More { pending, .. } => Some(pending),
        _ => None,
    });
    assert_eq!(more, Some(states));
    assert_eq!(graph.count_pending(|states| states.not_asked), 1);
}

#[test]
fn stops_at_cyclic_references() {
    let graph = graph(&[
        (Kind::Lds, "web", NodeState::Ready, &[(Kind::Cds, "a")]),
        (Kind::Cds, "a", NodeState::Ready, &[(Kind::Cds, "b")]),
        (Kind::Cds, "b", NodeState::Ready, &[(Kind::Cds, "a")]),
    ]);
    assert_eq!(names(&graph, &TreeView::default()), ["web", "  a", "    b"]);
}

#[test]
fn finds_references_of_content() {
    let world = World::new();
    let any = world.any(Kind::Cds, serde_json::json!({"name": "c", "eds_cluster_config": {}}));
    let links = links_of(&world.schema, &any, &world.schema.any_to_json(&any));
    assert_eq!(links.iter().map(|link| (link.kind, &*link.name)).collect::<Vec<_>>(), [(Kind::Eds, "c")]);
    assert!(Graph::of(&world.store, &world.schema, &[]).nodes.is_empty());
}

/// docs/protocol.md#k-29: an alternative that the client uses is not an orphan.
#[test]
fn alternative_in_use_has_a_reference() {
    let (primary, alternative) = ("xdstp://a/T/x", "xdstp://b/T/x");
    let reference = format!("{primary}#alt={alternative}");
    let nodes: [(Kind, &str, NodeState, &[(Kind, &str)]); 2] = [
        (Kind::Eds, alternative, NodeState::Ready, &[]),
        (Kind::Cds, "c", NodeState::Ready, &[(Kind::Eds, &reference)]),
    ];
    let graph = graph(&nodes);
    let names = |id: NodeId| graph.get(id).map(|node| node.name.to_string());
    let cluster = graph.find(Kind::Cds, "c").and_then(|id| graph.get(id)).expect("a cluster");
    let used: Vec<_> = cluster.uses.iter().filter_map(|(id, _)| names(*id)).collect();
    assert_eq!(used, [primary, alternative]);
    assert_eq!(graph.find(Kind::Eds, &reference), None, "directives belong to no name");
}
