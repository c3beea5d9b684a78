//! Drops the oldest rows of the history.

use std::collections::BTreeSet;

use crate::engine::session::EventEntry;
use crate::wire::content::{Catalog, UsedContent};
use crate::wire::event::StreamId;

use super::history::History;
use super::line::{Names, Remark, Which};

/// Rows that are kept, whatever their memory. Each row keeps up to 34 MB of contents.
const MIN_ROWS: usize = 1;

impl History {
    /// Drops the oldest rows until the history takes at most `budget` bytes. Returns whether any
    /// row was dropped.
    pub(super) fn drop_rows(&mut self, budget: usize, catalog: &Catalog) -> bool {
        let before = self.first;
        while self.size() > budget && self.rows.len() > MIN_ROWS {
            // Messages and lines are stored in blocks: drop the rows of one block at a time.
            let rows = (self.rows.len() / 64).clamp(1, self.rows.len() - MIN_ROWS);
            (0..rows).for_each(|_| self.drop_row(catalog));
            while self.messages.forget_before(self.first_seq as u32) {}
            while self.lines.forget_before(self.first_seq as u32) {}
        }
        self.rows.shrink_to_fit();
        self.by_seq.shrink_to_fit();
        self.first > before
    }

    fn drop_row(&mut self, catalog: &Catalog) {
        while self.first_unpacked <= self.first {
            self.compress(catalog);
        }
        let Some(row) = self.rows.pop_front() else { return };
        self.first += 1;
        if row.n().is_some() {
            self.by_seq.pop_front();
            self.first_seq += 1;
        }
    }

    /// Returns the streams of all rows.
    pub(super) fn streams(&self) -> BTreeSet<StreamId> {
        self.rows.iter().map(|row| row.id).collect()
    }

    /// Marks the contents and names of all messages and lines as used.
    pub(super) fn mark(&self, used: &mut UsedContent, catalog: &Catalog) {
        for row in &self.rows {
            if let Some(unpacked) = &row.unpacked {
                unpacked.message.mark(used);
                unpacked.remark.mark(used);
                continue;
            }
            if let Some(message) = self.unpack(row, catalog) {
                message.mark(used);
            }
            if let Some(line) = self.line(row) {
                line.remark.mark(used);
            }
        }
    }
}

impl Remark {
    fn mark(&self, used: &mut UsedContent) {
        if let Some(Names { added, changed, removed }) = self.names.as_deref() {
            used.names(changed.iter().chain(removed));
            if let Which::These(names) = added {
                used.names(names);
            }
        }
        let events: &[EventEntry] = self.events.as_deref().unwrap_or_default();
        used.names(events.iter().flat_map(|event| &event.names));
    }
}
