//! Prompts: what is typed is checked and searched for with each character.

pub(super) mod filter_prompt;
pub(super) mod find;
use crate::data::Data;
use crate::input::command::Command;

use super::effect::Effect;
use super::model::{Model, recall, remember};
use super::overlay::Overlay;
use super::palette;
use crate::shell::commands::client_action;

/// Bytes of the input of a prompt.
const MAX_INPUT_BYTES: usize = 1000;

/// Adds a character to the input.
pub(super) fn type_char(model: &mut Model, c: char, data: &dyn Data) {
    if let Some(input) = input(model)
        && input.len() < MAX_INPUT_BYTES
    {
        input.push(c);
    }
    check(model, data);
}

/// Returns the text that the open prompt edits.
fn input(model: &mut Model) -> Option<&mut String> {
    match model.overlays.last_mut() {
        Some(Overlay::Filter(prompt)) => Some(&mut prompt.input),
        Some(
            Overlay::Palette { input, .. }
            | Overlay::Find { input, .. }
            | Overlay::Record { input }
            | Overlay::ClientPrompt { input, .. },
        ) => Some(input),
        _ => None,
    }
}

/// Checks the input again, and searches for it.
fn check(model: &mut Model, data: &dyn Data) {
    match model.overlays.last_mut() {
        Some(Overlay::ClientPrompt { error, .. }) => *error = None,
        Some(Overlay::Palette { input, chosen, search, .. }) => {
            *chosen = 0;
            search.start(input, data);
        }
        Some(Overlay::Filter(_)) => filter_prompt::check(model, data),
        Some(Overlay::Find { .. }) => find::typed(model),
        _ => {}
    }
}

/// Runs a command of a prompt.
pub(super) fn edit(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    match command {
        Command::Cancel => match model.overlays.last() {
            Some(Overlay::Filter(_)) => filter_prompt::cancel(model),
            Some(Overlay::Find { .. }) => find::cancel(model),
            _ => drop(model.overlays.pop()),
        },
        Command::Erase => {
            let empty = input(model).is_none_or(|input| input.pop().is_none());
            if empty {
                return edit(model, Command::Cancel, data);
            }
            check(model, data);
        }
        Command::EraseAll => {
            if let Some(input) = input(model) {
                input.clear();
            }
            check(model, data);
        }
        Command::Up => step(model, -1, data),
        Command::Down => step(model, 1, data),
        Command::Complete if matches!(model.overlays.last(), Some(Overlay::Filter(_))) => {
            filter_prompt::complete(model, data);
        }
        Command::Complete => {
            let name = palette::chosen_name(model, data);
            if let (Some(name), Some(input)) = (name, input(model)) {
                *input = name;
            }
            check(model, data);
        }
        Command::Accept => return accept(model, data),
        _ => {}
    }
    vec![]
}

/// Moves in the list or in the history of a prompt.
fn step(model: &mut Model, by: isize, data: &dyn Data) {
    match model.overlays.last() {
        Some(Overlay::Filter(_)) => filter_prompt::recall(model, by, data),
        Some(Overlay::Find { .. }) => recall_search(model, by),
        Some(Overlay::Palette { .. }) => palette::step(model, by, data),
        _ => {}
    }
}

/// Recalls an older or a newer search.
fn recall_search(model: &mut Model, by: isize) {
    let Some(Overlay::Find { input, recalled, .. }) = model.overlays.last_mut() else { return };
    if !recall(&model.searches, input, recalled, by) {
        return model.say("no older search");
    }
    find::typed(model);
}

/// Applies what was typed, and closes the prompt.
fn accept(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    match model.overlays.last() {
        Some(Overlay::Palette { .. }) => return palette::accept(model, data),
        Some(Overlay::Record { input }) => {
            let name = input.trim().to_owned();
            model.overlays.pop();
            if !name.is_empty() {
                return vec![Effect::Record(Some(name))];
            }
        }
        Some(Overlay::Find { input, .. }) if input.is_empty() => find::cancel(model),
        Some(Overlay::Find { input, .. }) => {
            let text = input.clone();
            // Says again which match is shown.
            find::typed(model);
            model.overlays.pop();
            remember(&mut model.searches, &text);
        }
        Some(Overlay::Filter(_)) => filter_prompt::accept(model, data),
        Some(Overlay::ClientPrompt { .. }) => client_action::accept(model),
        _ => drop(model.overlays.pop()),
    }
    vec![]
}
