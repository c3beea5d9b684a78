//! Commands of the time cursor, and marks.

use crate::common::Pane;
use crate::data::{Data, Marked, ReachedProblem, Seek};
use crate::input::command::Command;
use crate::input::screen_id::ScreenId;
use xdscope_engine::problems::ProblemFact;
use xdscope_wire::event::Seq;

use super::navigation::go_to_message;
use crate::shell::effect::Effect;
use crate::shell::model::Model;

/// The movement of a command, if the command moves the time cursor.
pub(crate) fn seek_of(command: Command, has_cursor: bool) -> Option<Seek> {
    Some(match command {
        Command::StepBack => Seek::Back,
        Command::StepOn => Seek::On,
        Command::Slower => Seek::Slower,
        Command::Faster => Seek::Faster,
        Command::Start => Seek::Start,
        Command::End => Seek::End,
        Command::Pause if has_cursor => Seek::Toggle,
        Command::Follow if has_cursor => Seek::Live,
        Command::NextEvent => Seek::Problem { on: true, all: true },
        Command::PreviousEvent => Seek::Problem { on: false, all: true },
        Command::NextNack if has_cursor => Seek::Problem { on: true, all: false },
        Command::PreviousNack if has_cursor => Seek::Problem { on: false, all: false },
        _ => return None,
    })
}

/// Notice while a recording is read.
pub(crate) const OPENING: &str = "the recording is still being read";

/// Moves the time cursor. A live source is paused, and goes back in its session file.
pub(crate) fn seek(model: &mut Model, data: &dyn Data, seek: Seek) -> Vec<Effect> {
    if model.common.info.is_opening() {
        return model.decline(OPENING);
    }
    if model.common.info.bar.is_none() {
        if matches!(seek, Seek::On | Seek::Slower | Seek::Faster | Seek::Problem { on: true, .. }) {
            return model.decline("this is live: , goes back, and then these work");
        }
        model.pause(data);
    }
    if !matches!(seek, Seek::Toggle | Seek::Slower | Seek::Faster) {
        model.screens.timeline.follow();
    }
    vec![Effect::Replay(seek)]
}

/// Says which problem the time cursor has been moved to, and selects it on Overview.
pub(crate) fn show_reached(model: &mut Model, reached: &ReachedProblem) {
    let common = &mut model.common;
    let is_reached = |problem: &ProblemFact| {
        problem.is_wrong() && problem.stream == reached.stream && problem.type_url == reached.type_url
    };
    let index = common.problems.all.iter().position(is_reached);
    if let Some(index) = index {
        common.problems.choose(index);
    }
    if model.screen == ScreenId::Overview {
        common.pane = if index.is_some() { Pane::Second } else { Pane::Main };
        model.screens.overview.select_stream(Some(reached.stream));
    }
    model.say(reached.words.to_string());
}

/// Marks the time cursor. Without one, marks the selected message, else the newest.
pub(crate) fn set_mark(model: &mut Model, data: &dyn Data, letter: char) -> Vec<Effect> {
    let common = &model.common;
    let selected = model.active().selected_message().and_then(|fact| fact.n);
    let newest = || (data.store().first_row()..common.rows(data)).rev().find_map(|row| data.line(row)?.n);
    let cursor = common.info.bar.as_ref().map(|bar| Seq(bar.message));
    let Some(n) = cursor.or(selected).or_else(newest) else {
        return model.decline("nothing to mark: no message came yet");
    };
    model.marks.insert(letter, Marked { n, at: common.now });
    model.say(format!("{letter} marks #{}; ' and {letter} returns to it", n.0));
    vec![Effect::SaveMarks]
}

/// Goes to the moment that a letter marks.
pub(crate) fn go_to_mark(model: &mut Model, data: &dyn Data, letter: char) -> Vec<Effect> {
    match model.marks.get(&letter).copied() {
        None => model.decline(format!("no mark {letter}; m and {letter} sets it")),
        Some(marked) if model.common.has_cursor() => seek(model, data, Seek::Marked(marked)),
        Some(marked) => {
            go_to_message(model, data, marked.n);
            vec![]
        }
    }
}
