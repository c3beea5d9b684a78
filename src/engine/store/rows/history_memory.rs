//! Drops the oldest rows of the history.

use std::collections::BTreeSet;

use crate::session::EventEntry;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::StreamId;

use super::history::History;
use super::line::{Names, Remark, Which};

/// Small rows that are kept, whatever their memory.
const MIN_ROWS: usize = 4096;

/// Bytes of messages that are kept, whatever the budget.
const MIN_BYTES: u64 = 16 << 20;

impl History {
    /// Drops the oldest rows until the history takes at most `budget` bytes, and its messages at
    /// most half of what the store may take. Returns whether any row was dropped.
    pub(crate) fn drop_rows(&mut self, budget: usize, catalog: &Catalog) -> bool {
        let before = self.first;
        let most = (self.budget() as u64 / 2).max(MIN_BYTES);
        let mut bytes: u64 = self.rows.iter().map(|row| u64::from(row.bytes)).sum();
        loop {
            let is_long = self.size() > budget && self.rows.len() > MIN_ROWS;
            let is_large = bytes > most && self.rows.len() > 1;
            if !is_long && !is_large {
                break;
            }
            // Messages and lines are stored in blocks: drop the rows of one block at a time.
            let rows = if is_long { (self.rows.len() / 64).clamp(1, self.rows.len() - MIN_ROWS) } else { 1 };
            for _ in 0..rows {
                bytes -= self.rows.front().map_or(0, |row| u64::from(row.bytes));
                self.drop_row(catalog);
            }
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
        if let Some(n) = row.n() {
            let end = usize::try_from(n.0).unwrap_or(usize::MAX);
            self.by_seq.drain(..(end - self.first_seq).min(self.by_seq.len()));
            self.first_seq = end;
        }
    }

    pub(crate) fn streams(&self) -> BTreeSet<StreamId> {
        self.rows.iter().map(|row| row.id).collect()
    }

    /// Marks the contents and names of all messages and lines as used.
    pub(crate) fn mark(&self, used: &mut UsedContent, catalog: &Catalog) {
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
