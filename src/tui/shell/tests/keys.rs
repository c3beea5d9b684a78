//! Keys that act on every screen.

use crate::data::Info;
use crate::shell::effect::{Effect, Msg};
use crate::shell::settle::search;
use crate::shell::update::{update, update_all};
use crate::tests::script::ScriptedStore;
use crate::tests::story::{at, info, story};
use crate::tests::{PLAIN, drawn_text, keys, model, screen, type_keys, typed};
use xdscope_wire::event::Seq;

use super::places::{PROBLEMS, bar, replayed};

#[test]
fn paused_screen_does_not_change() {
    let mut data = story();
    let mut model = typed(&data, "3<esc> ");
    let before = drawn_text(&model);
    assert!(before.contains("PAUSED"));
    data.now = at("14:09:00");
    data.problems.clear();
    data.rows.truncate(3);
    update(&mut model, Msg::Changed, &data);
    assert_eq!(drawn_text(&model), before);
    type_keys(&mut model, &data, " ");
    assert!(drawn_text(&model).contains("14:09:00"));
}

#[test]
fn quitting_asks_while_streams_of_clients_are_open() {
    let data = story();
    let mut model = typed(&data, "");
    assert_eq!(type_keys(&mut model, &data, "q"), [Effect::Quit]);
    model.common.info.streams = 3;
    assert_eq!(type_keys(&mut model, &data, "q"), []);
    assert!(drawn_text(&model).contains("3 streams of clients"));
    assert_eq!(type_keys(&mut model, &data, "<enter>q"), [], "neither Enter nor the key that asked");
    assert_eq!(type_keys(&mut model, &data, "y"), [Effect::Quit]);
    let mut model = typed(&data, "");
    model.common.info.streams = 3;
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
fn footer_keys_have_an_effect() {
    let data = story();
    for screen_keys in ["", "2", "3"] {
        let before = typed(&data, screen_keys);
        for context in before.contexts() {
            for binding in before.keys.bindings(context).filter(|binding| binding.footer) {
                let key = match binding.key {
                    "Enter" => "<enter>".to_owned(),
                    "Tab" => "<tab>".to_owned(),
                    "Space" => " ".to_owned(),
                    key => key.to_owned(),
                };
                let mut model = before.clone();
                let effects = type_keys(&mut model, &data, &key);
                let changed =
                    drawn_text(&model) != drawn_text(&before) || model.common.pane != before.common.pane;
                assert!(changed || !effects.is_empty(), "{screen_keys} {key}");
            }
        }
    }
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
    assert!(drawn_text(&model).contains("reviews.xdsrec (r ends)"));
    assert_eq!(type_keys(&mut model, &data, "r"), [Effect::Record(None)]);
    (model.common.info.named, model.common.info.recording) = (None, None);
    assert_eq!(type_keys(&mut model, &data, "r"), []);
    assert!(model.common.notice.is_some_and(|why| why.contains("--no-record")));
}

/// The keys of the screen come before those of time, and no key is shown that cannot work.
#[test]
fn footer_of_a_replay_shows_the_keys_of_the_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    for screen in ["1", "2", "3", "4", "5", "7", "8", "9"] {
        for (width, height) in [(80, 24), (100, 30), (200, 60)] {
            let mut model = model(width, height, PLAIN);
            model.common.info = Info { bar: Some(bar()), ..info() };
            type_keys(&mut model, &source.data(), screen);
            let footer = drawn_text(&model).lines().last().unwrap_or_default().to_owned();
            let at = |key: &str| footer.find(key).unwrap_or_else(|| panic!("{screen}: no {key} in {footer}"));
            let places = [" Enter ", " } ", " / ", " : ", " ? ", " q "].map(at);
            assert!(places.is_sorted(), "{screen}: {footer}");
            assert!(!footer.contains(" r record"), "{screen}: {footer}");
            assert!(footer.find(" Space ").is_none_or(|time| time > places[5]), "{screen}: {footer}");
        }
    }
}

#[test]
fn footer_leaves_out_keys_without_a_target() {
    let source = ScriptedStore::new(PROBLEMS);
    let mut model = typed(&source.data(), ":flapping<enter>6");
    let shown = drawn_text(&model);
    let footer = shown.lines().last().unwrap_or_default();
    assert!(!footer.contains("Enter open") && !footer.contains("d diff"), "{footer}");
    assert!(footer.contains("Enter all refusals"), "{footer}");
    assert!(shown.contains("1 refusal elsewhere: Enter shows all, the newest is"), "{shown}");
    assert!(shown.contains("edge-gw-1 CDS 42 at "), "{shown}");
    type_keys(&mut model, &source.data(), "<enter>");
    let footer = drawn_text(&model).lines().last().unwrap_or_default().to_owned();
    assert!(footer.contains("Enter open") && footer.contains("d diff"), "{footer}");
}

#[test]
fn keys_of_other_screens_say_where_they_work() {
    let source = ScriptedStore::new(PROBLEMS);
    for (keys, says) in [
        ("2D", "D (diff marked) works on screens 1, 3 and 4"),
        ("7d", "d (diff) works on screens 1, 2, 3, 4, 6 and 0"),
        ("1v", "v (format) works on screens 3 and 4"),
        ("3x", "x (explain) works on screen 9"),
    ] {
        let model = typed(&source.data(), keys);
        assert_eq!(model.common.notice.as_deref(), Some(says), "{keys}");
    }
}

#[test]
fn time_from_the_start_is_said() {
    let source = ScriptedStore::new(PROBLEMS);
    let model = replayed(&source, ":goto +30s<enter>");
    assert_eq!(model.common.notice.as_deref(), Some("+30s from the start of the recording"));
}
