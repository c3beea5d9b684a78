//! Screen 2.

pub(crate) mod states;

use insta::assert_snapshot;

use crate::input::screen_id::ScreenId;
use crate::tests::script::ScriptedStore;
use crate::tests::story::{empty_story, story};
use crate::tests::{assert_snapshots, screen, type_keys, typed};
use xdscope_engine::store::TypeState;
use xdscope_wire::event::Seq;

#[test]
fn stream() {
    assert_snapshots!("stream", &story(), "ll<enter>");
}

#[test]
fn stream_that_ended() {
    assert_snapshot!(screen(&story(), "G<enter>", 100, 30));
}

#[test]
fn snapshot_without_streams() {
    assert_snapshot!("empty_stream", screen(&empty_story(), "2", 80, 24));
}

#[test]
fn enter_opens_type_and_messages_and_esc_returns() {
    let data = story();
    let mut model = typed(&data, "ll<enter>");
    assert_eq!(model.screen, ScreenId::Stream);
    assert_eq!(model.screens.stream.state().map(|state| state.summary.state), Some(TypeState::Nack));
    type_keys(&mut model, &data, "<enter>");
    assert_eq!(model.screen, ScreenId::Nack, "a refused type leads to its refusal");
    assert_eq!(model.screens.nack.group().and_then(|group| group.last()).map(|nack| nack.n), Some(Seq(498)));
    type_keys(&mut model, &data, "<esc>j<enter>");
    let url = model.screens.stream.types.selected.clone();
    assert_eq!(model.screen, ScreenId::Timeline, "another one to its messages");
    assert!(model.screens.timeline.window.iter().all(|shown| Some(&shown.line.type_url) == url.as_ref()));
    type_keys(&mut model, &data, "<esc>");
    assert_eq!(model.screen, ScreenId::Stream);
    type_keys(&mut model, &data, "<esc>");
    assert_eq!((model.screen, model.common.scope.stream), (ScreenId::Overview, None));
}

/// No number is stated about answers that never came.
#[test]
fn equal_ends_of_short_streams_share_a_line() {
    let stream = |at: u32| {
        let (opened, closed) = (2 * at, 2 * at + 1);
        format!(
            "stream {at} ads\n+{opened}s {at} > cds\n+{closed}s {at} close status=16 \"no credentials\"\n"
        )
    };
    let streams: String = (1..=18).map(stream).collect();
    let source = ScriptedStore::new(&format!("node edge\n{streams}"));
    for width in [80, 120, 200] {
        let shown = screen(&source.data(), "2a", width, 45);
        let row = crate::tests::line(&shown, "18× 16 ");
        assert!(row.contains("#1-#18") && row.contains('├'), "{shown}");
        assert!(width < 200 || !row.contains("…"), "the end has a place of its own: {shown}");
    }
}

#[test]
fn charts_of_a_stream_without_answers_say_so() {
    let source = ScriptedStore::new("node edge\nstream 1 ads\n+0s 1 > cds\n+1s 1 < cds v=1 n=a [c]\n");
    let shown = screen(&source.data(), "2", 200, 60);
    assert!(shown.contains("slowest") && shown.contains("no answer"), "{shown}");
    assert!(!shown.contains("max 0.0ms"), "{shown}");
}
