//! The memory of a store, and how it drops what is old.

use crate::engine::session::DroppedStreams;
use crate::wire::content::UsedContent;

use super::Store;

/// One part in this many of the memory is for clients without an open stream or a row.
const GONE_DIVISOR: usize = 16;

impl Store {
    /// Estimates the memory of everything that is known of the source, in bytes.
    pub fn memory(&self) -> usize {
        self.catalog.memory() + self.history.size() + self.engine.memory()
    }

    /// Returns the bytes that all facts may take.
    pub fn budget(&self) -> usize {
        self.history.budget()
    }

    /// Returns the number of the first row that was not dropped.
    pub fn first_row(&self) -> usize {
        self.history.first()
    }

    /// Returns the number of ended streams that were dropped.
    pub fn dropped_streams(&self) -> usize {
        self.dropped_streams
    }

    /// Drops the older half of the history, and the ended streams that no row shows any more.
    pub(crate) fn drop_old(&mut self) -> DroppedStreams {
        self.history.drop_rows(self.history.size() / 2, &self.catalog);
        let shown = self.history.streams();
        let dropped = self.engine.drop_ended(|stream| shown.contains(&stream), self.budget() / GONE_DIVISOR);
        self.dropped_streams += dropped.count;
        self.latest = None;
        dropped
    }

    /// Marks the contents and names that streams and rows refer to as used.
    pub(crate) fn mark_used(&mut self, used: &mut UsedContent) {
        self.engine.mark(&mut self.catalog, used);
        self.history.mark(used, &self.catalog);
        self.catalog.mark_references(used);
        self.engine.retain_derived(used);
    }
}
