//! Updates the state of the screens to the facts of the source.

use std::sync::Arc;

use crate::common::RefreshPolicy;
use crate::data::Data;
use crate::input::screen_id::ScreenId;
use crate::screens::screen::Screen;
use xdscope_engine::problems::findings_by_cause;
use xdscope_present::report::{Census, Rows, count_nodes};
use xdscope_wire::event::Variant;

use super::message_pane;
use super::model::Model;
use super::overlay::Overlay;
use super::tour;

/// Continues the search of the screen that is shown. Returns whether rows are left.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    if let Some(Overlay::Palette { input, chosen, search, .. }) = model.overlays.last_mut()
        && search.is_searching()
    {
        return search.step(input, chosen, data);
    }
    let is_left = model.screens.get_mut(model.screen).search(&mut model.common, data);
    count_activity(model, data) || is_left
}

/// Rows that charts count in one step.
const ROWS_PER_STEP: usize = 10_000;

/// The number of streams up to which the answers of all are measured.
const MAX_MEASURED_STREAMS: usize = 64;

/// Counts rows for the charts. Returns whether rows are left.
fn count_activity(model: &mut Model, data: &dyn Data) -> bool {
    let common = &mut model.common;
    if common.paused.is_some() {
        return false;
    }
    let store = data.store();
    common.activity.follow(store, store.rows(), ROWS_PER_STEP)
}

/// Counts the clients of the source.
fn census(model: &Model, data: &dyn Data) -> Census {
    let streams: Vec<_> = data.streams().into_iter().map(Arc::new).collect();
    let is_file = !streams.is_empty() && streams.iter().all(|stream| stream.variant == Some(Variant::File));
    let open = streams.iter().filter(|stream| stream.closed.is_none()).map(|stream| stream.stream);
    let open: Vec<_> = open.take(MAX_MEASURED_STREAMS).collect();
    let changed = data.store().intercepted_streams().into_iter();
    let states = changed.flat_map(|stream| data.states_of(stream));
    let is_open = |stream| data.stream(stream).is_some_and(|stream| stream.closed.is_none());
    let diverged = states.filter(|state| state.diverged.is_some() && is_open(state.summary.stream)).count();
    let rows = Rows::build(streams, Vec::new(), &model.common.marks).rows;
    let open_rows = rows.iter().filter(|row| !row.is_closed());
    let open_nodes = count_nodes(open_rows);
    Census {
        open: open_nodes,
        ended: count_nodes(&rows) - open_nodes,
        diverged,
        traffic_gaps: data.findings().iter().filter(|finding| finding.is_traffic_gap()).count(),
        is_at_end: model.common.info.bar.as_ref().is_some_and(|bar| bar.at_end),
        is_file,
        last_push: model.common.activity.last_push(),
        slow_answer_ms: data.store().ack_ms(open.into_iter()).map(|(_, slow)| slow),
    }
}

/// Whether the screen shows the stream in scope, and the stream begins after the time cursor.
fn is_stream_ahead(model: &Model, data: &dyn Data) -> bool {
    let Some(scope) = model.common.scope.stream else { return false };
    if matches!(model.screen, ScreenId::Overview | ScreenId::Hold) || !model.common.has_cursor() {
        return false;
    }
    // Streams are numbered in the order in which they begin.
    data.stream(scope).is_none() && data.stream_ids().iter().all(|id| *id < scope)
}

/// Updates the shared state, and the screen that is shown.
pub(crate) fn settle(model: &mut Model, data: &dyn Data) {
    tour::make_room(model);
    model.common.note_shown(model.screen);
    message_pane::make_room(model);
    let is_paused = model.common.paused.is_some();
    let moment = data.moment();
    let has_key = model.common.refresh.has_key;
    model.common.refresh = RefreshPolicy {
        is_live: model.common.info.bar.is_none(),
        has_key,
        is_typing: model.common.refresh.is_typing,
        is_in_prompt: has_key && model.overlays.last().is_some_and(Overlay::is_prompt),
        // A screen without rows is filled, also while it is paused.
        is_paused: is_paused && model.screens.overview.table.streams > 0,
    };
    if !is_paused {
        model.common.now = data.now();
        model.common.clock = data.clock();
        count_activity(model, data);
        if let Some(bar) = &model.common.info.bar {
            model.common.density.settle(data.store(), bar.end);
        }
        let table = &model.screens.overview.table;
        if !table.is_fresh_enough(model.problems_at, moment, model.common.refresh) {
            model.problems_at = moment;
            model.common.problems.set(data.problems());
            if model.common.info.bar.is_none() {
                model.alerts.update(&model.common);
            }
            model.common.marks = data.store().client_marks();
            if model.common.problems.count() == 0 {
                model.common.census = census(model, data);
            }
            model.common.finding_groups = findings_by_cause(&model.common.problems.all, data.findings());
        }
        model.screens.lint.count(&model.common, data);
    }
    model.common.is_finding =
        model.find.is_some() || matches!(model.overlays.last(), Some(Overlay::Find { .. }));
    model.screens.hold.draft = match model.overlays.last() {
        Some(Overlay::ConfirmEdit(draft)) => Some(draft.clone()),
        _ => None,
    };
    let Some(layout) = model.common.layout() else { return };
    // Other screens need the stream that is selected on Overview.
    if model.screen == ScreenId::Overview || model.screens.overview.table.rows.is_empty() {
        model.screens.overview.settle(&mut model.common, data, &layout);
    }
    model.common.current_stream = model.current_stream();
    if model.screen != ScreenId::Overview {
        model.screens.get_mut(model.screen).settle(&mut model.common, data, &layout);
        if message_pane::fit(model)
            && let Some(layout) = model.common.layout()
        {
            model.screens.get_mut(model.screen).settle(&mut model.common, data, &layout);
        }
    }
    message_pane::settle(model, data);
    tour::settle(model, data);
    model.is_stream_ahead = is_stream_ahead(model, data);
}
