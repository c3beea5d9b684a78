//! Updates the state of the screens to the facts of the source.

use crate::engine::problems::findings_by_cause;
use crate::tui::common::RefreshPolicy;
use crate::tui::data::Data;
use crate::tui::input::screen_id::ScreenId;
use crate::tui::screens::screen::Screen;

use super::model::Model;
use super::overlay::Overlay;

/// Continues the search of the screen that is shown. Returns whether rows are left.
pub fn search(model: &mut Model, data: &dyn Data) -> bool {
    model.screens.get_mut(model.screen).search(&mut model.common, data)
}

/// Updates the shared state, and the screen that is shown.
pub(crate) fn settle(model: &mut Model, data: &dyn Data) {
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
        let table = &model.screens.overview.table;
        if !table.is_fresh_enough(model.problems_at, moment, model.common.refresh) {
            model.problems_at = moment;
            model.common.set_problems(data.problems());
            model.common.marks = data.client_marks();
            model.common.finding_groups = findings_by_cause(&model.common.problems, data.findings());
        }
        model.screens.lint.count(&model.common, data);
    }
    model.common.is_finding =
        model.find.is_some() || matches!(model.overlays.last(), Some(Overlay::Find { .. }));
    let Some(layout) = model.common.layout() else { return };
    // Other screens need the stream that is selected on Overview.
    if model.screen == ScreenId::Overview || model.screens.overview.table.rows.is_empty() {
        model.screens.overview.settle(&mut model.common, data, &layout);
    }
    model.common.current_stream = model.current_stream();
    if model.screen != ScreenId::Overview {
        model.screens.get_mut(model.screen).settle(&mut model.common, data, &layout);
    }
}
