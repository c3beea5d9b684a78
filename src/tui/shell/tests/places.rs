//! Places that problems lead to, and the time cursor beside them.

use std::sync::Arc;
use std::time::Duration;

use crate::common::Pane;
use crate::data::{Info, ReplayBar, Seek, Speed};
use crate::input::screen_id::ScreenId;
use crate::screens::screen::Screen;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::update::update;
use crate::tests::script::ScriptedStore;
use crate::tests::story::info;
use crate::tests::{PLAIN, drawn_text, model, type_keys, typed};
use xdscope_wire::event::{Seq, Time};

/// One problem of each kind that has a place of its own.
pub(super) const PROBLEMS: &str = include_str!("../../../../tests/fixtures/tui/diagnoses.xds");

/// The time cursor at the end of a recording.
pub(super) fn bar() -> ReplayBar {
    let end = Time(Duration::from_secs(90).as_nanos() as u64);
    ReplayBar {
        playing: false,
        speed: Speed::new(1.0),
        now: end,
        end,
        message: 20,
        messages: 20,
        before: 0,
        at_end: true,
        marks: Arc::new([]),
        reached: None,
        rewound: false,
        turn: 0,
    }
}

/// A model of a replay after typing.
pub(super) fn replayed(source: &ScriptedStore, keys: &str) -> Model {
    let mut model = model(100, 30, PLAIN);
    model.common.info = Info { bar: Some(bar()), ..info() };
    type_keys(&mut model, &source.data(), keys);
    model
}

#[test]
fn walk_of_problems_is_the_same_live_and_replayed() {
    let source = ScriptedStore::new(PROBLEMS);
    for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
        let walk = |mut model: Model| {
            let mut seen = Vec::new();
            for key in ["}", "}", "}", "{", "}"] {
                let effects = type_keys(&mut model, &source.data(), key);
                assert_eq!(effects, [], "{keys}{key} does not move the time cursor");
                let chosen = model.common.problems.chosen().map(|problem| (problem.kind, problem.stream));
                seen.push((model.screen, model.common.scope.clone(), chosen));
            }
            seen
        };
        assert_eq!(walk(replayed(&source, keys)), walk(typed(&source.data(), keys)), "{keys}");
    }
}

#[test]
fn time_cursor_has_keys_of_its_own() {
    let source = ScriptedStore::new(PROBLEMS);
    for (key, seek) in [
        (",", Seek::Back),
        (".", Seek::On),
        ("<lt>", Seek::Slower),
        (">", Seek::Faster),
        ("<caret>", Seek::Start),
        ("$", Seek::End),
        ("^e", Seek::Problem { on: true, all: true }),
        ("^y", Seek::Problem { on: false, all: true }),
    ] {
        for screen in ["1", "2", "3", "4", "5", "6", "7", "8", "9"] {
            let mut model = replayed(&source, screen);
            assert_eq!(type_keys(&mut model, &source.data(), key), [Effect::Replay(seek)], "{screen} {key}");
        }
    }
}

#[test]
fn first_and_last_move_in_lists_live_and_replayed() {
    let source = ScriptedStore::new(PROBLEMS);
    for screen in ["1", "2", "3", "4", "6", "7", "8", "9"] {
        let keys = format!(":edge-gw-1<enter>{screen}");
        for mut model in [typed(&source.data(), &keys), replayed(&source, &keys)] {
            let mut after = |keys: &str| {
                assert_eq!(type_keys(&mut model, &source.data(), keys), [], "{screen} {keys}");
                model.active().copy_row(&model.common)
            };
            let (last, first) = (after("G"), after("g"));
            assert_eq!((after("<end>"), after("<home>")), (last.clone(), first.clone()), "{screen}");
            let has_rows = screen != "6" && screen != "7";
            assert!(!has_rows || first != last, "{screen} {first:?}");
        }
    }
}

#[test]
fn every_problem_opens_its_evidence_and_stays_in_the_list() {
    let source = ScriptedStore::new(PROBLEMS);
    let count = typed(&source.data(), "").common.problems.count();
    let mut seen = Vec::new();
    for at in 0..count {
        for narrowed in ["", "t", "/type:cds<enter>"] {
            let mut model = typed(&source.data(), &"}".repeat(at + 1));
            assert_eq!((model.common.pane, model.common.problems.index()), (Pane::Second, at));
            let kind = model.common.problems.chosen().expect("a problem").kind;
            let word = kind.word();
            type_keys(&mut model, &source.data(), narrowed);
            // The narrowed list may choose another one.
            if model.common.problems.index() != at {
                continue;
            }
            type_keys(&mut model, &source.data(), "<enter>");
            let shown = drawn_text(&model);
            let screen = model.screen;
            match word {
                "nack" | "refused" => {
                    assert_eq!(screen, ScreenId::Nack, "{word}");
                    assert!(!model.screens.nack.card.subjects.is_empty(), "{shown}");
                }
                "miss" | "wait" => {
                    assert_eq!(screen, ScreenId::Subscriptions, "{word}");
                    let name = model.screens.subscriptions.row().map(|row| row.name.to_string());
                    assert!(name.is_none_or(|name| shown.contains(&name)), "{shown}");
                }
                "warming" => {
                    assert_eq!(screen, ScreenId::Graph, "{word}");
                    assert!(
                        model.screens.graph.node().is_some_and(|(_, node)| node.warming.is_some()),
                        "{shown}"
                    );
                }
                "failing" | "down" => {
                    assert_eq!(screen, ScreenId::Stream, "{word}");
                    assert!(shown.contains("PAUSE") && shown.contains("ended"), "{shown}");
                }
                "stale" => {
                    assert_eq!(screen, ScreenId::Timeline, "{word}");
                    let selected = model.screens.timeline.selected_message().and_then(|fact| fact.n);
                    assert_eq!(selected, Some(Seq(31)), "{shown}");
                }
                _ => assert!([ScreenId::Timeline, ScreenId::Stream].contains(&screen), "{word} {screen:?}"),
            }
            assert!(model.common.filter.is_none(), "{word}: a filter could hide the evidence");
            let listed =
                |model: &Model| model.common.problems.all.iter().filter(|problem| problem.is_wrong()).count();
            assert_eq!(listed(&model), count);
            type_keys(&mut model, &source.data(), "1");
            assert_eq!(model.common.problems.listed().len(), model.common.problems.all.len(), "{word}");
            seen.push(word);
        }
    }
    for kind in ["nack", "stale", "miss", "failing"] {
        assert!(seen.contains(&kind), "{kind} is not in {seen:?}");
    }
    // A cluster that waits for endpoints that it had before.
    let source = ScriptedStore::new(include_str!("../../../../tests/fixtures/scripts/S-35f.xds"));
    let model = typed(&source.data(), "}<enter>");
    assert_eq!(model.screen, ScreenId::Graph, "{}", drawn_text(&model));
    assert_eq!(model.screens.graph.node().map(|(_, node)| &*node.name), Some("c"));
}

#[test]
fn way_back_restores_the_filter_that_hid_the_evidence() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "/state:nack<enter>}<enter>");
    assert!(model.common.filter.is_none() && model.screen != ScreenId::Overview);
    type_keys(&mut model, &source.data(), "<esc>");
    let filter = model.common.filter.as_ref().map(|filter| filter.text.as_str());
    assert_eq!((model.screen, filter), (ScreenId::Overview, Some("state:nack")));
}

#[test]
fn screens_open_on_what_they_answer() {
    let source = ScriptedStore::new(PROBLEMS);
    let shown = drawn_text(&typed(&source.data(), ":edge-gw-1<enter>"));
    let is_worst = |line: &str| line.starts_with('▌') && line.contains("NACK");
    assert!(shown.lines().any(is_worst), "the worst type: {shown}");
    let subscriptions = typed(&source.data(), "7").screens.subscriptions;
    assert_eq!(subscriptions.row().map(|row| &*row.name), Some("ledger"));
    let graph = typed(&source.data(), "8").screens.graph;
    assert_eq!(graph.node().map(|(_, node)| &*node.name), Some("ledger"));
    let diff = typed(&source.data(), "5").screens.diff;
    assert_eq!(diff.target.as_ref().map(|target| &*target.name), Some("reviews"), "the newest change");
}

#[test]
fn all_streams_of_a_client_are_listed_and_walked() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), ":flapping<enter>a");
    let shown = drawn_text(&model);
    for part in
        ["6 streams, 6 ended: 6× UNAVAILABLE", "FAILING: ", "ended ones lasted 4s to 9s", "PAUSE", "END"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let stream = |model: &Model| model.screens.stream.client.list.selected;
    let first = stream(&model);
    type_keys(&mut model, &source.data(), "jj");
    assert_ne!(stream(&model), first);
    let wanted = stream(&model);
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!((model.common.scope.stream, model.screens.stream.lists_streams), (wanted, false));
    type_keys(&mut model, &source.data(), "<esc>");
    assert!(model.screens.stream.lists_streams, "one step back");
    type_keys(&mut model, &source.data(), "<enter>");
    assert_eq!((model.common.scope.stream, model.screens.stream.lists_streams), (wanted, false));
    let before = model.common.scope.stream;
    type_keys(&mut model, &source.data(), "J");
    assert_ne!(model.common.scope.stream, before);
    type_keys(&mut model, &source.data(), "K");
    assert_eq!(model.common.scope.stream, before);
}

/// A stream in scope that begins after the time cursor is named, on each screen.
#[test]
fn says_that_the_stream_in_scope_begins_later() {
    let later = ScriptedStore::new("node a\nstream 1 ads\n> cds\nnode b\nstream 2 ads\n> cds\n");
    let earlier = ScriptedStore::new("node a\nstream 1 ads\n> cds\n");
    for screen in ["2", "3", "4", "6", "7", "8", "9"] {
        let mut model = replayed(&later, &format!("j2{screen}"));
        assert!(!drawn_text(&model).contains("does not exist yet"), "{screen}");
        update(&mut model, Msg::Changed, &earlier.data());
        let shown = drawn_text(&model);
        assert!(
            shown.contains("stream #2 does not exist yet at this time of the recording"),
            "{screen}: {shown}"
        );
        type_keys(&mut model, &earlier.data(), "1");
        assert!(!drawn_text(&model).contains("does not exist yet"), "{screen}");
    }
}
