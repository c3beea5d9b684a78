//! The table of a screen's list.

use ratatui::layout::{Position, Rect};

use crate::common::Common;
use crate::input::screen_id::ScreenId;
use crate::widgets::canvas::{Canvas, StyledLine};
use crate::widgets::table::{self, Column};

/// The visible rows of a screen's list.
pub(crate) struct ListTable<'a> {
    pub screen: ScreenId,
    /// All columns, also those that the user has hidden.
    pub columns: &'a [Column],
    pub rows: &'a [StyledLine],
    /// The index of the selected row.
    pub selected: Option<usize>,
    pub has_focus: bool,
}

impl ListTable<'_> {
    /// Draws the list without hidden columns. Returns the position of the selected row.
    pub(crate) fn draw(&self, common: &Common, canvas: &mut Canvas, area: Rect) -> Option<Position> {
        let mut columns = self.columns.to_vec();
        common.hidden_columns.hide(self.screen, &mut columns);
        table::note_fit(canvas.widths, &columns, self.rows, area);
        let row = table::draw(canvas, area, &columns, self.rows, self.selected, self.has_focus);
        row.map(|y| Position { x: area.x, y })
    }
}
