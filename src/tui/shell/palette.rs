//! Commands of the palette behind `:`.

pub(super) mod lines;
pub(super) mod name_search;
use crate::data::{AppliedFilter, Data};
use crate::input::screen_id::ScreenId;
use crate::screens::screen::{Destination, ResourcePlace};
use xdscope_engine::filter::FilterTime;
use xdscope_present::text::shell_word;
use xdscope_wire::event::TypeUrl;
use xdscope_wire::text::type_label;

use super::effect::Effect;
use super::model::{Model, remember};
use super::overlay::Overlay;
use super::{commands, holders};
use crate::shell::commands::navigation::{go, open, open_problem, return_point};
use crate::shell::commands::{compare, goto, hold};
use lines::{ARGUMENT_COMMANDS, Candidate, LineTarget};
use name_search::{NameSearch, Place};

/// Resource names that are searched to the end when a line is run before its search has ended.
const MAX_NAMES_AT_ONCE: usize = 20_000;

/// Moves in the list. Up from the first line recalls the history.
pub(super) fn step(model: &mut Model, by: isize, data: &dyn Data) {
    let Some(Overlay::Palette { input, chosen, recalled, search }) = model.overlays.last_mut() else {
        return;
    };
    if by < 0 && *chosen == 0 {
        let at = recalled.unwrap_or(model.history.len());
        if let Some((at, line)) = at.checked_sub(1).and_then(|at| Some((at, model.history.get(at)?))) {
            *recalled = Some(at);
            input.clone_from(line);
            *chosen = 0;
            search.start(input, data);
        }
        return;
    }
    *chosen = chosen.saturating_add_signed(by).min(search.candidates.len().saturating_sub(1));
}

/// Chooses a line.
pub(super) fn choose(model: &mut Model, at: usize) {
    if let Some(Overlay::Palette { chosen, .. }) = model.overlays.last_mut() {
        *chosen = at;
    }
}

/// Searches more names before a line is used, so that the lines are those of the input.
fn finish_search(model: &mut Model, data: &dyn Data) {
    let mut searched = 0;
    if let Some(Overlay::Palette { input, chosen, search, .. }) = model.overlays.last_mut() {
        while search.is_searching() && searched < MAX_NAMES_AT_ONCE {
            searched += NameSearch::NAMES_PER_STEP;
            search.step(input, chosen, data);
        }
    }
}

/// The name of the chosen line.
pub(super) fn chosen_name(model: &mut Model, data: &dyn Data) -> Option<String> {
    finish_search(model, data);
    match model.overlays.last() {
        Some(Overlay::Palette { chosen, search, .. }) => {
            search.candidates.get(*chosen).map(|line| line.name.clone())
        }
        _ => None,
    }
}

/// Runs the line of the palette: a command with an argument, else the chosen line.
pub(super) fn accept(model: &mut Model, data: &dyn Data) -> Vec<Effect> {
    finish_search(model, data);
    let Some(Overlay::Palette { input, chosen, search, .. }) = model.overlays.pop() else { return vec![] };
    let line = search.candidates.into_iter().nth(chosen);
    let input = input.trim();
    let (word, argument) = input.split_once(' ').unwrap_or((input, ""));
    let is_moment = input.starts_with('#') || (line.is_none() && FilterTime::parse(input).is_some());
    let unfinished = ARGUMENT_COMMANDS.iter().find(|command| command.word == word && argument.is_empty());
    match (word, line) {
        _ if is_moment => {
            remember(&mut model.history, input);
            return goto::goto(model, data, input);
        }
        ("hold", _) if argument == "stream" => {
            remember(&mut model.history, input);
            return hold::hold_client(model, data);
        }
        ("goto" | "set", _) if let Some(command) = unfinished => {
            return model.decline(format!("{}: type {} {}", command.doc, command.word, command.example));
        }
        ("goto", _) => {
            remember(&mut model.history, input);
            return goto::goto(model, data, argument);
        }
        ("set", _) if !argument.is_empty() => {
            remember(&mut model.history, input);
            return set(model, argument);
        }
        ("diff", _) if !argument.is_empty() => compare::diff_named(model, data, argument),
        ("filter", _) if !argument.is_empty() => set_filter(model, data, argument),
        (_, Some(Candidate { target: LineTarget::Command(command), .. })) => {
            remember(&mut model.history, command.name());
            return commands::run(model, command, data);
        }
        (_, Some(Candidate { target: LineTarget::Place(place), name, .. })) => {
            remember(&mut model.history, &name);
            return open_place(model, data, place);
        }
        (_, None) => {
            return model
                .decline(format!("no command, node, type, resource, rule or problem matches {input}"));
        }
    }
    remember(&mut model.history, input);
    vec![]
}

/// Applies a filter, or says what is wrong with it.
fn set_filter(model: &mut Model, data: &dyn Data, text: &str) {
    match data.read_filter(text) {
        Ok(filter) => {
            let text = text.trim().to_owned();
            model.common.filter = Some(AppliedFilter { text, filter });
        }
        Err(why) => model.say(format!("not a filter: {why}")),
    }
}

/// Changes a setting of the screens.
fn set(model: &mut Model, argument: &str) -> Vec<Effect> {
    let words: Vec<&str> = argument.split_whitespace().collect();
    match words.as_slice() {
        ["mouse", "on"] => vec![Effect::Mouse(true)],
        ["mouse", "off"] => vec![Effect::Mouse(false)],
        ["theme", name] => {
            match model.palettes.iter().find(|(known, _)| known == name) {
                Some((_, palette)) => model.common.theme.palette = *palette,
                None => {
                    let known = model.palettes.iter().map(|(name, _)| name.as_str());
                    let known = known.collect::<Vec<_>>().join(", ");
                    model.say(format!("unknown theme {name}; type set theme and one of {known}"));
                }
            }
            vec![]
        }
        _ => {
            let known = "set mouse on, set mouse off or set theme dark";
            model.decline(format!("unknown setting {argument}; type {known}"))
        }
    }
}

/// Goes to a place that was found by its name.
fn open_place(model: &mut Model, data: &dyn Data, place: Place) -> Vec<Effect> {
    let from = return_point(model);
    match place {
        Place::Node { stream, .. } => open(model, Destination::Stream { stream, type_url: None }, from, data),
        Place::Resource { stream, type_url, name } => {
            // A filter could hide the resource.
            model.common.filter = None;
            let resource = ResourcePlace { stream, type_url, name };
            open(model, Destination::Resource(resource.clone()), from, data);
            holders::say_owner(model, data, &resource);
        }
        Place::Type { stream, type_url } => {
            model.common.scope.type_url = None;
            model.common.scope.stream = Some(stream);
            model.screens.resources.go_to(&type_url, None);
            go(model, ScreenId::Resources, data);
            model.say(format!("{} of stream #{}", type_label(type_url.as_str()), stream.0));
        }
        Place::Rule(id) => filtered(model, data, ScreenId::Lint, &format!("rule:{id}")),
        Place::State(state) => filtered(model, data, ScreenId::Overview, &format!("state:{}", state.word())),
        Place::Field { type_url, path } => {
            let stream = model.common.current_stream.or(model.common.scope.stream);
            filtered(model, data, ScreenId::Resources, &format!("has:{path}"));
            model.common.scope.stream = stream.or(model.common.scope.stream);
            model.screens.resources.go_to(&TypeUrl::from(type_url.as_str()), None);
            let message = type_url.rsplit('/').next().unwrap_or(&type_url);
            model.screens.resources.document(format!("{message}.{path}"));
        }
        Place::Problem { destination, words, .. } => {
            open_problem(model, *destination, from, data);
            model.say(words);
        }
        Place::Session(name) => {
            let line = format!("xdscope replay {}", shell_word(&name));
            model.say(format!("to open it: {line}"));
            return vec![Effect::Copy(line)];
        }
    }
    vec![]
}

/// Opens a screen with a filter, over all streams and types.
fn filtered(model: &mut Model, data: &dyn Data, screen: ScreenId, filter: &str) {
    go(model, screen, data);
    model.common.scope = Default::default();
    set_filter(model, data, filter);
}
