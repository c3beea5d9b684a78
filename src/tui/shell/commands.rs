//! Runs commands: those of the screen first, then those of the shell.

pub(crate) mod client_action;
pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod goto;
pub(crate) mod hold;
pub(crate) mod mouse;
pub(crate) mod navigation;
pub(crate) mod replay;
use crate::common::{Pane, Paused};
use crate::data::Data;
use crate::input::command::Command;
use crate::input::context::Context;
use crate::input::keymap::BINDINGS;
use crate::input::screen_id::ScreenId;
use crate::lists::Sort;
use crate::screens::screen::{Outcome, Screen, movement};

use super::effect::Effect;
use super::model::Model;
use super::overlay::Overlay;
use super::view::help;
use super::{holders, tour};
use crate::shell::palette::lines::PaletteSearch;
use crate::shell::prompt::{filter_prompt, find};
use navigation::{back, go, open, open_next_problem, open_problem, return_point};

/// Rows or columns by which a pane is resized.
const RESIZE_STEP: i16 = 2;
/// Rows or columns by which a pane can be resized in all.
const MAX_RESIZE: i16 = 200;

/// Runs a command.
pub(super) fn run(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    if find_command(model, command) || columns::run(model, command) {
        return vec![];
    }
    if let Some(Overlay::Help { .. }) = model.overlays.last()
        && let Some(by) = movement(command, model.active().page(&model.common))
    {
        scroll_help(model, by);
        return vec![];
    }
    // The text that the question after an edit is about can be scrolled.
    let is_free = matches!(model.overlays.last(), None | Some(Overlay::ConfirmEdit(_)));
    if is_free && screen_command(model, command, data) {
        return vec![];
    }
    if let Some(seek) = replay::seek_of(command, model.common.info.bar.is_some()) {
        return replay::seek(model, data, seek);
    }
    shell_command(model, command, data)
}

/// `/`, `n`, `N` and `Esc` in a text.
fn find_command(model: &mut Model, command: Command) -> bool {
    let has_text = model.has_text_focus();
    match command {
        Command::Filter if has_text => find::open(model),
        Command::NextMatch | Command::PreviousMatch if has_text => {
            find::next(model, command == Command::NextMatch);
        }
        Command::Tour => tour::toggle(model),
        Command::Back if model.find.is_some() && model.overlays.is_empty() => model.find = None,
        _ => {
            // The user moves: the next match is counted from the new position.
            if let Some(find) = &mut model.find {
                find.at = None;
            }
            return false;
        }
    }
    true
}

fn scroll_help(model: &mut Model, by: isize) {
    let end = help::last_scroll(model);
    if let Some(Overlay::Help { scroll }) = model.overlays.last_mut() {
        *scroll = scroll.saturating_add_signed(by).min(end);
    }
}

/// Offers a command to the screen shown. Returns whether the screen handled it.
fn screen_command(model: &mut Model, command: Command, data: &dyn Data) -> bool {
    let from = return_point(model);
    model.common.current_stream = model.current_stream();
    match model.screens.get_mut(model.screen).update(command, &mut model.common, data) {
        Outcome::Done => true,
        Outcome::NotHandled => false,
        Outcome::Open(destination) => {
            open(model, destination, from, data);
            true
        }
        Outcome::OpenProblem(destination) => {
            open_problem(model, destination, from, data);
            true
        }
    }
}

/// Runs a command that has one meaning on all screens.
fn shell_command(model: &mut Model, command: Command, data: &dyn Data) -> Vec<Effect> {
    if let Some(screen) = ScreenId::ALL.into_iter().find(|screen| screen.command() == command) {
        match screen {
            ScreenId::Diff => compare::go_to_diff(model, data),
            screen => go(model, screen, data),
        }
        return vec![];
    }
    match command {
        Command::Quit => return quit(model),
        Command::Interrupt => return interrupt(model),
        Command::Suspend => return vec![Effect::Suspend],
        Command::Redraw => return vec![Effect::Redraw],
        Command::Record => return record(model),
        Command::CopyRow
        | Command::CopyName
        | Command::CopyPath
        | Command::CopyJson
        | Command::CopyYaml
        | Command::CopyTable
        | Command::CopyCommand => return copy::run(model, command, data),
        Command::Yes | Command::No | Command::EditHeld
            if matches!(model.overlays.last(), Some(Overlay::ConfirmEdit(_))) =>
        {
            return hold::answer_edit(model, command);
        }
        Command::Yes => {
            return match model.overlays.pop() {
                Some(Overlay::ConfirmSend(actions)) => actions.into_iter().map(Effect::SendAction).collect(),
                Some(Overlay::ConfirmHold(command)) => vec![Effect::Hold(command)],
                _ => vec![Effect::Quit],
            };
        }
        Command::Diff => compare::diff_selected(model, data),
        Command::DiffMarked => compare::diff_marked(model, data),
        Command::NextProblem | Command::PreviousProblem => {
            open_next_problem(model, data, command == Command::NextProblem);
        }
        Command::NextNack | Command::PreviousNack => {
            go(model, ScreenId::Timeline, data);
            timeline_command(model, command, data);
        }
        Command::Ladder | Command::Format | Command::Unfold => timeline_command(model, command, data),
        Command::Holders => holders::say(model, data),
        Command::NextType => goto::next_type(model, data),
        Command::NextStream => goto::next_stream(model, data, 1),
        Command::PreviousStream => goto::next_stream(model, data, -1),
        Command::Pause => pause(model, data),
        Command::Follow => follow(model, data),
        Command::Reconnect if model.common.info.hold.is_none() => client_action::run(model, command, data),
        _ if command.is_client_action() && (model.common.info.client || !command.is_hold_action()) => {
            client_action::run(model, command, data);
        }
        _ if command.is_hold_action() => return hold::run(model, command),
        _ => overlay_command(model, command, data),
    }
    vec![]
}

/// Commands of overlays, panes and the scope.
fn overlay_command(model: &mut Model, command: Command, data: &dyn Data) {
    match command {
        Command::Filter => filter_prompt::open(model),
        Command::Palette => {
            let search = PaletteSearch::new(data, &model.common);
            let (input, search) = (String::new(), Box::new(search));
            model.overlays.push(Overlay::Palette { input, chosen: 0, recalled: None, search });
        }
        Command::Help => model.overlays.push(Overlay::Help { scroll: 0 }),
        Command::SetMark => model.overlays.push(Overlay::SetMark),
        Command::GoToMark => model.overlays.push(Overlay::GoToMark),
        Command::Copy => model.overlays.push(Overlay::Copy),
        Command::Cancel | Command::No => {
            model.overlays.pop();
        }
        Command::Sort => columns::open_sort(model),
        Command::SortWorst => sort(model, Sort::Worst),
        Command::SortName => sort(model, Sort::Name),
        Command::SortNewest => sort(model, Sort::Newest),
        Command::ChooseColumns => columns::open_columns(model),
        Command::Left | Command::Right => model.say("nothing here is wider than the screen: long texts wrap"),
        Command::Grow => resize(model, RESIZE_STEP),
        Command::Shrink => resize(model, -RESIZE_STEP),
        Command::NextPane | Command::PreviousPane => {
            let is_main = model.common.pane == Pane::Main;
            model.common.pane = if is_main { Pane::Second } else { Pane::Main };
        }
        Command::FullScreen | Command::Open => {
            model.common.is_full_screen = !model.common.is_full_screen;
        }
        Command::Back => back(model),
        Command::AllTypes => model.common.scope.type_url = None,
        Command::AllStreams => model.common.scope.stream = None,
        Command::Notice => {
            let notice = model.common.info.notice.clone();
            model.say(notice.unwrap_or_else(|| "nothing is known to be missing".to_owned()));
        }
        _ => {
            let keys = BINDINGS.iter().filter(|binding| binding.command == command);
            if let Some(screens) = Context::screens(keys.map(|binding| binding.context)) {
                model.say(format!("this works on {screens}"));
            }
        }
    }
}

/// Runs a command of the timeline, whichever screen is shown.
fn timeline_command(model: &mut Model, command: Command, data: &dyn Data) {
    model.screens.timeline.update(command, &mut model.common, data);
}

/// Sorts in one of the orders that a list has besides its columns.
fn sort(model: &mut Model, by: Sort) {
    let entries = columns::sort_entries(model);
    if entries.is_empty() {
        columns::open_sort(model);
    } else if entries.iter().any(|entry| entry.sort == by) {
        columns::sort(model, by);
    } else {
        model.overlays.retain(|overlay| !matches!(overlay, Overlay::Sort { .. }));
        model.say("this list has no such order: s lists its columns");
    }
}

fn resize(model: &mut Model, by: i16) {
    if !model.screen.has_resizable_panes() || model.common.is_full_screen {
        return model.say("the panes of this screen take what they need");
    }
    model.common.shift = model.common.shift.saturating_add(by).clamp(-MAX_RESIZE, MAX_RESIZE);
}

/// Records to a file, or says why that is not possible.
fn record(model: &mut Model) -> Vec<Effect> {
    let info = &model.common.info;
    let notice = match (&info.bar, &info.recording) {
        _ if info.named.is_some() => return vec![Effect::Record(None)],
        (Some(_), None) => "this is a recording already: xdscope export makes a part of it",
        (Some(_), Some(_)) => "this is the past: f returns to what is live, which can be recorded",
        (None, None) => "no session file to copy from (--no-record)",
        (None, Some(_)) => {
            model.overlays.push(Overlay::Record { input: String::new() });
            return vec![];
        }
    };
    model.decline(notice)
}

/// Leaves the full screen or the current place; with neither, quits.
fn quit(model: &mut Model) -> Vec<Effect> {
    // A demo serves nobody else, and a visitor who has seen enough leaves at once.
    if model.common.info.is_demo {
        return vec![Effect::Quit];
    }
    if model.common.is_full_screen || !model.return_points.is_empty() {
        let filter = model.common.filter.take();
        back(model);
        if filter.is_some() {
            model.common.filter = filter;
        }
        return vec![];
    }
    interrupt(model)
}

/// Handles Ctrl-C: cancels a question, and asks before clients are cut off.
fn interrupt(model: &mut Model) -> Vec<Effect> {
    match model.overlays.last() {
        Some(Overlay::ConfirmSend(_) | Overlay::ConfirmHold(_)) => {
            model.overlays.pop();
            vec![]
        }
        Some(Overlay::ConfirmEdit(_)) => hold::answer_edit(model, Command::No),
        Some(Overlay::ConfirmQuit) => vec![Effect::Quit],
        _ if model.common.info.streams > 0 && !model.common.info.is_demo => {
            model.overlays.push(Overlay::ConfirmQuit);
            vec![]
        }
        _ => vec![Effect::Quit],
    }
}

/// Starts or stops following the newest message. Ends a pause.
fn follow(model: &mut Model, data: &dyn Data) {
    let rows = model.common.rows(data);
    let timeline = &mut model.screens.timeline;
    if model.screen == ScreenId::Timeline && timeline.is_following() && model.common.paused.is_none() {
        timeline.stop_following(rows);
        return;
    }
    model.common.paused = None;
    timeline.follow();
    if model.screen != ScreenId::Timeline {
        model.say("this is live; the timeline (3) follows the newest message");
    }
}

/// Stops the screen at this moment, or lets it follow again.
fn pause(model: &mut Model, data: &dyn Data) {
    if model.common.info.is_opening() {
        return model.say(replay::OPENING);
    }
    model.common.paused = match model.common.paused {
        Some(_) => None,
        None => Some(Paused { rows: data.rows(), now: data.now() }),
    };
}
