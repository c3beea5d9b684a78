//! Large terminals, and many nodes.

use std::time::{Duration, Instant};

use crate::shell::effect::Msg;
use crate::shell::update::update;
use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn, drawn_text, line, model, type_keys};
use xdscope_wire::event::{Dir, StreamId, Time};
use xdscope_wire::{Frame, FramePayload};
use xdscope_wire::{Interference, Intervention, InterventionFacts};

/// Nodes of which each tenth refuses its clusters, and each has another number of pushes.
fn fleet(nodes: usize) -> ScriptedStore {
    let client = |at: usize| {
        let nack = if at.is_multiple_of(10) { " nack=\"c: no\" code=13" } else { "" };
        let extra = (0..at % 7)
            .map(|push| format!("{at} < cds v={push} n=x{push} [c{push}]\n{at} > cds v={push} n=x{push}\n"));
        let extra: String = extra.collect();
        format!(
            "node pod-{at}\nstream {at} ads\n{at} > cds\n{extra}{at} < cds v=9 n=a [c]\n{at} > cds v=9 n=a{nack}\n"
        )
    };
    ScriptedStore::new(&(1..=nodes).map(client).collect::<String>())
}

#[test]
fn many_nodes_are_a_strip_with_the_slowest_and_the_busiest() {
    let source = fleet(1_000);
    for (columns, rows) in [(200, 60), (160, 45)] {
        let mut model = model(columns, rows, PLAIN);
        type_keys(&mut model, &source.data(), "");
        let shown = drawn_text(&model);
        assert!(line(&shown, "✗ 100 NACK").contains("✓ 900 SYNCED"), "{shown}");
        let cells = |symbol: &str| {
            shown.lines().skip(5).take(8).map(|line| line.matches(symbol).count()).sum::<usize>()
        };
        assert!(cells("✗") >= 100 && cells("✓") >= 900, "{} {}\n{shown}", cells("✗"), cells("✓"));
        assert!(shown.contains("slowest to answer, p99") && shown.contains("most pushes in"), "{shown}");
    }
}

#[test]
fn frames_of_many_nodes_take_little_time() {
    let source = fleet(1_000);
    let mut model = model(200, 60, PLAIN);
    type_keys(&mut model, &source.data(), "");
    let mut times: Vec<Duration> = (0..20)
        .map(|_| {
            let start = Instant::now();
            update(&mut model, Msg::Key(crate::tests::keys("j")[0]), &source.data());
            drawn(&model);
            start.elapsed()
        })
        .collect();
    times.sort();
    assert!(times[10] < Duration::from_millis(150), "{times:?}");
}

#[test]
fn time_is_one_quiet_band() {
    let source = ScriptedStore::gateway();
    for (columns, rows) in [(160, 45), (200, 60)] {
        let mut model = model(columns, rows, PLAIN);
        type_keys(&mut model, &source.data(), "");
        let shown = drawn_text(&model);
        let band = ["pushes ", "NACKs ", "slowest "]
            .map(|label| shown.lines().position(|line| line.starts_with(&format!(" {label}"))));
        let first = band[0].expect("a band");
        assert_eq!(band, [Some(first), Some(first + 1), Some(first + 2)], "{shown}");
        assert!(!shown.contains('█') && !shown.contains("time to ACK"), "{shown}");
        assert_eq!(shown.matches(" pushes ").count(), 1, "{shown}");
    }
}

/// All nodes are measured once for many keys.
#[test]
fn keys_do_not_measure_all_nodes_again() {
    let source = fleet(300);
    let mut model = model(160, 45, PLAIN);
    type_keys(&mut model, &source.data(), "");
    let measured = model.screens.overview.charts.extremes.measured();
    assert!(measured.is_some_and(|(_, is_counted)| is_counted));
    type_keys(&mut model, &source.data(), "jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjG");
    assert!(model.screens.overview.top > 0, "{}", drawn_text(&model));
    assert_eq!(model.screens.overview.charts.extremes.measured(), measured);
}

#[test]
fn evidence_has_the_content_before_and_after() {
    let source = ScriptedStore::gateway();
    for (columns, rows) in [(160, 45), (200, 60)] {
        let mut model = model(columns, rows, PLAIN);
        type_keys(&mut model, &source.data(), "}");
        let shown = drawn_text(&model);
        assert!(shown.contains("connect_timeout: 5s") && shown.contains("connect_timeout: 0s"), "{shown}");
        for problem in 0..model.common.problems.count() {
            let words = xdscope_present::report::problem_word(&model.common.problems.all[problem]).0;
            assert!(shown.contains(words), "{words}\n{shown}");
        }
        assert!(!shown.contains('┌') && !shown.contains('┏'), "one style of headings\n{shown}");
    }
}

#[test]
fn diverged_type_is_marked() {
    let mut source = ScriptedStore::new(
        "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=41 n=a [c]\n+1s 1 > cds v=41 n=a\n",
    );
    let cell = |source: &ScriptedStore| {
        let mut model = model(100, 30, PLAIN);
        type_keys(&mut model, &source.data(), "");
        line(&drawn_text(&model), "▌ edge").to_owned()
    };
    assert!(!cell(&source).contains('≠'), "{}", cell(&source));
    let facts = InterventionFacts {
        interference: Interference::Dropped,
        dir: Dir::Resp,
        is_delta: false,
        type_url: "type.googleapis.com/envoy.config.cluster.v3.Cluster".into(),
        version: "42".into(),
        nonce: "b".into(),
        by: "fault 1".into(),
    };
    let what = Intervention { facts, original: None, sent: None, sent_dir: Dir::Resp };
    let what = FramePayload::Intercepted(Box::new(what));
    source.handle(Frame { at: Time(3_000_000_000), stream: StreamId(1), what });
    assert!(cell(&source).contains('≠'), "{}", cell(&source));
}
