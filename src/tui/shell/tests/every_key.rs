//! Every key of every screen does something, or says why not.

use std::collections::HashSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::common::Pane;
use crate::input::command::Command;
use crate::input::context::Context;
use crate::input::rebind::Keymap;
use crate::input::screen_id::ScreenId;
use crate::shell::effect::Msg;
use crate::shell::model::Model;
use crate::shell::update::update;
use crate::tests::script::ScriptedStore;
use crate::tests::{PLAIN, drawn_text, model, type_keys, typed};

use super::places::{PROBLEMS, replayed};

const SCREENS: [&str; 10] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

/// A key as the harness types it.
pub(super) fn harness_key(key: &str) -> String {
    match key {
        "Enter" => "<enter>".to_owned(),
        "Esc" => "<esc>".to_owned(),
        "Tab" => "<tab>".to_owned(),
        "Shift-Tab" => "<backtab>".to_owned(),
        "Space" => " ".to_owned(),
        "Backspace" => "<back>".to_owned(),
        "Up" | "Down" | "Left" | "Right" | "Home" | "End" | "PgUp" | "PgDn" => {
            format!("<{}>", key.to_lowercase())
        }
        "^" => "<caret>".to_owned(),
        "<" => "<lt>".to_owned(),
        key => key.to_owned(),
    }
}

/// Commands that may leave a screen as it is: movements at an end, panes without another one or of
/// the largest size, and Esc at the top.
fn may_change_nothing(command: Command) -> bool {
    use Command::*;
    matches!(
        command,
        Up | Down
            | First
            | Last
            | HalfDown
            | HalfUp
            | PageDown
            | PageUp
            | Left
            | Right
            | NextPane
            | PreviousPane
            | NextMatch
            | PreviousMatch
            | AllTypes
            | AllStreams
            | Redraw
            | Follow
            | Grow
            | Shrink
    ) || ScreenId::ALL.iter().any(|screen| screen.command() == command)
}

fn assert_keys_answer(source: &ScriptedStore, before: &Model, screen: &str) {
    let mut named = HashSet::new();
    for context in before.contexts() {
        for binding in before.keys.bindings(context) {
            if !named.insert(binding.key) || may_change_nothing(binding.command) {
                continue;
            }
            let mut model = before.clone();
            let effects = type_keys(&mut model, &source.data(), &harness_key(binding.key));
            let has_changed = drawn_text(&model) != drawn_text(before)
                || model.common.pane != before.common.pane
                || model.screens.resources.focus != before.screens.resources.focus;
            assert!(
                has_changed || !effects.is_empty(),
                "{} ({}) on {screen} does nothing, and does not say why\n{}",
                binding.key,
                binding.command.name(),
                drawn_text(&model)
            );
        }
    }
}

#[test]
fn every_key_acts_or_says_why_not() {
    let source = ScriptedStore::new(PROBLEMS);
    for screen in SCREENS {
        assert_keys_answer(&source, &typed(&source.data(), screen), screen);
        assert_keys_answer(&source, &replayed(&source, screen), &format!("{screen} replayed"));
    }
}

#[test]
fn footer_keys_act_on_every_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    for screen in SCREENS {
        for before in [typed(&source.data(), screen), replayed(&source, screen)] {
            let footer = drawn_text(&before).lines().last().expect("a footer").to_owned();
            for context in before.contexts() {
                for binding in before.keys.bindings(context).filter(|binding| binding.footer) {
                    let is_shown = footer.contains(&format!(" {} ", binding.key));
                    if !is_shown || binding.command == Command::NextPane {
                        continue;
                    }
                    let mut model = before.clone();
                    let effects = type_keys(&mut model, &source.data(), &harness_key(binding.key));
                    let has_changed =
                        drawn_text(&model) != drawn_text(&before) || model.common.pane != before.common.pane;
                    assert!(has_changed || !effects.is_empty(), "{} on {screen}\n{footer}", binding.key);
                }
            }
        }
    }
}

#[test]
fn unbound_keys_do_nothing() {
    let source = ScriptedStore::new(PROBLEMS);
    for screen in SCREENS {
        let before = typed(&source.data(), screen);
        let bound: HashSet<&str> = before
            .contexts()
            .iter()
            .flat_map(|context| before.keys.bindings(*context))
            .map(|b| b.key)
            .collect();
        for c in (b'!'..=b'~').map(char::from).filter(|c| !bound.contains(c.to_string().as_str())) {
            let mut model = before.clone();
            let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            assert_eq!(update(&mut model, Msg::Key(key), &source.data()), [], "{c}");
            // A key of other screens says where it works.
            let screens = ScreenId::ALL.map(Context::Screen);
            let is_bound = before.keys.lookup(&screens, &c.to_string()).is_some();
            let notice = model.common.notice.take();
            assert_eq!(notice.is_some(), is_bound, "{c} on {screen}: {notice:?}");
            assert!(notice.is_none_or(|notice| notice.contains(" works on screen")), "{c} on {screen}");
            assert_eq!(drawn_text(&model), drawn_text(&before), "{c} on {screen}");
        }
    }
}

#[test]
fn help_has_every_key_of_the_screen() {
    let source = ScriptedStore::new(PROBLEMS);
    let keymap = Keymap::default();
    for screen in SCREENS {
        let mut model = model(200, 200, PLAIN);
        type_keys(&mut model, &source.data(), screen);
        let contexts = model.contexts();
        type_keys(&mut model, &source.data(), "?");
        let shown = drawn_text(&model);
        for binding in contexts.iter().flat_map(|context| keymap.bindings(*context)) {
            let key = crate::input::keymap::shown_key(binding.key, model.common.theme.glyphs());
            let doc: String = binding.command.doc().chars().take(30).collect();
            let is_listed = shown.lines().any(|line| line.contains(&doc) && line.contains(key));
            assert!(is_listed, "{} {doc} is not in the help of {screen}\n{shown}", binding.key);
        }
        assert!(Context::all().any(|context| context == contexts[0]));
        assert_eq!(model.common.pane, Pane::Main);
    }
}
