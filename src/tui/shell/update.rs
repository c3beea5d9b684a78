//! Takes messages into the model. Nothing here draws.

use crossterm::event::{KeyEvent, KeyModifiers};

use crate::data::{Data, Info};
use crate::input::command::Command;
use crate::input::context::Context;
use crate::input::keymap::{self, Binding};
use crate::input::screen_id::ScreenId;

use super::effect::{Effect, Msg};
use super::model::Model;
use super::overlay::Overlay;
use super::settle::settle;
use super::{commands, prompt};
use crate::shell::commands::{columns, mouse, replay};

/// Takes in a message. The model is ready to be drawn afterwards.
pub fn update(model: &mut Model, msg: Msg, data: &dyn Data) -> Vec<Effect> {
    update_all(model, vec![msg], data)
}

/// Takes in messages that arrived together.
pub(crate) fn update_all(model: &mut Model, messages: Vec<Msg>, data: &dyn Data) -> Vec<Effect> {
    let mut effects = Vec::new();
    model.common.refresh.has_key =
        messages.iter().any(|message| matches!(message, Msg::Key(_) | Msg::Mouse(_)));
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        effects.extend(take_in(model, message, data));
        // The next character of a prompt needs nothing that is derived.
        let is_typing = model.overlays.last().is_some_and(Overlay::is_prompt);
        if !is_typing || messages.peek().is_none() {
            settle(model, data);
        }
    }
    effects
}

/// Handles a message: a key, the mouse, a new size or new data.
fn take_in(model: &mut Model, msg: Msg, data: &dyn Data) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => press(model, key, data),
        Msg::Mouse(event) => mouse::take_in(model, event, data),
        Msg::Resize(width, height) => {
            model.common.size = (width, height);
            // Also at the old size: the terminal may have moved its lines meanwhile.
            vec![Effect::Redraw]
        }
        Msg::Changed => vec![],
        Msg::Info(info) => {
            take_info(model, *info);
            vec![]
        }
        Msg::Notice(text) => {
            model.say(text);
            vec![]
        }
        Msg::Paste(text) => {
            if model.overlays.last().is_some_and(Overlay::is_prompt) {
                for c in text.chars().filter(|c| !c.is_control()) {
                    prompt::type_char(model, c, data);
                }
            }
            vec![]
        }
        Msg::Suspend => vec![Effect::Suspend],
        Msg::Stop => vec![Effect::Quit],
    }
}

/// Takes in the state of the source. Drops what was loaded if the time cursor went back.
fn take_info(model: &mut Model, info: Info) {
    let before = &model.common.info;
    if info.notice.is_some() && info.notice != before.notice {
        // A notice from before the first facts is kept.
        let is_first = before.source.is_empty();
        model.common.notice = match (model.common.notice.take(), info.notice.clone()) {
            (Some(before), Some(notice)) if is_first => Some(format!("{notice}; {before}")),
            (_, notice) => notice,
        };
    }
    let turn = |info: &Info| info.bar.as_ref().map(|bar| bar.turn);
    let rewound = |info: &Info| info.bar.as_ref().map(|bar| bar.rewound);
    let is_other_source = rewound(&info) != rewound(&model.common.info);
    if is_other_source || turn(&info) != turn(&model.common.info) {
        model.forget();
    }
    // A live source that is rewound is read from its session file.
    if is_other_source {
        model.screens.graph.forget_contents();
    }
    model.common.info = info;
}

/// Runs the command of a key: in a prompt, in an overlay or on the screen.
fn press(model: &mut Model, key: KeyEvent, data: &dyn Data) -> Vec<Effect> {
    let Some(name) = keymap::name(key) else { return vec![] };
    model.common.notice = None;
    let is_typing = model.overlays.last().is_some_and(Overlay::is_prompt);
    match model.keys.lookup(&model.contexts(), &name) {
        Some(command @ (Command::Suspend | Command::Redraw)) => commands::run(model, command, data),
        Some(command) if is_typing => prompt::edit(model, command, data),
        Some(command) => commands::run(model, command, data),
        None => press_unbound(model, key, &name, data),
    }
}

/// Takes in a key without a command: a character of a prompt, the letter of a mark, an entry of a
/// menu.
fn press_unbound(model: &mut Model, key: KeyEvent, name: &str, data: &dyn Data) -> Vec<Effect> {
    let letter = key.code.as_char();
    match model.overlays.last() {
        None => say_where_it_works(model, name),
        Some(overlay) if overlay.is_prompt() => {
            if let Some(letter) = letter
                && !key.modifiers.contains(KeyModifiers::CONTROL)
            {
                prompt::type_char(model, letter, data);
            }
        }
        Some(Overlay::SetMark | Overlay::GoToMark) => {
            let is_setting = matches!(model.overlays.pop(), Some(Overlay::SetMark));
            match letter.filter(char::is_ascii_alphanumeric) {
                Some(letter) if is_setting => return replay::set_mark(model, data, letter),
                Some(letter) => return replay::go_to_mark(model, data, letter),
                None => {}
            }
        }
        // An unknown key after a prefix drops the prefix.
        Some(Overlay::Sort { .. } | Overlay::Columns { .. }) => {
            if !letter.is_some_and(|letter| columns::accept_key(model, letter)) {
                model.overlays.pop();
            }
        }
        Some(Overlay::Copy) => drop(model.overlays.pop()),
        Some(_) => {}
    }
    vec![]
}

/// Says on which screens a key works that does nothing here. Keys without a command do nothing.
fn say_where_it_works(model: &mut Model, key: &str) {
    let screens = ScreenId::ALL.into_iter().map(Context::Screen);
    let bound: Vec<&Binding> =
        screens.flat_map(|screen| model.keys.bindings(screen)).filter(|binding| binding.key == key).collect();
    if let Some(first) = bound.first()
        && let Some(screens) = Context::screens(bound.iter().map(|binding| binding.context))
    {
        model.common.say(format!("{key} ({}) works on {screens}", first.command.label()));
    }
}
