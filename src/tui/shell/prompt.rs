//! Prompts: the palette, and the filter, which is checked while it is typed.

use crate::tui::data::{AppliedFilter, Data};
use crate::tui::input::command::Command;

use super::effect::Effect;
use super::model::Model;
use super::overlay::Overlay;
use super::palette::candidates;
use super::{client_action, commands, compare, find, goto};

/// Bytes of the input of a prompt.
const MAX_INPUT_BYTES: usize = 1000;
/// Commands that the history remembers.
const MAX_HISTORY: usize = 50;

/// Adds a character to the input.
pub(super) fn type_char(model: &mut Model, c: char, data: &dyn Data) {
    if let Some(input) = input(model)
        && input.len() < MAX_INPUT_BYTES
    {
        input.push(c);
    }
    check(model, data);
}

fn input(model: &mut Model) -> Option<&mut String> {
    match model.overlays.last_mut() {
        Some(
            Overlay::Palette { input, .. }
            | Overlay::Filter { input, .. }
            | Overlay::Find { input }
            | Overlay::Record { input }
            | Overlay::ClientPrompt { input, .. },
        ) => Some(input),
        _ => None,
    }
}

/// Checks the input again. While a filter is wrong, the last good one stays in force.
fn check(model: &mut Model, data: &dyn Data) {
    match model.overlays.last_mut() {
        Some(Overlay::ClientPrompt { error, .. }) => *error = None,
        Some(Overlay::Palette { chosen, .. }) => *chosen = 0,
        Some(Overlay::Filter { input, error, .. }) => match data.read_filter(input) {
            Ok(filter) => {
                *error = None;
                let text = input.trim().to_owned();
                model.common.filter = (!text.is_empty()).then_some(AppliedFilter { text, filter });
            }
            Err(why) => *error = Some(why),
        },
        _ => {}
    }
}

/// Runs a command of a prompt.
pub(super) fn edit(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    match command {
        Command::Cancel => {
            if let Some(Overlay::Filter { before, .. }) = model.overlays.pop() {
                model.common.filter = before;
            }
        }
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
        Command::Up => choose(model, -1),
        Command::Down => choose(model, 1),
        Command::Complete => {
            let name = chosen(model).map(Command::name);
            if let (Some(name), Some(input)) = (name, input(model)) {
                name.clone_into(input);
            }
            check(model, data);
        }
        Command::Accept => return accept(model, data),
        _ => {}
    }
    vec![]
}

fn accept(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    match model.overlays.last() {
        Some(Overlay::Filter { error: Some(error), .. }) => {
            let why = format!("not a filter: {error}; Esc returns to the one before");
            model.say(why);
            vec![]
        }
        Some(Overlay::ClientPrompt { .. }) => {
            client_action::accept(model);
            vec![]
        }
        Some(Overlay::Record { input }) => {
            let name = input.trim().to_owned();
            model.overlays.pop();
            if name.is_empty() { vec![] } else { vec![Effect::Record(Some(name))] }
        }
        Some(Overlay::Find { input }) => {
            let text = input.clone();
            model.overlays.pop();
            find::start(model, text);
            vec![]
        }
        Some(Overlay::Palette { .. }) => run_palette(model, data),
        _ => {
            model.overlays.pop();
            vec![]
        }
    }
}

/// Runs the line of the palette: a command with an argument, else the selected command.
fn run_palette(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    let command = chosen(model);
    let Some(Overlay::Palette { input, .. }) = model.overlays.pop() else { return vec![] };
    let input = input.trim();
    let (word, argument) = input.split_once(' ').unwrap_or((input, ""));
    match (word, command) {
        ("goto", _) => {
            remember(model, input);
            return goto::goto(model, data, argument);
        }
        ("diff", _) if !argument.is_empty() => compare::diff_named(model, data, argument),
        ("filter", _) if !argument.is_empty() => match data.read_filter(argument) {
            Ok(filter) => {
                let text = argument.trim().to_owned();
                model.common.filter = Some(AppliedFilter { text, filter });
            }
            Err(why) => model.say(format!("not a filter: {why}")),
        },
        (_, Some(command)) => {
            remember(model, command.name());
            return commands::run(model, command, data);
        }
        (_, None) => model.say(format!("unknown command {input}")),
    }
    remember(model, input);
    vec![]
}

fn remember(model: &mut Model, line: &str) {
    model.history.retain(|known| known != line);
    model.history.push(line.to_owned());
    if model.history.len() > MAX_HISTORY {
        model.history.remove(0);
    }
}

/// Moves in the list of commands. Up from the first one recalls the history.
fn choose(model: &mut Model, by: isize) {
    let Some(Overlay::Palette { input, chosen, recalled }) = model.overlays.last_mut() else { return };
    let found = candidates(input).len();
    if by < 0 && *chosen == 0 {
        let at = recalled.unwrap_or(model.history.len());
        if let Some(line) = at.checked_sub(1).and_then(|at| Some((at, model.history.get(at)?))) {
            *recalled = Some(line.0);
            input.clone_from(line.1);
        }
        return;
    }
    *chosen = chosen.saturating_add_signed(by).min(found.saturating_sub(1));
}

fn chosen(model: &Model) -> Option<Command> {
    match model.overlays.last() {
        Some(Overlay::Palette { input, chosen, .. }) => candidates(input).get(*chosen).copied(),
        _ => None,
    }
}
