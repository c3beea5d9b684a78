//! Results built in steps equal those built at once.

use proptest::prelude::*;

use crate::engine::graph::{Graph, GraphBuilder, References, TreeView};
use crate::tui::data::{AppliedFilter, Data};
use crate::tui::input::screen_id::ScreenId;
use crate::tui::shell::effect::Msg;
use crate::tui::shell::model::Model;
use crate::tui::shell::settle::search;
use crate::tui::shell::update::update;
use crate::wire::event::StreamId;

use super::real::Real;
use super::{PLAIN, drawn_text, keys, model, type_keys};

const GATEWAY: &str = include_str!("../../../tests/fixtures/tui/gateway.xds");

/// All nodes and rows of a graph.
fn said(graph: &Graph) -> String {
    let all = TreeView { problems: true, ..TreeView::default() };
    let rows = [TreeView::default(), all].map(|view| graph.rows(&view));
    format!("{:#?} {} {:#?}", graph.nodes, graph.count_all(), rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Facts change between the steps, but not the graph.
    #[test]
    fn graph_built_in_steps_is_of_one_moment(begun in 0usize..60, most in 1usize..9, stream in 1u32..3) {
        let (mut real, frames) = Real::begun(GATEWAY);
        let mut frames = frames.into_iter();
        frames.by_ref().take(begun).for_each(|frame| real.handle(frame));
        let mut known = References::default();
        let streams = [StreamId(stream)];
        let (whole, mut next) = {
            let data = real.data();
            let (store, schema) = data.source().unwrap();
            let unread = Graph::build(store, &streams, &mut known).unread;
            known.read(store, schema, &unread);
            (Graph::build(store, &streams, &mut known), GraphBuilder::new(store, &streams))
        };
        while !next.step(real.data().store, &mut known, most) {
            frames.next().into_iter().for_each(|frame| real.handle(frame));
        }
        prop_assert_eq!(said(&next.finish().0), said(&whole));
    }
}

#[test]
fn drops_a_graph_in_steps() {
    let real = Real::gateway();
    let data = real.data();
    let mut graph = Graph::build(data.store, &[StreamId(1)], &mut References::default());
    let (nodes, mut steps) = (graph.nodes.len(), 1);
    while !graph.drop_nodes(2) {
        steps += 1;
    }
    assert_eq!((graph.nodes.len(), steps), (0, nodes.div_ceil(2)));
}

/// A number of clusters, and routes that refer to the first one.
fn large(clusters: usize, routes: usize) -> Real {
    let list = |n: usize, one: &dyn Fn(usize) -> String| (0..n).map(one).collect::<Vec<_>>().join(" ");
    let names = list(routes, &|i| format!("r{i}"));
    let script = [
        "node edge cluster=edge agent=\"envoy/1.40.0\"\nstream 1 ads\n+0s 1 > cds\n".to_owned(),
        format!("+10ms 1 < cds v=1 n=c1 [{}]\n", list(clusters, &|i| format!("c{i}"))),
        "+20ms 1 > cds v=1 n=c1\n".to_owned(),
        format!("+30ms 1 > rds v= n= names=[{names}]\n"),
        format!("+40ms 1 < rds v=1 n=r1 [{}]\n", list(routes, &|i| format!("r{i}{{to: [c0]}}"))),
        format!("+50ms 1 > rds v=1 n=r1 names=[{names}]\n"),
    ];
    Real::of(&script.concat())
}

fn press(model: &mut Model, real: &Real, typed: &str) {
    for key in keys(typed) {
        update(model, Msg::Key(key), &real.data());
    }
}

#[test]
fn builds_a_large_graph_in_steps() {
    let real = large(3000, 1);
    let data = real.data();
    let mut model = model(100, 30, PLAIN);
    update(&mut model, Msg::Changed, &data);
    press(&mut model, &real, "8");
    assert!(model.screens.graph.first_progress().is_some() && model.screens.graph.graph.nodes.is_empty());
    assert!(drawn_text(&model).contains("reading resources, "), "{}", drawn_text(&model));
    // Its resources, then what they refer to, then both.
    for _ in 0..3 {
        while search(&mut model, &data) {}
        update(&mut model, Msg::Changed, &data);
    }
    let (store, schema) = data.source().unwrap();
    assert!(!model.screens.graph.is_building());
    assert_eq!(said(&model.screens.graph.graph), said(&Graph::of(store, schema, &[StreamId(1)])));
}

#[test]
fn finds_referrers_in_steps() {
    let real = large(2, 150);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &real.data(), "4");
    assert_eq!(model.screen, ScreenId::Resources);
    let cds = model.screens.resources.tree.types[0].fact.type_url.clone();
    model.screens.resources.go_to(&cds, Some("c0".into()));
    update(&mut model, Msg::Changed, &real.data());
    press(&mut model, &real, "P");
    let found = |model: &Model| model.screens.resources.detail.referrers.as_ref().unwrap().found.len();
    assert!(found(&model) < 150 && model.is_searching() && drawn_text(&model).contains(", at least"));
    while search(&mut model, &real.data()) {}
    assert_eq!(found(&model), 150);
    assert!(
        drawn_text(&model).contains("used by 150") && !drawn_text(&model).contains("at least"),
        "{}",
        drawn_text(&model)
    );
    model.screens.resources.go_to(&cds, Some("c1".into()));
    update(&mut model, Msg::Changed, &real.data());
    press(&mut model, &real, "P");
    while search(&mut model, &real.data()) {}
    assert_eq!(model.common.notice.as_deref(), Some("nothing on this stream refers to it"));
}

#[test]
fn filter_matches_states_and_summaries_alike() {
    let filters = [
        "reviews",
        "edge-gw-1",
        "CDS",
        "ledger",
        "41",
        "c3",
        "constraint",
        "nack",
        "state:miss",
        "state:nack",
        "name:cart",
        "name:/^search/",
        "version:42",
        "nonce:e1",
        "err:malformed",
        "type:eds",
        "!type:cds",
        "lat>1ms",
        "lat<1h",
        "size>1",
        "count>2",
        "count<4",
        "age>5s",
        "#30..#40",
        "after:#20",
        "stream:2",
        "nothing",
    ];
    let filters: Vec<AppliedFilter> = filters
        .into_iter()
        .filter_map(|text| {
            let filter = crate::engine::filter::Filter::parse(text).ok()?;
            Some(AppliedFilter { text: text.to_owned(), filter })
        })
        .collect();
    assert!(filters.len() > 20);
    let (mut real, frames) = Real::begun(GATEWAY);
    let (mut matched, mut looked) = (0, 0);
    for frame in frames {
        real.handle(frame);
        let data = real.data();
        for cell in data.summaries() {
            let fact = data.state(cell.stream, &cell.type_url).expect("its state");
            for applied in &filters {
                let wanted = data.state_matches(applied, &fact);
                assert_eq!(data.cell_matches(applied, &cell), wanted, "{} {cell:?}", applied.text);
                (matched, looked) = (matched + usize::from(wanted), looked + 1);
            }
        }
    }
    assert!(matched > 0 && matched < looked);
}

#[test]
fn sorts_names_by_the_last_choice() {
    let orders = ["s1", "s2", "s3"];
    for real in [Real::gateway(), large(20, 3)] {
        let shown = |typed: &str| {
            let mut model = model(200, 60, PLAIN);
            type_keys(&mut model, &real.data(), typed);
            let rows = &model.screens.subscriptions.window;
            rows.iter().map(|row| row.name.to_string()).collect::<Vec<_>>()
        };
        for types in ["", "j", "jj"] {
            for (before, last) in orders.iter().flat_map(|a| orders.iter().map(move |b| (a, b))) {
                let at_once = shown(&format!("7{types}{last}"));
                assert!(!at_once.is_empty());
                assert_eq!(shown(&format!("7{types}{before}{last}")), at_once, "{types} {before} {last}");
            }
        }
    }
}
