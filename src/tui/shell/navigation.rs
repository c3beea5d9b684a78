//! Navigation between screens.

use crate::present::report;
use crate::tui::common::{Pane, Scope};
use crate::tui::data::Data;
use crate::tui::input::screen_id::ScreenId;
use crate::tui::screens::diff::DiffTarget;
use crate::tui::screens::screen::{Destination, Screen};
use crate::tui::screens::shared::problem_place;
use crate::wire::event::Seq;

use super::model::{Model, ReturnPoint};
use super::settle::settle;

/// The way back to the screen shown.
pub(super) fn return_point(model: &Model) -> ReturnPoint {
    ReturnPoint { screen: model.screen, scope: model.common.scope.clone(), pane: model.common.pane }
}

/// Shows another screen from its top.
fn show(model: &mut Model, screen: ScreenId) {
    model.common.is_full_screen = false;
    model.common.pane = Pane::Main;
    model.screen = screen;
}

/// Opens a screen by its number. From elsewhere, `Esc` leads back to Overview.
pub(super) fn go(model: &mut Model, screen: ScreenId, data: &dyn Data) {
    model.common.is_full_screen = false;
    let from = return_point(model);
    let message_stream = model.active().selected_message().map(|fact| fact.stream);
    let stream = model.common.scope.stream.or(message_stream).or_else(|| model.current_stream());
    model.common.pane = Pane::Main;
    if model.screen == screen {
        return;
    }
    if screen == ScreenId::Overview {
        model.return_points.clear();
        model.screens.overview.select_stream(model.common.scope.stream);
        model.common.scope.stream = None;
    } else if model.screen == ScreenId::Overview {
        model.return_points = vec![from];
    }
    model.screen = screen;
    if matches!(screen, ScreenId::Stream | ScreenId::Resources | ScreenId::Subscriptions | ScreenId::Graph) {
        model.common.scope.stream = stream.or(model.common.scope.stream);
    }
    settle(model, data);
}

/// Opens a destination, with a way back to `from`.
pub(super) fn open(model: &mut Model, destination: Destination, from: ReturnPoint, data: &dyn Data) {
    match destination {
        Destination::Stream { stream, type_url } => {
            model.common.scope.stream = Some(stream);
            if let Some(url) = type_url {
                model.screens.stream.select_type(&url);
            }
            show(model, ScreenId::Stream);
        }
        Destination::Nack { stream, type_url, n } => {
            model.common.scope = Scope { stream: Some(stream), type_url: Some(type_url) };
            show(model, ScreenId::Nack);
            settle(model, data);
            model.screens.nack.select_message(n);
        }
        Destination::Messages { scope, n } => {
            model.common.scope = scope;
            show(model, ScreenId::Timeline);
            model.screens.timeline.show_message(n, &model.common, data);
        }
        Destination::Resource { stream, type_url, name } => {
            model.common.scope.stream = Some(stream);
            model.screens.resources.go_to(&type_url, Some(name));
            show(model, ScreenId::Resources);
        }
        Destination::Variants { stream, other, type_url, name } => {
            let target = DiffTarget::new(stream, type_url, name);
            if !model.screens.diff.open_variants(&model.common, data, target, other) {
                model.say("the messages that brought it were discarded");
                return;
            }
            show(model, ScreenId::Diff);
        }
    }
    model.return_points.push(from);
}

/// Opens the place of the next problem in the list. `Esc` leads back to where the walk began.
pub(super) fn open_next_problem(model: &mut Model, data: &dyn Data, forward: bool) {
    let Some(at) = model.common.step_problem(forward) else {
        let none = model.common.problem_count() == 0;
        return model.say(if none { "no problems" } else { "no further problem this way" });
    };
    let Some(problem) = model.common.problems.get(at) else { return };
    let (place, word) = (report::problem_place(problem), report::problem_word(problem).0);
    let sentence = report::problem(problem, &model.common.clock);
    let count = model.common.problem_count();
    let notice = format!("problem {} of {count}: {place} {word}: {sentence}", at + 1);
    let destination = problem_place::of(problem);
    let from = return_point(model);
    let is_same = |place: &ReturnPoint| (place.screen, &place.scope) == (from.screen, &from.scope);
    let is_walk = model.problem_place.as_ref().is_some_and(is_same);
    // A type that was narrowed to would hide the place.
    model.common.scope.type_url = None;
    open(model, destination, from, data);
    if is_walk {
        model.return_points.pop();
    }
    model.problem_place = Some(return_point(model));
    model.say(notice);
}

/// Shows Diff, with a way back to `from`.
pub(super) fn open_diff(model: &mut Model, from: ReturnPoint) {
    show(model, ScreenId::Diff);
    model.return_points.push(from);
}

/// Shows a message on the timeline, if the source has it.
pub(super) fn go_to_message(model: &mut Model, data: &dyn Data, n: Seq) {
    if data.row_of(n).is_some() {
        show(model, ScreenId::Timeline);
        model.screens.timeline.show_message(Some(n), &model.common, data);
    }
}

/// Returns to the previous screen, or says that there is none.
pub(super) fn back(model: &mut Model) {
    let common = &mut model.common;
    if model.find.is_some() {
        model.find = None;
    } else if common.is_full_screen {
        common.is_full_screen = false;
    } else if common.filter.is_some() {
        common.filter = None;
    } else if let Some(point) = model.return_points.pop() {
        model.screen = point.screen;
        common.scope = point.scope;
        common.pane = point.pane;
    } else if common.scope != Scope::default() && model.screen != ScreenId::Stream {
        common.scope = Scope::default();
    } else if common.pane == Pane::Second {
        common.pane = Pane::Main;
    } else {
        common.say("this is the top; q quits");
    }
}
