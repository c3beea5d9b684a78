//! The effects of keys.

use crossterm::event::{KeyCode, KeyEvent};

use crate::engine::store::{Problem, RefusedPush, TypeState};
use crate::tui::data::Data;
use crate::tui::input::screen_id::ScreenId;
use crate::tui::shell::effect::{Effect, Msg};
use crate::tui::shell::model::Model;
use crate::tui::shell::overlay::Overlay;
use crate::tui::shell::settle::search;
use crate::tui::shell::update::{update, update_all};
use crate::wire::event::{Seq, Variant};

use super::story::{self, Long, Story, story};
use super::{PLAIN, drawn, drawn_text, keys, model, screen, text, type_keys};

fn typed(data: &dyn Data, keys: &str) -> Model {
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, data, keys);
    model
}

fn selected(model: &Model) -> Option<Seq> {
    model.screens.timeline.selected_message.as_ref().and_then(|shown| shown.fact.n)
}

#[test]
fn enter_opens_type_and_messages_and_esc_returns() {
    let data = story();
    let mut model = typed(&data, "ll<enter>");
    assert_eq!(model.screen, ScreenId::Stream);
    assert_eq!(model.screens.stream.state().map(|state| state.state), Some(TypeState::Nack));
    type_keys(&mut model, &data, "<enter>");
    assert_eq!(model.screen, ScreenId::Nack, "a refused type leads to its refusal");
    assert_eq!(model.screens.nack.group().and_then(|group| group.last()).map(|nack| nack.n), Some(Seq(498)));
    type_keys(&mut model, &data, "<esc>j<enter>");
    let url = model.screens.stream.selected.clone();
    assert_eq!(model.screen, ScreenId::Timeline, "another one to its messages");
    assert!(model.screens.timeline.window.iter().all(|shown| Some(&shown.line.type_url) == url.as_ref()));
    type_keys(&mut model, &data, "<esc>");
    assert_eq!(model.screen, ScreenId::Stream);
    type_keys(&mut model, &data, "<esc>");
    assert_eq!((model.screen, model.common.scope.stream), (ScreenId::Overview, None));
}

#[test]
fn sorts_worst_first_and_keeps_the_selected_node() {
    let mut data = story();
    let mut model = typed(&data, "jj");
    let names: Vec<&str> = model.screens.overview.table.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names[..3], ["edge-gw-1", "ratings-v1-77d0", "grpc-cart-0"]);
    assert_eq!(names.last(), Some(&"payments-v3-1c2a"));
    let key = model.screens.overview.selected;
    for state in &mut data.states {
        if state.stream.0 == 3 {
            state.state = TypeState::Nack;
        }
    }
    update(&mut model, Msg::Changed, &data);
    assert_eq!(model.screens.overview.selected, key);
    assert_eq!(model.screens.overview.position(), Some(1));
}

#[test]
fn streams_of_a_node_share_a_row() {
    let model = typed(&story(), "");
    let row = |name: &str| model.screens.overview.table.rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!(row("batch-9").streams.len(), 4);
    assert_eq!(row("batch-9").cells.iter().flatten().count(), 4);
    assert_eq!((row("payments-v3-1c2a").reconnects, row("payments-v3-1c2a").key.0), (1, 9));
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
    assert!(text(&drawn(&model)).contains("5 new below"));
    type_keys(&mut model, &data, "G");
    assert_eq!((selected(&model), model.screens.timeline.new_below()), (Some(Seq(498)), 0));
    assert!(model.screens.timeline.is_following);
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
fn paused_screen_does_not_change() {
    let mut data = story();
    let mut model = typed(&data, "3<esc> ");
    let before = text(&drawn(&model));
    assert!(before.contains("PAUSED"));
    data.now = story::at("14:09:00");
    data.problems.clear();
    data.rows.truncate(3);
    update(&mut model, Msg::Changed, &data);
    assert_eq!(text(&drawn(&model)), before);
    type_keys(&mut model, &data, " ");
    assert!(text(&drawn(&model)).contains("14:09:00"));
}

#[test]
fn paused_overview_can_be_sorted_and_filtered() {
    let (mut data, names) = (story(), |model: &Model| -> Vec<String> {
        model.screens.overview.table.rows.iter().map(|row| row.name.clone()).collect()
    });
    let mut model = typed(&data, " ");
    let mut sorted = names(&model);
    data.streams.clear();
    type_keys(&mut model, &data, "s2");
    sorted.sort();
    assert_eq!(names(&model), sorted);
    type_keys(&mut model, &data, "/state:nack<enter>");
    assert!(!names(&model).is_empty() && names(&model).len() < sorted.len(), "{:?}", names(&model));
    type_keys(&mut model, &data, "/state:x<enter>");
    assert_eq!(names(&model), [""; 0]);
    type_keys(&mut model, &data, "<esc>");
    assert_eq!(names(&model), sorted);
    type_keys(&mut model, &data, " ");
    assert_eq!(names(&model), [""; 0], "and then it goes on");
}

#[test]
fn filter_applies_while_typed() {
    let data = story();
    let mut model = typed(&data, "3/kind:nack");
    assert_eq!(model.screens.timeline.index.len(), 3);
    type_keys(&mut model, &data, " kind:x");
    assert!(matches!(model.overlays.last(), Some(Overlay::Filter { error: Some(_), .. })));
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
fn visits_problems_in_order() {
    let data = story();
    let mut model = typed(&data, "3g");
    let mut seen = Vec::new();
    for _ in 0..5 {
        type_keys(&mut model, &data, "}");
        seen.extend(selected(&model).map(|n| n.0));
    }
    assert_eq!(seen, [479, 433, 487, 489, 498]);
    type_keys(&mut model, &data, "}");
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
            model.common.scope.type_url.as_ref().map(|url| crate::wire::text::type_label(url.as_str())),
        );
    }
    let words: Vec<Option<&str>> = seen.iter().map(Option::as_deref).collect();
    assert_eq!(words, [Some("LDS"), Some("CDS"), Some("RDS"), Some("EDS"), Some("SDS"), None]);
}

#[test]
fn copies_rows_json_and_commands() {
    let data = story();
    let copied = |keys: &str| {
        let mut model = model(100, 30, PLAIN);
        match type_keys(&mut model, &data, keys).pop() {
            Some(Effect::Copy(text)) => text,
            other => panic!("{other:?}: {:?}", model.common.notice),
        }
    };
    assert_eq!(copied("3yj"), "{\"n\":498}");
    assert!(copied("3yr").starts_with("498  14:02:23.206"));
    assert_eq!(copied("yc"), "xdscope status session-20260302-135200.xdsrec");
    assert_eq!(
        copied("ll<enter><enter>/kind:nack<enter>yc"),
        "xdscope log session-20260302-135200.xdsrec --body --filter 'kind:nack stream:1 type:cds kind:nack'"
    );
}

#[test]
fn quitting_asks_while_clients_are_connected() {
    let data = story();
    let mut model = typed(&data, "");
    assert_eq!(type_keys(&mut model, &data, "q"), [Effect::Quit]);
    model.common.info.clients = 3;
    assert_eq!(type_keys(&mut model, &data, "q"), []);
    assert!(text(&drawn(&model)).contains("3 clients"));
    assert_eq!(type_keys(&mut model, &data, "<enter>q"), [], "neither Enter nor the key that asked");
    assert_eq!(type_keys(&mut model, &data, "y"), [Effect::Quit]);
    let mut model = typed(&data, "");
    model.common.info.clients = 3;
    assert_eq!(type_keys(&mut model, &data, "^c^c"), [Effect::Quit], "twice forces");
}

#[test]
fn ctrl_c_leaves_a_prompt_first() {
    let data = story();
    for prompt in [":abc", "/abc", "?", "y"] {
        let mut model = typed(&data, prompt);
        assert_eq!(model.overlays.len(), 1, "{prompt}");
        assert_eq!(type_keys(&mut model, &data, "^c"), [], "{prompt}");
        assert!(model.overlays.is_empty(), "{prompt}");
    }
}

#[test]
fn frame_reads_only_visible_rows() {
    let data = Long::new(1_000_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3");
    for key in ["k", "g", "j", "G", "L", "^u"] {
        data.asked.set(0);
        type_keys(&mut model, &data, key);
        assert!(data.asked.get() <= 30, "{key}: {} rows", data.asked.get());
    }
}

#[test]
fn search_goes_in_slices_from_the_selection() {
    let data = Long::new(1_000_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3");
    data.asked.set(0);
    for key in "/kind:nack".chars() {
        update(&mut model, Msg::Key(KeyEvent::from(KeyCode::Char(key))), &data);
    }
    assert!(data.asked.get() <= 10 * (256 + 30), "{} rows for ten keys", data.asked.get());
    assert_eq!((model.is_searching(), selected(&model)), (true, Some(Seq(1_000_000))));
    assert!(text(&drawn(&model)).contains("searched"));
    let before = model.screens.timeline.index.searched();
    search(&mut model, &data);
    assert_eq!(model.screens.timeline.index.searched(), before + 256);
}

#[test]
fn search_ends_after_all_rows() {
    let data = Long::new(10_000);
    let mut model = model(100, 30, PLAIN);
    type_keys(&mut model, &data, "3/kind:nack");
    assert_eq!((model.is_searching(), model.screens.timeline.index.len()), (false, 10_000));
}

/// The story with `count` more healthy nodes.
fn with_nodes(count: u32) -> Story {
    let mut data = story();
    for id in 100..100 + count {
        let stream = story::stream(id, &format!("node-{id}"), Variant::Ads, "13:53:00");
        data.states.push(story::state(&stream, crate::wire::event::Kind::Lds, TypeState::Synced, "13:53:20"));
        data.streams.push(stream);
    }
    data
}

#[test]
fn folds_healthy_nodes_among_many() {
    let data = with_nodes(100);
    let folded = typed(&data, "");
    assert_eq!((folded.screens.overview.table.rows.len(), folded.screens.overview.table.folded), (4, 102));
    let shown = screen(&data, "", 100, 30);
    assert!(shown.contains("102 more nodes") && shown.contains("101 SYNCED"), "{shown}");
    assert_eq!(typed(&data, "z").screens.overview.table.rows.len(), 106);
}

#[test]
fn typing_is_drawn_before_the_table_of_many_streams() {
    let mut data = with_nodes(250);
    data.moment = Some((data.rows.len(), data.now));
    let mut model = typed(&data, "z");
    let all = model.screens.overview.table.rows.len();
    let press = |model: &mut _, typed: &str| {
        update_all(model, keys(typed).into_iter().map(Msg::Key).collect(), &data);
    };
    press(&mut model, "/type:cds");
    assert_eq!((model.screens.overview.table.rows.len(), model.is_searching()), (all, true));
    update(&mut model, Msg::Changed, &data);
    let some = model.screens.overview.table.rows.len();
    assert!((1..all).contains(&some) && !model.is_searching(), "{some}");
    // Commands act on rows that match.
    press(&mut model, "?<enter>");
    assert_eq!((model.screens.overview.table.rows.len(), model.is_searching()), (0, false));
}

#[test]
fn escapes_hostile_text() {
    let evil = "\x1b]0;owned\x07\x1b[2J\u{202e}evil\r\n";
    let mut data = story();
    for row in &mut data.rows {
        row.row.version = evil.into();
        row.row.nonce = evil.into();
        row.row.node = Some(evil.into());
        row.row.note = row.note.as_ref().map(|_| evil.to_owned());
        row.row.error = row.error.as_ref().map(|(code, _)| (*code, evil.into()));
        row.added = vec![evil.into()];
        row.row.type_url = evil.into();
    }
    for state in &mut data.states {
        state.type_url = evil.into();
        state.in_force = Some(evil.into());
        state.missing = vec![evil.into()];
    }
    for stream in &mut data.streams {
        stream.method = evil.to_owned();
        stream.peer = Some(evil.to_owned());
        stream.control_plane = Some(evil.into());
        stream.node = None;
    }
    for problem in &mut data.problems {
        problem.problem = Problem::Refused(RefusedPush {
            version: evil.into(),
            implied: false,
            times: 2,
            first: data.now,
            is_resent: true,
            in_force: Some(evil.into()),
            message: Some(evil.into()),
        });
        problem.node = Some(evil.into());
    }
    for keys in ["", "2", "3", "3L", "3<enter>", "3v", "/\u{7f}\u{202e}", ":\u{202e}"] {
        for (width, height) in [(80, 24), (100, 30), (200, 60)] {
            let mut model = model(width, height, PLAIN);
            model.common.info.source = evil.to_owned();
            type_keys(&mut model, &data, keys);
            for cell in &drawn(&model).content {
                let raw = cell.symbol().chars().any(|c| c.is_control() || c == '\u{202e}');
                assert!(!raw, "{keys} {width}x{height}: {:?}", cell.symbol());
            }
        }
    }
    assert!(screen(&data, "3", 200, 60).contains("\\x1b[2J"));
}

#[test]
fn footer_keys_have_an_effect() {
    let data = story();
    for screen_keys in ["", "2", "3"] {
        let before = typed(&data, screen_keys);
        for context in before.contexts() {
            for binding in before.keys.of(context).filter(|binding| binding.footer) {
                let key = match binding.key {
                    "Enter" => "<enter>".to_owned(),
                    "Tab" => "<tab>".to_owned(),
                    "Space" => " ".to_owned(),
                    key => key.to_owned(),
                };
                let mut model = before.clone();
                let effects = type_keys(&mut model, &data, &key);
                let changed =
                    text(&drawn(&model)) != text(&drawn(&before)) || model.common.pane != before.common.pane;
                assert!(changed || !effects.is_empty(), "{screen_keys} {key}");
            }
        }
    }
}

#[test]
fn finds_in_a_text() {
    let data = story();
    let mut model = typed(&data, "3v\\/line 17<enter>");
    assert_eq!(model.common.notice.as_deref(), Some("\"line 17\" 1 of 1"));
    let text = drawn_text(&model);
    assert!(text.contains("line 17"), "{text}");
    type_keys(&mut model, &data, "/line 2<enter>");
    // line 2, and 20 to 29: from where the reader is.
    assert!(
        model.common.notice.as_deref().is_some_and(|said| said.ends_with(" of 11")),
        "{:?}",
        model.common.notice
    );
    let before = model.common.notice.clone();
    type_keys(&mut model, &data, "n");
    assert_ne!(model.common.notice, before);
    type_keys(&mut model, &data, "N");
    assert_eq!(model.common.notice, before);
    type_keys(&mut model, &data, "/no such<enter>");
    assert_eq!(model.common.notice.as_deref(), Some("\"no such\" is not in these 30 lines"));
    assert!(model.common.filter.is_none(), "nothing was filtered");
    type_keys(&mut model, &data, "<esc>");
    assert!(model.find.is_none() && model.common.is_full_screen, "Esc ends the search first");
    type_keys(&mut model, &data, "<esc>/kind:nack<enter>");
    assert_eq!(
        model.common.filter.as_ref().map(|filter| filter.text.as_str()),
        Some("kind:nack"),
        "a list filters"
    );
}

#[test]
fn finds_in_the_help() {
    let mut model = typed(&story(), "?/subscribe unsub<enter>");
    assert!(
        model.common.notice.as_deref().is_some_and(|said| said.contains("1 of 1")),
        "{:?}",
        model.common.notice
    );
    type_keys(&mut model, &story(), "<esc>");
    assert!(model.overlays.is_empty(), "Esc leaves the help");
}

#[test]
fn sorts_lists_as_chosen() {
    let data = story();
    let names = |keys: &str| -> Vec<String> {
        let model = typed(&data, keys);
        assert!(model.overlays.is_empty());
        model.screens.overview.table.rows.iter().map(|row| row.name.clone()).collect()
    };
    let mut sorted = names("");
    assert_eq!(sorted.first().map(String::as_str), Some("edge-gw-1"));
    sorted.sort();
    assert_eq!(names("s2"), sorted);
    assert_eq!(names("s2s1"), names(""));
    let model = typed(&data, "3:sort<enter>");
    assert!(model.common.notice.is_some_and(|said| said.contains("screens 1, 7 and 9")));
}

#[test]
fn resizes_panes_within_the_screen() {
    let data = story();
    for keys in ["3", "9", "6", "4", "7"] {
        for by in ["+", "-"] {
            for (width, height) in [(60, 15), (80, 24), (200, 60)] {
                let mut model = model(width, height, PLAIN);
                type_keys(&mut model, &data, &format!("{keys}{}", by.repeat(60)));
                drawn_text(&model);
            }
        }
    }
    let rows = |keys: &str| typed(&data, keys).screens.timeline.window.len();
    assert!(rows("3+") < rows("3") && rows("3-") > rows("3+"));
}

#[test]
fn following_ends_the_pause() {
    let data = story();
    let mut model = typed(&data, "3k ");
    assert!(model.common.paused.is_some() && !model.screens.timeline.is_following);
    type_keys(&mut model, &data, "f");
    assert!(model.common.paused.is_none() && model.screens.timeline.is_following);
}

#[test]
fn marks_the_selected_or_newest_message() {
    let data = story();
    let mut model = typed(&data, "");
    assert_eq!(type_keys(&mut model, &data, "ma"), [Effect::SaveMarks]);
    assert_eq!(model.marks.get(&'a').map(|marked| marked.n), Some(Seq(498)));
    type_keys(&mut model, &data, "3kmb");
    assert_eq!(model.marks.get(&'b').map(|marked| marked.n), Some(Seq(497)), "there the chosen one");
}

#[test]
fn starts_and_ends_a_named_recording() {
    let data = story();
    let mut model = typed(&data, "");
    let name = Effect::Record(Some("reviews.xdsrec".to_owned()));
    assert_eq!(type_keys(&mut model, &data, "rreviews.xdsrec<enter>"), [name]);
    assert_eq!(type_keys(&mut model, &data, "r<enter>"), [], "without a name nothing begins");
    assert_eq!(type_keys(&mut model, &data, "rab<esc>"), []);
    model.common.info.named = Some("reviews.xdsrec".to_owned());
    assert!(text(&drawn(&model)).contains("reviews.xdsrec (r ends)"));
    assert_eq!(type_keys(&mut model, &data, "r"), [Effect::Record(None)]);
    (model.common.info.named, model.common.info.recording) = (None, None);
    assert_eq!(type_keys(&mut model, &data, "r"), []);
    assert!(model.common.notice.is_some_and(|why| why.contains("--no-record")));
}

#[test]
fn help_lists_screens_and_unavailable_keys() {
    let data = story();
    let help = |client| {
        let mut model = model(100, 120, PLAIN);
        model.common.info.client = client;
        type_keys(&mut model, &data, "?");
        text(&drawn(&model))
    };
    let tapped = help(false);
    assert!(tapped.contains("Not available now") && tapped.contains("R!"), "{tapped}");
    assert!(tapped.contains("Where to look") && tapped.contains("stuck in warming"), "{tapped}");
    assert!(help(true).contains("On the wire") && !help(true).contains("Not available now"));
}

#[test]
fn keys_in_one_batch_act_like_single_keys() {
    let data = story();
    for typed in
        ["/edge<enter>", "/edge<esc>j", ":timeline<enter>k", "jj<enter>j", "/state:nack<enter>j<enter>"]
    {
        let one = screen(&data, typed, 100, 30);
        let mut model = model(100, 30, PLAIN);
        update(&mut model, Msg::Changed, &data);
        update_all(&mut model, keys(typed).into_iter().map(Msg::Key).collect(), &data);
        while search(&mut model, &data) {}
        update(&mut model, Msg::Changed, &data);
        assert_eq!(drawn_text(&model), one, "{typed}");
    }
}
