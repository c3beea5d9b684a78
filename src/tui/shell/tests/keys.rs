//! Keys that act on every screen.

use crate::tui::shell::effect::{Effect, Msg};
use crate::tui::shell::settle::search;
use crate::tui::shell::update::{update, update_all};
use crate::tui::tests::story::{at, story};
use crate::tui::tests::{PLAIN, drawn_text, keys, model, screen, type_keys, typed};
use crate::wire::event::Seq;

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
fn quitting_asks_while_clients_are_connected() {
    let data = story();
    let mut model = typed(&data, "");
    assert_eq!(type_keys(&mut model, &data, "q"), [Effect::Quit]);
    model.common.info.clients = 3;
    assert_eq!(type_keys(&mut model, &data, "q"), []);
    assert!(drawn_text(&model).contains("3 clients"));
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
