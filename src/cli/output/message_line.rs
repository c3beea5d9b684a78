//! Rows as wide as the terminal, for `log`, `replay` without screens, and live runs; without a
//! terminal of at most 100 columns.
//!
//! Columns have fixed widths, so that rows can be printed one by one. A version keeps its end, a
//! name what tells it from others, and a long kind takes columns of a short version. What does not
//! fit beside a row stands below it.

use jiff::tz::TimeZone;

use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::json;
use xdscope_present::table::{Cell, Columns, FixedLayout, LogColumns, LogRow, Style};
use xdscope_present::text::{width, wrap};
use xdscope_wire::event::{Clock, Time};
use xdscope_wire::text::display_safe;

use super::json_out;
use crate::cli::args::TimeFormat;

/// Width of rows without a terminal.
pub const DEFAULT_COLUMNS: usize = 100;
/// Fewest columns for the text below a row.
const MIN_TEXT_COLUMNS: usize = 40;
/// Columns before the text below a row: under the time.
const INDENT: usize = 8;

/// The layout of rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub time: TimeFormat,
    pub zone: TimeZone,
    pub style: Style,
    /// Whether rows name their node and stream.
    pub has_nodes: bool,
    /// Whether what is too long for its column is cut, as on a terminal.
    pub is_cut: bool,
    /// Width of rows.
    pub columns: usize,
}

impl RowLayout {
    /// Returns all columns, also those of wide tables.
    pub(crate) fn wide_columns<'a>(&self) -> Columns<'static, LogRow<'a>> {
        let (is_by_delta, columns) = (self.time == TimeFormat::Delta, self.columns);
        LogColumns { style: self.style, has_nodes: self.has_nodes, is_by_delta, columns }.columns()
    }

    fn fixed(&self, columns: &Columns<'_, LogRow<'_>>) -> FixedLayout {
        FixedLayout { headings: columns.headings(), style: self.style, is_cut: self.is_cut }
    }

    /// Returns a message as a row. `before` is the time of the row before.
    pub(crate) fn log_row<'a>(
        &'a self,
        fact: &'a MessageFact,
        before: Option<Time>,
        store: &Store,
    ) -> LogRow<'a> {
        let mut clock = store.clock();
        if self.time == TimeFormat::Relative {
            clock = Clock { epoch: None, ..clock };
        }
        LogRow { style: self.style, ..LogRow::new(fact, before, clock, &self.zone) }
    }

    /// Returns the titles of the columns.
    pub(crate) fn titles(&self) -> String {
        self.fixed(&self.wide_columns().narrow()).titles()
    }

    /// Formats a row, with its notes below. `before` is the time of the row before.
    pub fn row(&self, fact: &MessageFact, before: Option<Time>, store: &Store) -> String {
        let (columns, row) = (self.wide_columns().narrow(), self.log_row(fact, before, store));
        let layout = self.fixed(&columns);
        let cells = columns.cells(&row);
        let note = self.note(&layout, &cells, &row);
        let note = display_safe(&note);
        let mut out = layout.line(&cells);
        if note.is_empty() {
            return out;
        }
        // An event of a stream has no columns after its kind.
        if fact.n.is_none() {
            let plain = FixedLayout { style: Style { color: false, ..self.style }, ..layout };
            if width(&plain.line(&cells)) + 2 + width(&note) <= self.columns {
                out.push_str(&format!("  {note}"));
                return out;
            }
        }
        for text in wrap(&note, self.columns.saturating_sub(INDENT).max(MIN_TEXT_COLUMNS)) {
            out.push_str(&format!("\n{}{text}", " ".repeat(INDENT)));
        }
        out
    }

    /// Returns the text below a row: cells that do not fit into their columns, and remarks.
    fn note(&self, layout: &FixedLayout, cells: &[Cell], row: &LogRow<'_>) -> String {
        let mut notes = Vec::new();
        let widths = layout.widths(cells);
        for ((cell, heading), cells) in cells.iter().zip(&layout.headings).zip(widths) {
            if !self.is_cut || width(&cell.text) <= cells {
                continue;
            }
            match heading.title.as_ref() {
                "KIND" => notes.push(cell.text.clone()),
                "RESOURCES" => notes.push(format!("resources {}", cell.text)),
                _ => {}
            }
        }
        let remarks = row.remarks();
        if !remarks.is_empty() {
            notes.push(remarks);
        }
        notes.join("; ")
    }
}

/// Formats a row as one line of JSON.
pub(crate) fn json(fact: &MessageFact, store: &Store) -> String {
    json_out::line(&json::complete_message(fact, store))
}
