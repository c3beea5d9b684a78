//! Screen 3.

mod intercepted;
mod long;
pub(crate) mod messages;

use crossterm::event::{KeyCode, KeyEvent};
use insta::assert_snapshot;

use self::long::LongSource;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::overlay::Overlay;
use crate::shell::settle::search;
use crate::shell::update::update;
use crate::tests::script::{REFUSED, ScriptedStore};
use crate::tests::story::{Story, empty_story, story};
use crate::tests::{ASCII, PLAIN, assert_snapshots, drawn_text, model, screen, screen_in, type_keys, typed};
use xdscope_wire::event::Seq;

fn selected(model: &Model) -> Option<Seq> {
    model.screens.timeline.selected_message.as_ref().and_then(|shown| shown.fact.n)
}

#[test]
fn timeline() {
    assert_snapshots!("timeline", &story(), "ll<enter>3kkkkk");
}

#[test]
fn timeline_of_all_streams() {
    assert_snapshot!(screen(&story(), "3g", 100, 30));
}

#[test]
fn ladder() {
    assert_snapshots!("ladder", &story(), "ll<enter>3kkkkkL");
}

#[test]
fn body() {
    assert_snapshot!(screen(&story(), "3kv", 100, 30));
}

#[test]
fn message_in_full() {
    assert_snapshot!(screen(&story(), "3<enter>", 80, 24));
}

#[test]
fn snapshots_in_ascii() {
    assert_snapshot!("ascii_timeline", screen_in(ASCII, &story(), "ll<enter>3kkkkk", 100, 30));
    assert_snapshot!("ascii_ladder", screen_in(ASCII, &story(), "ll<enter>3L", 100, 30));
}

#[test]
fn snapshots_without_messages() {
    assert_snapshot!("empty_timeline", screen(&empty_story(), "3", 80, 24));
    assert_snapshot!("empty_filter", screen(&story(), "3/kind:heartbeat<enter>", 80, 24));
}

#[test]
fn new_rows_do_not_move_the_selection() {
    let whole = story();
    let mut data = Story { rows: whole.rows[..8].to_vec(), ..whole.clone() };
    let mut model = typed(&data, "3k");
    let before = (selected(&model), model.screens.timeline.top);
    data.rows = whole.rows.clone();
    update(&mut model, Msg::Changed, &data);
    assert_eq!((selected(&model), model.screens.timeline.top), before);
    assert_eq!(model.screens.timeline.new_below(), 5);
    assert!(drawn_text(&model).contains("5 new below"));
    type_keys(&mut model, &data, "G");
    assert_eq!((selected(&model), model.screens.timeline.new_below()), (Some(Seq(498)), 0));
    assert!(model.screens.timeline.is_following());
}

#[test]
fn following_selects_the_newest_message() {
    let whole = story();
    let mut data = Story { rows: whole.rows[..3].to_vec(), ..whole.clone() };
    let mut model = typed(&data, "3");
    data.rows = whole.rows;
    update(&mut model, Msg::Changed, &data);
    assert_eq!(selected(&model), Some(Seq(498)));
}

#[test]
fn filter_applies_while_typed() {
    let data = story();
    let mut model = typed(&data, "3/kind:nack");
    assert_eq!(model.screens.timeline.index.len(), 3);
    type_keys(&mut model, &data, " kind:x");
    assert!(matches!(model.overlays.last(), Some(Overlay::Filter(prompt)) if prompt.error.is_some()));
    assert_eq!(model.screens.timeline.index.len(), 3);
    type_keys(&mut model, &data, "<enter>");
    assert!(!model.overlays.is_empty(), "a bad expression is not accepted");
    type_keys(&mut model, &data, "<esc>");
    assert!(
        model.overlays.is_empty() && model.common.filter.is_none(),
        "cancelling returns to the one before"
    );
}

#[test]
fn esc_clears_the_filter_and_keeps_the_selection() {
    let data = story();
    let mut model = typed(&data, "3/kind:nack<enter>k");
    assert_eq!(selected(&model), Some(Seq(487)));
    type_keys(&mut model, &data, "<esc>");
    assert_eq!((selected(&model), model.screens.timeline.index.len()), (Some(Seq(487)), data.rows.len()));
}

#[test]
fn visits_nacks_in_order() {
    let data = story();
    let mut model = typed(&data, "3g");
    let mut seen = Vec::new();
    for _ in 0..3 {
        type_keys(&mut model, &data, ":next-nack<enter>");
        seen.extend(selected(&model).map(|n| n.0));
    }
    assert_eq!(seen, [479, 487, 498]);
    type_keys(&mut model, &data, ":next-nack<enter>");
    assert!(model.common.notice.is_some(), "a key that can do nothing says so");
    type_keys(&mut model, &data, ":previous-nack<enter>");
    assert_eq!(selected(&model), Some(Seq(487)));
}

#[test]
fn cycles_through_types_and_back_to_all() {
    let data = story();
    let mut model = typed(&data, "3");
    let mut seen = Vec::new();
    for _ in 0..6 {
        type_keys(&mut model, &data, "t");
        seen.push(
            model.common.scope.type_url.as_ref().map(|url| xdscope_wire::text::type_label(url.as_str())),
        );
    }
    let words: Vec<Option<&str>> = seen.iter().map(Option::as_deref).collect();
    assert_eq!(words, [Some("LDS"), Some("CDS"), Some("RDS"), Some("EDS"), Some("SDS"), None]);
}

#[test]
fn frame_reads_only_visible_rows() {
    let data = LongSource::new(1_000_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3");
    for key in ["k", "g", "j", "G", "L", "^u"] {
        data.rows_read.set(0);
        type_keys(&mut model, &data, key);
        assert!(data.rows_read.get() <= 30, "{key}: {} rows", data.rows_read.get());
    }
}

#[test]
fn search_goes_in_slices_from_the_selection() {
    let data = LongSource::new(1_000_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3");
    data.rows_read.set(0);
    for key in "/kind:nack".chars() {
        update(&mut model, Msg::Key(KeyEvent::from(KeyCode::Char(key))), &data);
    }
    assert!(data.rows_read.get() <= 10 * (256 + 30), "{} rows for ten keys", data.rows_read.get());
    assert_eq!((model.is_searching(), selected(&model)), (true, Some(Seq(1_000_000))));
    assert!(drawn_text(&model).contains("searched"));
    let before = model.screens.timeline.index.searched();
    search(&mut model, &data);
    assert_eq!(model.screens.timeline.index.searched(), before + 256);
}

#[test]
fn search_ends_after_all_rows() {
    let data = LongSource::new(10_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3/kind:nack");
    assert_eq!((model.is_searching(), model.screens.timeline.index.len()), (false, 10_000));
}

#[test]
fn following_ends_the_pause() {
    let data = story();
    let mut model = typed(&data, "3k ");
    assert!(model.common.paused.is_some() && !model.screens.timeline.is_following());
    type_keys(&mut model, &data, "f");
    assert!(model.common.paused.is_none() && model.screens.timeline.is_following());
}

#[test]
fn shows_only_fields_of_the_variant() {
    let source = ScriptedStore::new(
        "node a\nstream 1 delta-ads\n+0s 1 > cds sub=[x]\n+1s 1 < cds n=1 [x@7]\n+2s 1 > cds n=1\n",
    );
    let at = |n: u64| screen(&source.data(), &format!(":goto #{n}<enter>"), 100, 30);
    let asked = at(1);
    assert!(asked.contains("resource_names_subscribe") && asked.contains("1 x"), "{asked}");
    assert!(!asked.contains("version_info") && !asked.contains("response_nonce"), "{asked}");
    assert!(!at(2).contains("version_info") && at(2).contains("nonce "));
    let ack = at(3);
    assert!(ack.contains("response_nonce") && !ack.contains("resource_names"), "{ack}");
    let sotw = screen(&ScriptedStore::new(REFUSED).data(), ":goto #3<enter>", 100, 30);
    assert!(sotw.contains("version_info") && sotw.contains("resource_names"), "{sotw}");
}

/// docs/protocol.md#h-05.
#[test]
fn names_what_the_resources_of_a_response_wait_for() {
    let source = ScriptedStore::new(include_str!("../../../../../tests/fixtures/scripts/S-35f.xds"));
    let at = |n: u64| screen(&source.data(), &format!(":goto #{n}<enter>"), 160, 40);
    let shown = at(7);
    assert!(shown.contains("warming") && shown.contains("cluster c waits for EDS c again"), "{shown}");
    assert!(shown.contains("the server owes it"), "{shown}");
    let first = at(2);
    let below_the_verdict = first.lines().skip(2).collect::<String>();
    assert!(!below_the_verdict.contains("waits for"), "the first response is over: {first}");
}

#[test]
fn new_rows_above_the_selected_one_are_not_below() {
    let whole = story();
    let mut data = Story { rows: whole.rows[..8].to_vec(), ..whole.clone() };
    let mut model = typed(&data, "3k");
    data.rows = whole.rows.clone();
    update(&mut model, Msg::Changed, &data);
    assert_eq!(model.screens.timeline.new_below(), 5);
    type_keys(&mut model, &data, "jjjj");
    assert_eq!(model.screens.timeline.new_below(), 2, "two of the new ones are not below");
}

/// On a wide terminal the body is below the fields.
#[test]
fn shows_the_body_below_the_fields() {
    let source = ScriptedStore::gateway();
    let wide = screen(&source.data(), "3:goto #2<enter>", 200, 60);
    assert!(wide.contains("#2 response, push: fields, yaml"), "{wide}");
    assert!(wide.contains("version_info") && wide.contains("name: web"), "{wide}");
    let narrow = screen(&source.data(), "3:goto #2<enter>", 120, 36);
    assert!(narrow.contains("push: fields ") && !narrow.contains("name: web"), "{narrow}");
    let json = screen(&source.data(), "3:goto #2<enter>vv", 200, 60);
    assert!(json.contains("push: json") && !json.contains("fields, yaml"), "{json}");
}
