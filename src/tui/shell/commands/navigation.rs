//! Navigation between screens.

use std::sync::Arc;

use crate::common::{Pane, Scope};
use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::screens::screen::{Destination, ResourcePlace, Screen};
use crate::screens::shared::problem_place;
use xdscope_engine::problems::{Problem, ProblemFact};
use xdscope_wire::event::{Seq, StreamId};

use crate::shell::model::{Model, ReturnPoint};
use crate::shell::settle::settle;

/// The way back to the screen shown.
pub(crate) fn return_point(model: &Model) -> ReturnPoint {
    ReturnPoint {
        screen: model.screen,
        scope: model.common.scope.clone(),
        pane: model.common.pane,
        filter: None,
    }
}

/// Shows another screen from its top.
fn show(model: &mut Model, screen: ScreenId) {
    model.common.is_full_screen = false;
    model.common.pane = Pane::Main;
    model.screen = screen;
}

/// Opens a screen by its number, with all types. From elsewhere, `Esc` leads back to Overview.
pub(crate) fn go(model: &mut Model, screen: ScreenId, data: &dyn Data) {
    model.common.is_full_screen = false;
    let from = return_point(model);
    model.common.scope.type_url = None;
    if model.screen == screen {
        model.common.pane = Pane::Main;
        model.screens.stream.show_types();
        return;
    }
    if let Some(place) = place_that_answers(model, screen, data) {
        model.return_points.clear();
        open(model, place, from, data);
        model.common.pane = Pane::Main;
        return settle(model, data);
    }
    let message_stream = model.active().selected_message().map(|fact| fact.stream);
    let stream = model.common.scope.stream.or(message_stream).or_else(|| model.current_stream());
    // The client may have connected again since its stream was chosen.
    let is_about_clients = matches!(model.screen, ScreenId::Overview | ScreenId::Hold);
    let stream = stream.map(|stream| if is_about_clients { live_stream(data, stream) } else { stream });
    model.common.pane = Pane::Main;
    if screen == ScreenId::Overview {
        model.return_points.clear();
        model.screens.overview.select_stream(model.common.scope.stream);
        model.common.scope.stream = None;
    } else if model.screen == ScreenId::Overview {
        if screen == ScreenId::Stream
            && let Some(url) = model.active().selected_type(&model.common)
        {
            model.screens.stream.select_type(&url);
        }
        model.return_points = vec![from];
    }
    if screen == ScreenId::Stream {
        model.screens.stream.show_types();
    }
    model.screen = screen;
    if matches!(screen, ScreenId::Stream | ScreenId::Resources | ScreenId::Subscriptions | ScreenId::Graph) {
        model.common.scope.stream = stream.or(model.common.scope.stream);
    }
    settle(model, data);
}

/// Returns the newest open stream that continues a closed one; otherwise the stream itself.
fn live_stream(data: &dyn Data, stream: StreamId) -> StreamId {
    match data.stream(stream) {
        Some(own) if own.closed.is_some() => {
            let open =
                data.streams().into_iter().filter(|fact| fact.first == own.first && fact.closed.is_none());
            open.map(|fact| fact.stream).max().unwrap_or(stream)
        }
        _ => stream,
    }
}

/// The place on `screen` of the chosen problem, else of the worst one that the screen is about: on
/// Overview, of the selected node if the user has chosen a node.
fn place_that_answers(model: &Model, screen: ScreenId, data: &dyn Data) -> Option<Destination> {
    let common = &model.common;
    if model.screen != ScreenId::Overview || common.scope.stream.is_some() || common.filter.is_some() {
        return None;
    }
    let overview = &model.screens.overview;
    let streams: Option<Vec<StreamId>> = match (common.pane, overview.was_moved) {
        (Pane::Main, true) => Some(overview.row()?.all_streams().collect()),
        _ => None,
    };
    let is_wanted = |problem: &&ProblemFact| match (common.pane, &streams) {
        (Pane::Second, _) => common.problems.chosen().is_some_and(|chosen| std::ptr::eq(chosen, *problem)),
        (Pane::Main, Some(streams)) => streams.contains(&problem.stream),
        (Pane::Main, None) => true,
    };
    let problems = || common.problems.all.iter().filter(is_wanted);
    match screen {
        ScreenId::Subscriptions => {
            let has_name = |problem: &&ProblemFact| match &problem.problem {
                Problem::Owed(owed) => !owed.names.is_empty(),
                _ => false,
            };
            let is_owed = |problem: &&ProblemFact| matches!(problem.problem, Problem::Owed(_));
            problems().find(has_name).or_else(|| problems().find(is_owed)).map(problem_place::destination)
        }
        ScreenId::Graph => problems().find_map(|problem| match &problem.problem {
            Problem::Warming(_) => Some(problem_place::destination(problem)),
            Problem::Owed(owed) => {
                let user = owed.needed_by.as_ref()?;
                let (kind, name) = (user.kind, user.name.clone());
                Some(Destination::Graph { stream: problem.stream, kind, name })
            }
            _ => None,
        }),
        ScreenId::Resources => problems().find_map(|problem| {
            let (stream, type_url) = (problem.stream, problem.type_url.clone());
            let is_known = |name: &Arc<str>| data.store().resource(stream, &type_url, name).is_some();
            let name = problem.resource_names().into_iter().find(is_known)?;
            Some(Destination::Resource(ResourcePlace { stream, type_url, name }))
        }),
        _ => None,
    }
}

/// Opens a destination, with a way back to `from`.
pub(crate) fn open(model: &mut Model, destination: Destination, from: ReturnPoint, data: &dyn Data) {
    // A type that was narrowed to would hide a place of another type.
    let narrowed = model.common.scope.type_url.take();
    match destination {
        Destination::Stream { stream, type_url } => {
            model.common.scope.stream = Some(stream);
            if let Some(url) = type_url {
                model.screens.stream.select_type(&url);
            }
            model.screens.stream.show_types();
            show(model, ScreenId::Stream);
        }
        Destination::Streams { stream } => {
            model.common.scope.stream = Some(stream);
            model.screens.stream.list_streams(stream);
            show(model, ScreenId::Stream);
        }
        Destination::Nack { stream, n } => {
            model.common.scope.stream = Some(stream);
            show(model, ScreenId::Nack);
            settle(model, data);
            model.screens.nack.select_message(n);
        }
        Destination::Subscription { stream, type_url, name } => {
            model.common.scope.stream = Some(stream);
            show(model, ScreenId::Subscriptions);
            if name.is_some() {
                model.common.pane = Pane::Second;
            }
            model.screens.subscriptions.select_name(&type_url, name);
        }
        Destination::Graph { stream, kind, name } => {
            model.common.scope.stream = Some(stream);
            show(model, ScreenId::Graph);
            settle(model, data);
            model.screens.graph.reveal(kind, &name);
        }
        Destination::Messages { scope, n } => {
            model.common.scope = scope;
            show(model, ScreenId::Timeline);
            widen(model, data, n);
            model.screens.timeline.show_message(n, &model.common, data);
        }
        Destination::Resource(resource) => {
            model.common.scope.stream = Some(resource.stream);
            model.screens.resources.go_to(&resource.type_url, Some(resource.name));
            show(model, ScreenId::Resources);
        }
        Destination::Variants { resource, other } => {
            if !model.screens.diff.open_variants(&model.common, data, resource, other) {
                model.common.scope.type_url = narrowed;
                model.say("the messages that brought it were discarded");
                return;
            }
            show(model, ScreenId::Diff);
        }
    }
    model.return_points.push(from);
}

/// Widens the scope until it has message `n`.
fn widen(model: &mut Model, data: &dyn Data, n: Option<Seq>) {
    let Some((stream, type_url)) = n.and_then(|n| data.place_of(data.row_of(n)?)) else { return };
    let scope = &mut model.common.scope;
    scope.stream = scope.stream.filter(|wanted| *wanted == stream);
    scope.type_url = scope.type_url.take().filter(|wanted| *wanted == type_url);
}

/// Opens the evidence of a problem. The filter is taken off, because it could hide the evidence;
/// the way back restores it.
pub(crate) fn open_problem(model: &mut Model, destination: Destination, from: ReturnPoint, data: &dyn Data) {
    let filter = model.common.filter.take();
    open(model, destination, ReturnPoint { filter, ..from }, data);
    model.problem_place = Some(return_point(model));
}

/// Opens the evidence of the next problem in the list. `Esc` leads back to where the walk began.
pub(crate) fn open_next_problem(model: &mut Model, data: &dyn Data, forward: bool) {
    let Some(at) = model.common.problems.step(forward) else {
        let none = model.common.problems.count() == 0;
        return model.say(if none { "no problems" } else { "no further problem this way" });
    };
    let Some(problem) = model.common.problems.all.get(at) else { return };
    let (count, words) = (model.common.problems.count(), model.common.problem_words(problem));
    let notice = format!("problem {} of {count}: {words}", at + 1);
    let destination = problem_place::destination(problem);
    let from = return_point(model);
    let is_same = |place: &ReturnPoint| (place.screen, &place.scope) == (from.screen, &from.scope);
    let is_walk = model.problem_place.as_ref().is_some_and(is_same);
    open_problem(model, destination, from, data);
    if is_walk {
        let last = model.return_points.pop();
        let dropped = last.and_then(|point| point.filter);
        if let (Some(first), Some(filter)) = (model.return_points.last_mut(), dropped) {
            first.filter = Some(filter);
        }
    }
    model.say(notice);
}

/// Shows Diff, with a way back to `from`.
pub(crate) fn open_diff(model: &mut Model, from: ReturnPoint) {
    show(model, ScreenId::Diff);
    model.return_points.push(from);
}

/// Shows a message on the timeline, if the source has it.
pub(crate) fn go_to_message(model: &mut Model, data: &dyn Data, n: Seq) {
    if data.row_of(n).is_some() {
        show(model, ScreenId::Timeline);
        widen(model, data, Some(n));
        model.screens.timeline.show_message(Some(n), &model.common, data);
    }
}

/// Returns to the previous screen, or says that there is none.
pub(crate) fn back(model: &mut Model) {
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
        common.filter = point.filter;
    } else if common.scope != Scope::default() && model.screen != ScreenId::Stream {
        common.scope = Scope::default();
    } else if common.pane == Pane::Second {
        common.pane = Pane::Main;
    } else {
        common.say("this is the top; q quits");
    }
}
