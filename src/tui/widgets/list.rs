//! Lists of which one row is selected, drawn a window at a time.

use std::fmt;

use ratatui::layout::{Position, Rect};

/// A row that a selection finds again after the rows have changed.
pub trait ListRow {
    type Key: Clone + PartialEq + fmt::Debug;

    fn key(&self) -> Self::Key;
}

/// An index into facts that are never taken back.
impl ListRow for usize {
    type Key = usize;

    fn key(&self) -> usize {
        *self
    }
}

/// Rows of which one is selected. The selection stays on its row while other rows come and go.
#[derive(Clone, Debug)]
pub struct SelectionList<R: ListRow> {
    pub rows: Vec<R>,
    /// The key of the selected row, which may be absent.
    pub selected: Option<R::Key>,
    /// The last known index of the selected row.
    last: usize,
    /// The first row on the screen.
    pub top: usize,
    /// Lines scrolled in the text about the selected row.
    pub scroll: usize,
}

impl<R: ListRow> Default for SelectionList<R> {
    fn default() -> SelectionList<R> {
        SelectionList { rows: Vec::new(), selected: None, last: 0, top: 0, scroll: 0 }
    }
}

impl<R: ListRow> SelectionList<R> {
    /// The selected row.
    pub fn row(&self) -> Option<&R> {
        self.rows.get(self.position()?)
    }

    /// Moves the selection by a number of rows.
    pub fn step(&mut self, by: isize) {
        self.select(self.position().unwrap_or(0).saturating_add_signed(by));
    }

    /// Moves the selection or, if the text about the selected row has the focus, the text.
    pub fn step_or_scroll(&mut self, by: isize, has_text_focus: bool) {
        if has_text_focus {
            self.scroll = self.scroll.saturating_add_signed(by);
        } else {
            self.step(by);
        }
    }

    /// Selects the row that has moved up to the place of one that is gone.
    pub fn select_neighbour(&mut self) {
        if self.position().is_none() {
            self.select(self.last);
        }
    }

    /// Keeps the selected row within an area with a line of titles.
    pub fn settle(&mut self, area: Rect) {
        self.last = self.position().unwrap_or(0);
        self.top = scroll(self.top, self.last, below_title(area), self.rows.len());
    }

    /// Keeps the text about the selected row, of `lines` lines, within an area with a title.
    pub fn settle_text(&mut self, lines: usize, area: Rect) {
        self.scroll = self.scroll.min(lines.saturating_sub(below_title(area)));
    }

    /// The rows that an area with a line of titles shows.
    pub fn window(&self, area: Rect) -> impl Iterator<Item = &R> {
        self.rows.iter().skip(self.top).take(below_title(area))
    }
}

/// The lines of an area below its first one.
pub(crate) fn below_title(area: Rect) -> usize {
    usize::from(area.height).saturating_sub(1)
}

/// The line at a position of the terminal, in an area with a line of titles; `None` outside.
pub(crate) fn line_at(area: Rect, position: Position) -> Option<usize> {
    if !area.contains(position) {
        return None;
    }
    position.y.checked_sub(area.y + 1).map(usize::from)
}

/// A list, whatever its rows are.
pub trait List {
    fn len(&self) -> usize;

    /// The index of the selected row.
    fn position(&self) -> Option<usize>;

    /// Selects a row, or the last one. The text about another row begins at its first line.
    fn select(&mut self, at: usize);

    /// The first row on the screen.
    fn top(&self) -> usize;

    /// Lines scrolled in the text about the selected row.
    fn scroll(&self) -> usize;

    fn scroll_to(&mut self, line: usize);

    /// The line of the selected row on the screen.
    fn selected_line(&self) -> Option<usize> {
        self.position()?.checked_sub(self.top())
    }

    /// Selects the row at a position of the terminal, in an area with a line of titles. Returns
    /// whether the row was selected before; `None` without a row there, or unless `selects`.
    fn point(&mut self, position: Position, area: Rect, selects: bool) -> Option<bool> {
        let row = self.top() + line_at(area, position)?;
        if row >= self.len() || !selects {
            return None;
        }
        let before = self.position();
        self.select(row);
        Some(before == Some(row))
    }
}

impl<R: ListRow> List for SelectionList<R> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn position(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        let is_selected = |row: &R| row.key() == *selected;
        if self.rows.get(self.last).is_some_and(is_selected) {
            return Some(self.last);
        }
        self.rows.iter().position(is_selected)
    }

    fn select(&mut self, at: usize) {
        self.last = at.min(self.rows.len().saturating_sub(1));
        let key = self.rows.get(self.last).map(ListRow::key);
        if key != self.selected {
            self.scroll = 0;
        }
        self.selected = key;
    }

    fn top(&self) -> usize {
        self.top
    }

    fn scroll(&self) -> usize {
        self.scroll
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

/// The offset nearest to `top` that shows row `at` in `height` of `len` rows, without blank rows
/// below the last one.
pub(crate) fn scroll(top: usize, at: usize, height: usize, len: usize) -> usize {
    let height = height.max(1);
    let top = top.min(len.saturating_sub(height));
    if at < top { at } else { top.max((at + 1).saturating_sub(height)) }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::{Position, Rect};

    use super::{List, SelectionList, scroll};

    #[test]
    fn selection_stays_on_its_row() {
        let area = Rect { x: 0, y: 1, width: 9, height: 3 };
        let line = |y: u16| Position { x: 4, y: area.y + 1 + y };
        let mut list = SelectionList { rows: vec![3, 5, 7, 9], ..SelectionList::default() };
        list.step(2);
        (list.scroll, list.rows) = (4, vec![1, 3, 5, 7, 9]);
        list.settle(area);
        assert_eq!((list.row(), list.top, list.scroll), (Some(&7), 2, 4));
        assert_eq!(list.point(line(1), area, true), Some(true));
        assert_eq!((list.point(line(0), area, false), list.point(line(2), area, true)), (None, None));
        assert_eq!(list.point(line(0), area, true), Some(false));
        assert_eq!((list.row(), list.scroll), (Some(&5), 0));
        list.rows.retain(|row| *row != 5);
        assert_eq!((list.row(), list.selected), (None, Some(5)));
        list.select_neighbour();
        assert_eq!(list.row(), Some(&7));
        list.step(isize::MAX / 2);
        assert_eq!((list.row(), list.selected_line()), (Some(&9), Some(1)));
    }

    #[test]
    fn scrolls_no_further_than_needed() {
        assert_eq!(scroll(0, 3, 5, 10), 0);
        assert_eq!(scroll(0, 5, 5, 10), 1);
        assert_eq!(scroll(4, 2, 5, 10), 2);
        assert_eq!(scroll(9, 9, 5, 10), 5);
        assert_eq!(scroll(7, 1, 5, 3), 0);
        assert_eq!(scroll(0, 0, 0, 0), 0);
    }
}
