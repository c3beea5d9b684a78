//! Graphs of sessions.

use xdscope_engine::graph::{Graph, GraphNode, NodeState, TreeRow, TreeRowKind, TreeView};
use xdscope_engine::store::ResourceState;
use xdscope_schema::Schema;
use xdscope_wire::event::{Kind, StreamId};

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

/// docs/protocol.md#k-13, docs/protocol.md#k-27
#[test]
fn redirects_refer_to_their_targets() {
    let name = |id: &str| format!("xdstp://a/envoy.config.listener.v3.Listener/{id}");
    let (x, y, z) = (name("x"), name("y?a=1&b=2"), name("z"));
    let sent_y = name("y?b=2&a=1");
    let store = crate::store::replay(&format!(
        "node n1
         stream 1 delta lds
         > sub=[\"{x}\" \"{z}\"]
         < n=1 [\"{x}\"=>\"{y}\"@1 \"{z}\"=>\"{x}\"@1]
         > n=1 sub=[\"{sent_y}\"]
         < n=2 [\"{sent_y}\"@1]
         > n=2"
    ));
    let graph = Graph::of(&store, &Schema::builtin(), &[StreamId(1)]);
    let node = |name: &str| graph.get(graph.find(Kind::Lds, name).expect("a node")).expect("a node");
    let targets = |from: &GraphNode| -> Vec<String> {
        from.uses.iter().map(|(to, path)| format!("{path} {}", graph.nodes[*to].name)).collect()
    };
    assert_eq!(targets(node(&z)), [format!("redirect {x}")]);
    assert_eq!(targets(node(&x)), [format!("redirect {sent_y}")], "in any spelling");
    assert_eq!(node(&x).state, NodeState::Gone(ResourceState::Redirected));
    assert!(graph.nodes.len() == 3 && graph.problems().next().is_none());
    let rows = names(&graph, &TreeView { users_of: graph.find(Kind::Lds, &sent_y), ..TreeView::default() });
    assert_eq!(rows, [sent_y, format!("  {x}"), format!("    {z}")]);
}
