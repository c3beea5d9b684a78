//! Screen 8.

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::settle::search;
use crate::shell::update::update;
use crate::tests::script::{GATEWAY, PARTLY_REFUSED, ScriptedStore, large};
use crate::tests::{
    ASCII, PLAIN, assert_snapshots, drawn_text, model, press, screen, screen_in, type_keys, typed,
};
use xdscope_engine::graph::{Graph, GraphBuilder, References, TreeView};
use xdscope_wire::event::{Kind, StreamId};

fn node(model: &Model) -> (Kind, String) {
    let (_, node) = model.screens.graph.node().expect("a node");
    (node.kind, node.name.to_string())
}

/// All nodes and rows of a graph.
fn described(graph: &Graph) -> String {
    let all = TreeView { problems: true, ..TreeView::default() };
    let rows = [TreeView::default(), all].map(|view| graph.rows(&view));
    format!("{:#?} {} {:#?}", graph.nodes, graph.count_all(), rows)
}

#[test]
fn graph() {
    assert_snapshots!("graph", &ScriptedStore::gateway().data(), "8");
}

#[test]
fn snapshot_in_ascii() {
    assert_snapshot!("ascii_graph", screen_in(ASCII, &ScriptedStore::gateway().data(), "8", 100, 30));
}

#[test]
fn refused_content_is_an_overlay() {
    let source = ScriptedStore::new(PARTLY_REFUSED);
    assert_snapshot!("refused", screen(&source.data(), "8", 120, 40));
    let screen = screen(&source.data(), "8", 200, 60);
    for part in
        ["2 rejected, 1 in force", "1 endpoint, 1 healthy", "would add", "2 refused by #14: error adding"]
    {
        assert!(screen.contains(part), "{part} is not in {screen}");
    }
    assert!(!screen.contains("0 endpoints"), "{screen}");
}

#[test]
fn says_that_there_is_no_resource() {
    let nothing = ScriptedStore::new("node a\nstream 1 ads\n+0s 1 > cds\n");
    assert!(screen(&nothing.data(), "8", 80, 24).contains("no resource yet"));
}

#[test]
fn shows_dangling_and_warming_resources() {
    let source = ScriptedStore::gateway();
    let model = typed(&source.data(), "8");
    let screen = drawn_text(&model);
    for part in ["fraud-check", "dangling: not in CDS 42", "ledger-v2", "warming", "rejected, 41 in force"] {
        assert!(screen.contains(part), "{part} is not in {screen}");
    }
    let model = typed(&source.data(), "8p");
    let screen = drawn_text(&model);
    assert!(screen.contains("fraud-check") && !screen.contains("CDS cart"), "{screen}");
}

/// A problem is an entry of one list, which the title counts.
#[test]
fn counts_no_problems_of_its_own() {
    let source = ScriptedStore::gateway();
    let shown = screen(&source.data(), "8", 120, 40);
    let problems: Vec<&str> = shown.lines().filter(|line| line.contains(" problems")).collect();
    assert_eq!(problems.len(), 1, "{shown}");
    assert!(shown.lines().nth(4).is_some_and(|line| line.contains(" not ready")), "{shown}");
}

#[test]
fn shows_references_and_referrers() {
    let source = ScriptedStore::gateway();
    let mut model = typed(&source.data(), "8g");
    assert_eq!(node(&model), (Kind::Lds, "web".into()));
    let whole = model.screens.graph.tree.rows.len();
    type_keys(&mut model, &source.data(), "h");
    assert!(
        model.screens.graph.tree.rows.len() < whole && !drawn_text(&model).contains("CDS cart"),
        "{}",
        drawn_text(&model)
    );
    type_keys(&mut model, &source.data(), "l/name:fraud<enter>");
    assert_eq!(node(&model), (Kind::Cds, "fraud-check".into()));
    type_keys(&mut model, &source.data(), "<esc>P");
    let screen = drawn_text(&model);
    assert!(screen.contains("referrers of"), "{screen}");
    assert!(
        screen.contains("RDS edge") && screen.contains("LDS web") && !screen.contains("CDS cart"),
        "{screen}"
    );
    type_keys(&mut model, &source.data(), "P");
    assert!(drawn_text(&model).contains("CDS cart"));
    // A resource that is not there can't be opened; one that is can.
    type_keys(&mut model, &source.data(), "gj<enter>");
    assert_eq!(model.screen, ScreenId::Resources);
    type_keys(&mut model, &source.data(), "<esc>");
    assert_eq!(model.screen, ScreenId::Graph);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Facts change between the steps, but not the graph.
    #[test]
    fn graph_built_in_steps_is_of_one_moment(handled in 0usize..60, step in 1usize..9, stream in 1u32..3) {
        let (mut source, frames) = ScriptedStore::before_first_frame(GATEWAY);
        let mut frames = frames.into_iter();
        frames.by_ref().take(handled).for_each(|frame| source.handle(frame));
        let mut known = References::default();
        let streams = [StreamId(stream)];
        let (whole, mut next) = {
            let data = source.data();
            let (store, schema) = (data.store(), data.schema());
            let unread = Graph::build(store, &streams, &mut known).unread;
            known.read(store, schema, &unread);
            (Graph::build(store, &streams, &mut known), GraphBuilder::new(store, &streams))
        };
        while !next.step(source.data().store, &mut known, step) {
            frames.next().into_iter().for_each(|frame| source.handle(frame));
        }
        prop_assert_eq!(described(&next.finish().0), described(&whole));
    }
}

#[test]
fn drops_a_graph_in_steps() {
    let source = ScriptedStore::gateway();
    let data = source.data();
    let mut graph = Graph::build(data.store, &[StreamId(1)], &mut References::default());
    let (nodes, mut steps) = (graph.nodes.len(), 1);
    while !graph.drop_nodes(2) {
        steps += 1;
    }
    assert_eq!((graph.nodes.len(), steps), (0, nodes.div_ceil(2)));
}

#[test]
fn builds_a_large_graph_in_steps() {
    let source = large(3000, 1);
    let data = source.data();
    let mut model = model(100, 30, PLAIN);
    update(&mut model, Msg::Changed, &data);
    press(&mut model, &source.data(), "8");
    assert!(model.screens.graph.first_progress().is_some() && model.screens.graph.graph.nodes.is_empty());
    assert!(drawn_text(&model).contains("reading resources, "), "{}", drawn_text(&model));
    // Its resources, then what they refer to, then both.
    for _ in 0..3 {
        while search(&mut model, &data) {}
        update(&mut model, Msg::Changed, &data);
    }
    let (store, schema) = (data.store(), data.schema());
    assert!(!model.screens.graph.is_building());
    assert_eq!(described(&model.screens.graph.graph), described(&Graph::of(store, schema, &[StreamId(1)])));
}

/// docs/protocol.md#h-05 and docs/protocol.md#h-07.
#[test]
fn shows_gaps_expiry_and_what_is_waited_for() {
    let text = include_str!("../../../../tests/fixtures/cli/gaps.xds");
    let gaps = ScriptedStore::new(text.split("\nnode unknown").next().unwrap());
    let shown = screen(&gaps.data(), "8/name:b<enter>", 120, 40);
    assert!(shown.contains("dangling: not in CDS 2   503 since 5s"), "{shown}");
    let effect = "requests that RDS r routes to b get 503 since 5s: the client does not have the cluster";
    assert!(shown.contains(effect), "{shown}");
    let shown = screen(&gaps.data(), "8/name:own<enter>", 120, 40);
    assert!(shown.contains("expires on 2036-11-20T03:06:39Z"), "{shown}");
    assert!(shown.contains("certificate edge.example expires on 2036"), "{shown}");

    let warming = ScriptedStore::new(include_str!("../../../../tests/fixtures/scripts/S-35f.xds"));
    let shown = screen(&warming.data(), "8", 160, 40);
    assert!(shown.contains("warming 20s") || shown.contains("warming 21s"), "{shown}");
    assert!(
        shown.contains("cluster c waits for EDS c again since 2") && shown.contains("the server owes it"),
        "{shown}"
    );
    assert!(shown.contains("the earlier version stays in use"), "{shown}");
    assert!(!shown.contains("503"), "{shown}");
}

#[test]
fn says_that_nothing_is_there_although_it_was_asked_for() {
    let text = include_str!("../../../../tests/fixtures/lint/lds-cds-emptied.bad.xds");
    let shown = screen(&ScriptedStore::new(text).data(), "8", 120, 30);
    assert!(shown.contains("removed by the server, and in use until the client's ACK"), "{shown}");
    let accepted = format!("{text}\n> v=2 n=b\n");
    let shown = screen(&ScriptedStore::new(&accepted).data(), "8", 120, 30);
    assert!(
        shown.contains("was not sent, or was removed") && !shown.contains("nothing was asked"),
        "{shown}"
    );
    let text = include_str!("../../../../tests/fixtures/lint/delta-alias-collision.bad.xds");
    let shown = screen(&ScriptedStore::new(text).data(), "8", 120, 30);
    assert!(shown.contains(" 2 resources   "), "{shown}");
}

/// The words of the summary add up to the number of the chain.
#[test]
fn counts_of_resources_that_are_not_ready_agree() {
    let source = ScriptedStore::gateway();
    let shown = screen(&source.data(), ":edge-gw-1<enter>8", 100, 30);
    let summary = shown.lines().nth(3).unwrap_or_default();
    let (_, words) = summary.split_once(" resources, ").expect("counts");
    let counts: u64 = words.split(", ").filter_map(|part| part.split(' ').next()?.parse::<u64>().ok()).sum();
    assert!(counts > 0 && shown.contains(&format!("   {counts} not ready")), "{shown}");
}

/// On a wide terminal the content of the selected resource fills the pane beside the tree.
#[test]
fn shows_the_content_of_the_selected_resource() {
    let source = ScriptedStore::gateway();
    let shown = screen(&source.data(), ":cds/reviews<enter>8/name:reviews<enter>", 200, 60);
    assert!(shown.contains("connect_timeout: ") && shown.contains("eds_cluster_config:"), "{shown}");
}
