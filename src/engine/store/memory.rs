//! The memory of a store, and how it drops what is old.

use crate::session::DroppedStreams;
use xdscope_wire::content::{Catalog, UsedContent, next_drop};

use super::{Checkpoint, Store};

/// One part in this many of the memory is for clients without an open stream or a row.
const GONE_DIVISOR: usize = 16;

/// The history is full when at most one part in this many of the memory is free.
const FULL_DIVISOR: usize = 8;

impl Checkpoint {
    /// Estimates the memory of what the checkpoint does not share with another one, in bytes.
    pub(crate) fn own_memory(&self, other: &Checkpoint) -> usize {
        self.engine.own_memory(&other.engine)
    }

    /// Marks the contents and names to which the checkpoint refers as used.
    pub fn mark(&mut self, catalog: &mut Catalog, used: &mut UsedContent) {
        self.engine.mark(catalog, used);
    }

    /// Forgets what was derived from contents that are not used.
    pub fn retain_derived(&self, used: &mut UsedContent) {
        self.engine.retain_derived(used);
    }
}

impl Store {
    /// Estimates the memory of everything that is known of the source, in bytes.
    pub fn memory(&self) -> usize {
        self.catalog.memory() + self.history.size() + self.engine.memory() + self.interventions.memory()
    }

    /// Returns the bytes that all facts may take.
    pub fn budget(&self) -> usize {
        self.history.budget()
    }

    /// Changes the bytes that all facts may take. Facts beyond them are dropped with the next ones.
    pub fn set_budget(&mut self, budget: usize) {
        self.history.set_budget(budget);
        self.catalog.set_max_text_bytes(budget);
        self.drop_at = budget;
    }

    /// Returns the number of the first row that was not dropped.
    pub fn first_row(&self) -> usize {
        self.history.first()
    }

    /// Returns the number of ended streams that were dropped.
    pub fn dropped_streams(&self) -> usize {
        self.dropped_streams
    }

    /// Whether all facts take more memory than they may.
    pub fn is_over_budget(&self) -> bool {
        self.memory() > self.drop_at || self.is_history_full()
    }

    /// Whether the history is about to drop contents of messages.
    pub fn is_history_full(&self) -> bool {
        self.history.size() > self.budget() - self.budget() / FULL_DIVISOR
    }

    /// Drops the older half of the history, and everything to which nothing refers without that
    /// half, in a store without rules. Returns the contents that are still in use.
    ///
    /// `mark` marks the contents that are in use outside of the store, by checkpoints too.
    pub fn drop_old_facts(&mut self, mark: impl FnOnce(&mut UsedContent)) -> UsedContent {
        self.drop_old();
        self.drop_unused(mark)
    }

    /// Drops the contents to which nothing refers, and returns those that are still in use.
    pub fn drop_unused(&mut self, mark: impl FnOnce(&mut UsedContent)) -> UsedContent {
        let mut used = UsedContent::default();
        mark(&mut used);
        self.mark_used(&mut used);
        let used = self.catalog.retain(used);
        // Facts of open streams are never dropped: try again only after they have grown.
        self.drop_at = next_drop(self.budget(), self.memory());
        used
    }

    /// Drops the older half of the history, and the ended streams that no row shows any more.
    pub(crate) fn drop_old(&mut self) -> DroppedStreams {
        self.history.drop_rows(self.history.size() / 2, &self.catalog);
        let in_rows = self.history.streams();
        let dropped =
            self.engine.drop_ended(|stream| in_rows.contains(&stream), self.budget() / GONE_DIVISOR);
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
