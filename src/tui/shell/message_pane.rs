//! The messages around the selection, below screens that leave room on a high and wide terminal.

use ratatui::layout::Rect;

use crate::engine::store::LineFact;
use crate::present::report::Role;
use crate::tui::common::Common;
use crate::tui::data::Data;
use crate::tui::input::screen_id::ScreenId;
use crate::tui::screens::shared::message_rows;
use crate::tui::widgets::canvas::{Canvas, StyledLine};
use crate::tui::widgets::layout;
use crate::tui::widgets::table;
use crate::wire::event::Seq;
use crate::wire::text::type_label;

use super::model::Model;

/// The screens with the pane. The other screens list messages themselves, or are as high as the
/// terminal.
const SCREENS: [ScreenId; 5] =
    [ScreenId::Diff, ScreenId::Nack, ScreenId::Subscriptions, ScreenId::Graph, ScreenId::Lint];
/// The smallest body, in lines, that is divided.
const MIN_BODY_LINES: u16 = 36;
/// The most lines of the pane, with its heading and the titles of the columns.
const MAX_PANE_LINES: u16 = 14;
/// Rows that are looked at on each side of the selected message.
const MAX_SEARCHED_ROWS: usize = 2_000;

/// The messages of the stream and type of the selection.
#[derive(Clone, Debug, Default)]
pub struct MessagePane {
    title: String,
    /// In the order of the timeline.
    lines: Vec<LineFact>,
    /// The message that the selection is about.
    selected: Option<Seq>,
}

/// Reserves the lines of the pane.
pub(super) fn make_room(model: &mut Model) {
    model.common.message_lines = 0;
    let is_shown = SCREENS.contains(&model.screen) && !model.common.is_full_screen;
    if let Some(layout) = model.common.layout().filter(|_| is_shown)
        && layout.wide
        && layout.body.height >= MIN_BODY_LINES
    {
        model.common.message_lines = (layout.body.height / 4).min(MAX_PANE_LINES);
    }
}

/// Loads the messages around the selection.
pub(super) fn settle(model: &mut Model, data: &dyn Data) {
    let height = usize::from(model.common.message_lines.saturating_sub(2));
    let selection = model.active().messages(data).filter(|_| height > 0);
    let Some((scope, selected)) = selection else {
        model.messages = MessagePane::default();
        return;
    };
    let is_in_scope = |row: &usize| {
        data.place_of(*row).is_some_and(|(stream, type_url)| {
            scope.stream.is_none_or(|of| of == stream)
                && scope.type_url.as_ref().is_none_or(|of| *of == type_url)
        })
    };
    let (first, end) = (data.first_row(), model.common.rows(data));
    let from = selected.and_then(|n| data.row_of(n)).map_or(end, |row| (row + 1).min(end)).max(first);
    let later = (from..end).take(MAX_SEARCHED_ROWS).filter(is_in_scope).take(height / 2);
    let later: Vec<usize> = later.collect();
    let earlier = (first..from).rev().take(MAX_SEARCHED_ROWS).filter(is_in_scope);
    let mut rows: Vec<usize> = earlier.take(height - later.len()).collect();
    rows.reverse();
    rows.extend(later);
    let of_type = scope.type_url.as_ref().map(|url| format!(" of {}", type_label(url.as_str())));
    model.messages = MessagePane {
        title: format!("messages{}", of_type.unwrap_or_default()),
        lines: rows.into_iter().filter_map(|row| data.line(row)).collect(),
        selected,
    };
}

/// Returns the area below the body.
fn area(common: &Common) -> Option<Rect> {
    let body = common.layout()?.body;
    Some(Rect { y: body.bottom(), height: common.message_lines, ..body })
}

/// Draws the pane.
pub(super) fn draw(model: &Model, canvas: &mut Canvas) {
    let (pane, common) = (&model.messages, &model.common);
    let Some(area) = area(common).filter(|area| area.height > 2 && !pane.lines.is_empty()) else { return };
    let (title, rest) = layout::split(area, 1);
    canvas.rule(title, &pane.title, "3 timeline");
    let row = |line: &LineFact| {
        let mut cells: StyledLine = message_rows::cells(common, line, None, false);
        if line.n.is_some() && line.n == pane.selected {
            cells.iter_mut().take(1).for_each(|number| number.role = Role::Key);
        }
        cells
    };
    let rows: Vec<StyledLine> = pane.lines.iter().map(row).collect();
    table::draw(canvas, rest, &message_rows::apart_columns(common, false), &rows, None, false);
}
