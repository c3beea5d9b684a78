//! The state of Overview: table and selection.

use crate::widgets::list::scroll;
use xdscope_engine::store::LineFact;
use xdscope_present::body_comparison::BodyComparison;
use xdscope_present::report::Row;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

use super::charts::OverviewCharts;
use super::table::NodeTable;

/// The stream, type and newest NACK of a refusal.
pub(super) type RefusalKey = (StreamId, TypeUrl, Seq);

#[derive(Clone, Debug, Default)]
pub struct OverviewScreen {
    /// The key of the selected row.
    pub selected: Option<StreamId>,
    /// The user moved the selection. Until then the first row, the worst, is selected.
    pub was_moved: bool,
    /// The node marked for a comparison.
    pub marked: Option<StreamId>,
    /// The selected column: 0 is the node, then the types.
    pub column: usize,
    /// Lines scrolled in the full screen.
    pub scroll: usize,
    /// The rules that were broken by the cause of the chosen problem.
    pub rules: Vec<&'static str>,
    /// The refused content of the problem in the detail, with the key of the problem.
    pub(super) refused: Option<(RefusalKey, Option<BodyComparison>)>,
    /// The first row on the screen.
    pub top: usize,
    pub is_unfolded: bool,
    pub(super) charts: OverviewCharts,
    /// The newest messages, if they are shown.
    pub(super) newest: Vec<LineFact>,
    pub table: NodeTable,
}

/// The stream of a row for a column: that of the type, else the newest. Column 0 is the node.
pub(super) fn stream_of(row: &Row, column: usize) -> Option<StreamId> {
    let cell = column.checked_sub(1).and_then(|i| row.cells.get(i)).and_then(Option::as_ref);
    cell.map(|cell| cell.stream).or_else(|| row.streams.last().map(|stream| stream.stream))
}

impl OverviewScreen {
    pub fn position(&self) -> Option<usize> {
        self.table.rows.iter().position(|row| Some(row.key) == self.selected)
    }

    pub fn row(&self) -> Option<&Row> {
        self.table.rows.get(self.position()?)
    }

    /// Moves the selection of the nodes.
    pub fn step_node(&mut self, by: isize) {
        let at = self.position().unwrap_or(0).saturating_add_signed(by);
        let at = at.min(self.table.rows.len().saturating_sub(1));
        self.selected = self.table.rows.get(at).map(|row| row.key);
        self.was_moved = true;
    }

    /// Keeps selection and scroll offset within the rows.
    pub fn settle_rows(&mut self, height: usize) {
        let rows = self.table.rows.len();
        if !self.was_moved || self.position().is_none() {
            self.selected = self.table.rows.first().map(|row| row.key);
        }
        self.column = self.column.min(self.table.types.len());
        let at = self.position().unwrap_or(0);
        self.top = scroll(self.top, at, height, rows);
    }
}
