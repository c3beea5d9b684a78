//! Screens that are a list above a text about the selected row.

use ratatui::layout::{Position, Rect};

use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::lists::{MAX_COPIED_ROWS, TextTable};
use crate::screens::shared::list_table::ListTable;
use crate::widgets::canvas::{Canvas, StyledLine};
use crate::widgets::layout::{self, Layout};
use crate::widgets::list::{List, below_title};
use crate::widgets::table::{Column, titles_of};
use crate::widgets::text::texts;

/// A list above a text about the selected row. [`Screen`](super::screen::Screen) draws and copies
/// the list, and searches in the text.
pub trait ListScreen {
    fn list(&self) -> &dyn List;

    /// The areas of the list and of the text, each with a line of titles. Either may be empty.
    fn areas(&self, common: &Common, layout: &Layout) -> (Rect, Rect);

    /// All columns, also those that the user has hidden. Columns without a title are notes.
    fn list_columns(&self, is_narrow: bool) -> Vec<Column>;

    /// The cells of a row, in the order of the columns; `None` if the row is not loaded.
    fn row(&self, common: &Common, at: usize) -> Option<StyledLine>;

    /// The lines about the selected row in an area.
    fn text_lines(&self, common: &Common, area: Rect) -> Vec<StyledLine>;
}

/// The areas of a list of `rows` rows, which gets at most one of `share` parts of the body, and
/// of the text below, which may have the whole body.
pub(crate) fn areas(common: &Common, layout: &Layout, rows: usize, share: u16) -> (Rect, Rect) {
    if common.is_full_screen { layout::split(layout.body, 0) } else { layout.list_above(rows, share) }
}

/// Draws the list of a screen. Returns the position of the selected row.
pub(crate) fn draw_list(
    screen: &dyn ListScreen,
    id: ScreenId,
    common: &Common,
    canvas: &mut Canvas,
    layout: &Layout,
) -> Option<Position> {
    let (area, _) = screen.areas(common, layout);
    if area.is_empty() {
        return None;
    }
    let list = screen.list();
    let visible = list.top()..list.top() + below_title(area);
    let rows: Vec<StyledLine> = visible.map_while(|at| screen.row(common, at)).collect();
    let table = ListTable {
        screen: id,
        columns: &screen.list_columns(layout.narrow),
        rows: &rows,
        selected: list.selected_line(),
        has_focus: !common.is_in_second_pane(),
    };
    table.draw(common, canvas, area)
}

/// Draws the text about a row, with a title and a remark on its right, or how to read on. Returns
/// the position of the text if the text has the focus.
pub(crate) fn draw_text(
    common: &Common,
    canvas: &mut Canvas,
    area: Rect,
    heading: &str,
    remark: &str,
    lines: &[StyledLine],
    scroll: usize,
) -> Option<Position> {
    let (title, rest) = layout::split(area, 1);
    let has_focus = common.is_in_second_pane();
    match lines.len().saturating_sub(scroll + usize::from(rest.height)) {
        0 => canvas.heading(title, heading, remark, has_focus),
        hidden => canvas.heading(title, heading, &common.lines_below(hidden), has_focus),
    }
    canvas.lines(rest, lines, scroll);
    if has_focus { Some(area.as_position()) } else { None }
}

/// The titles of the columns.
pub(crate) fn titles(screen: &dyn ListScreen) -> Vec<String> {
    let mut titles = titles_of(&screen.list_columns(false));
    titles.retain(|title| !title.is_empty());
    titles
}

/// The list with all its rows, for a copy.
pub(crate) fn table(screen: &dyn ListScreen, common: &Common) -> TextTable {
    let rows = (0..MAX_COPIED_ROWS).map_while(|at| screen.row(common, at));
    TextTable { titles: titles(screen), rows: rows.map(|row| texts(&row)).collect() }
}
