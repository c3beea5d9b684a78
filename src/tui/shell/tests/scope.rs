//! Number keys show whole screens, at the place that the problem is about.

use crate::input::screen_id::ScreenId;
use crate::tests::script::{ScriptedStore, resource, selected_resource};
use crate::tests::{drawn_text, typed};
use xdscope_engine::store::TypeState;
use xdscope_wire::event::{Kind, StreamId};

use super::places::PROBLEMS;

#[test]
fn number_key_shows_all_types() {
    let source = ScriptedStore::new(PROBLEMS);
    for keys in ["3t1", "}<enter>3t1", "3tt4", "3t7", "3t9"] {
        let model = typed(&source.data(), keys);
        assert_eq!(model.common.scope.type_url, None, "{keys}");
    }
    // A scope that t has set acts until then, and Esc leads back to it.
    let model = typed(&source.data(), "3t");
    assert!(model.common.scope.type_url.is_some());
    let shown = drawn_text(&typed(&source.data(), "3t1"));
    assert!(!shown.contains(" in scope"), "{shown}");
}

#[test]
fn diff_opens_at_the_push_of_the_worst_or_chosen_problem() {
    let source = ScriptedStore::new(&format!(
        "{PROBLEMS}\n1 < eds v=42 n=e9 [cart search]\n1 > eds v=42 n=e9 names=[cart search]\n"
    ));
    let push = |keys: &str| {
        let model = typed(&source.data(), keys);
        let push = model.screens.diff.push.as_ref().expect("a push");
        (
            push.stream,
            source
                .store()
                .row_of(push.n)
                .and_then(|row| source.store().line(row))
                .map(|line| line.version.to_string()),
        )
    };
    let refused = (StreamId(1), Some("42".to_owned()));
    assert_eq!(push("5"), refused, "not the newest push");
    assert_eq!(push("}15"), refused);
    let all = typed(&source.data(), "").common.problems.all;
    let at =
        all.iter().position(|problem| problem.state() == Some(TypeState::Stale)).expect("a stale client");
    assert_eq!(push(&format!("{}5", "}".repeat(at + 1))).0, all[at].stream);
}

#[test]
fn resources_open_at_the_refused_one() {
    let source = ScriptedStore::new(PROBLEMS);
    for keys in ["4", "}4", "}14"] {
        let model = typed(&source.data(), keys);
        assert_eq!(
            (model.screen, selected_resource(&model)),
            (ScreenId::Resources, resource(Kind::Cds, "reviews")),
            "{keys}"
        );
    }
}

#[test]
fn client_that_connected_again_opens_on_its_live_stream() {
    let before = "node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n+2s 1 > cds v=1 n=a\n";
    let after = "+3s 1 close\nstream 2 ads\n+4s 2 > cds v=1\n+5s 2 < cds v=1 n=a [c]\n+6s 2 > cds v=1 n=a\n";
    let (first, second) = (ScriptedStore::new(before), ScriptedStore::new(&format!("{before}{after}")));
    let mut model = typed(&first.data(), "20");
    assert_eq!(model.common.scope.stream, Some(StreamId(1)));
    crate::tests::type_keys(&mut model, &second.data(), "2");
    assert_eq!(model.common.scope.stream, Some(StreamId(2)));
    let model = typed(&second.data(), "l2");
    assert_eq!(model.screens.stream.fact().map(|fact| fact.stream), Some(StreamId(2)));
}

#[test]
fn palette_finds_each_name_of_the_verdict() {
    let source = ScriptedStore::new(PROBLEMS);
    let shown = drawn_text(&typed(&source.data(), ":fraud-check"));
    assert!(shown.contains("problem: ") && !shown.contains("nothing has this name"), "{shown}");
    let model = typed(&source.data(), ":fraud-check<enter>");
    assert_ne!(model.screen, ScreenId::Overview);
    assert!(drawn_text(&model).contains("fraud-check"), "{}", drawn_text(&model));
    for name in ["ledger", "reviews", "silent-1", "flapping", "ratings-v1"] {
        let shown = drawn_text(&typed(&source.data(), &format!(":{name}")));
        assert!(!shown.contains("nothing has this name"), "{name}: {shown}");
    }
}

#[test]
fn empty_palette_lists_all_screens() {
    let source = ScriptedStore::new(PROBLEMS);
    for size in [(80, 24), (100, 30), (200, 60)] {
        let mut model = crate::tests::model(size.0, size.1, crate::tests::PLAIN);
        crate::tests::type_keys(&mut model, &source.data(), ":");
        let shown = drawn_text(&model);
        for screen in ScreenId::ALL {
            let name = screen.command().name();
            assert!(
                shown.lines().any(|line| line.trim_start_matches([' ', '▌']).starts_with(name)),
                "{name} {size:?}\n{shown}"
            );
        }
    }
}

#[test]
fn field_in_the_palette_shows_its_documentation() {
    let source = ScriptedStore::new(PROBLEMS);
    let shown = drawn_text(&typed(&source.data(), ":Cluster.connect_timeout<enter>"));
    assert!(
        shown.contains("Cluster.connect_timeout") && shown.contains("google.protobuf.Duration"),
        "{shown}"
    );
    let shown = drawn_text(&typed(&source.data(), ":Cluster.connect_timeout<enter>j"));
    assert!(!shown.contains("── Cluster.connect_timeout"), "the next key shows the selection: {shown}");
}

#[test]
fn name_on_several_streams_is_that_of_the_worst_problem() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), "");
    // The client that is selected has no open stream.
    model.common.current_stream = Some(StreamId(16));
    crate::tests::type_keys(&mut model, &source.data(), ":reviews<enter>");
    let problem = model.common.problems.all.first().expect("a problem").stream;
    assert_eq!(model.common.scope.stream, Some(problem));
}
