//! Commands that open Diff.

use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::screens::screen::{Comparable, Screen};
use crate::screens::shared::pushes;
use xdscope_engine::problems::ProblemFact;
use xdscope_wire::event::{Dir, Seq};

use super::navigation::{go, open_diff, return_point};
use crate::shell::model::Model;

fn open_selection(model: &mut Model, data: &dyn Data) -> bool {
    model.common.current_stream = model.current_stream();
    let selection = model.active().comparable(&model.common, data);
    model.screens.diff.open_selection(&model.common, data, selection)
}

/// Opens Diff by its number: what is selected, else the push of the chosen or the worst problem.
pub(crate) fn go_to_diff(model: &mut Model, data: &dyn Data) {
    model.common.current_stream = model.current_stream();
    let selection = model.active().comparable(&model.common, data);
    let is_kept = model.screen != ScreenId::Overview && model.screens.diff.is_about_scope(&model.common);
    let selection = match selection {
        None if !is_kept => push_of_problem(model, data).map(Comparable::Push),
        selection => selection,
    };
    model.screens.diff.open_selection(&model.common, data, selection);
    go(model, ScreenId::Diff, data);
}

/// Returns the push of the chosen problem, else of the worst one that has a push, in the scope. On
/// Overview, a node that the user has chosen is the scope.
fn push_of_problem(model: &Model, data: &dyn Data) -> Option<Seq> {
    let problems = &model.common.problems;
    let is_moved = model.screen == ScreenId::Overview && model.screens.overview.was_moved;
    let row = model.screens.overview.row().filter(|_| is_moved && !problems.has_choice());
    let scope = model.common.scope.stream;
    let is_in_scope = |problem: &&ProblemFact| {
        scope.is_none_or(|stream| stream == problem.stream)
            && row.is_none_or(|row| row.all_streams().any(|stream| stream == problem.stream))
    };
    let chosen = problems.chosen().filter(|_| problems.has_choice()).into_iter();
    let mut all = chosen.chain(&problems.all).filter(is_in_scope);
    all.find_map(|problem| pushes::push_of_problem(data, problem))
}

/// Opens the diff of the selected push.
pub(crate) fn diff_selected(model: &mut Model, data: &dyn Data) {
    let from = return_point(model);
    if open_selection(model, data) {
        open_diff(model, from);
    } else {
        model.say("nothing to compare: choose a push or its answer");
    }
}

/// Marks the selected push, or compares it with the marked one.
pub(crate) fn diff_marked(model: &mut Model, data: &dyn Data) {
    let from = return_point(model);
    let fact = model.screens.timeline.selected_message().filter(|fact| fact.dir == Some(Dir::Resp));
    let Some((n, url)) = fact.and_then(|fact| Some((fact.n?, fact.type_url.clone()))) else {
        return model.say("only pushes can be marked and compared");
    };
    let marked = model.screens.diff.marked.filter(|marked| *marked != n);
    let other = marked.and_then(|marked| data.row(data.row_of(marked)?));
    match marked.zip(other.filter(|other| other.type_url == url)) {
        Some((marked, _)) => {
            model.screens.diff.marked = None;
            let (old, new) = (marked.min(n), marked.max(n));
            if model.screens.diff.open_push(&model.common, data, new, Some(old)) {
                open_diff(model, from);
            } else {
                model.say("the content of one of them was discarded");
            }
        }
        None => {
            model.screens.diff.marked = Some(n);
            model.say(format!("#{} is marked: D on another push of its type shows how they differ", n.0));
        }
    }
}

/// Compares the versions of a resource, given as `cds/reviews`.
pub(crate) fn diff_named(model: &mut Model, data: &dyn Data, what: &str) {
    let from = return_point(model);
    model.common.current_stream = model.current_stream();
    if model.screens.diff.open_named(&model.common, data, what) {
        open_diff(model, from);
    } else {
        model.say(format!("no resource {what} was sent; type its type and name such as cds/reviews"));
    }
}
