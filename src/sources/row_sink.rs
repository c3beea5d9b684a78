//! A fold that shows rows of the timeline before they are dropped.

use std::ops::Range;

use crate::FrameSink;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::store::Store;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::Time;

/// Facts with a timeline.
pub trait Timeline: FrameSink {
    /// Returns the store with the rows.
    fn store(&self) -> &Store;
    /// Whether the next [`drop_old`](FrameSink::drop_old) drops something.
    fn is_full(&self) -> bool;
    /// Drops the contents to which no fact refers, and returns those that are still in use.
    fn drop_unused(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> UsedContent;
}

impl Timeline for Store {
    fn store(&self) -> &Store {
        self
    }

    fn is_full(&self) -> bool {
        self.is_over_budget()
    }

    fn drop_unused(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> UsedContent {
        Store::drop_unused(self, mark)
    }
}

impl Timeline for Analysis {
    fn store(&self) -> &Store {
        self.store()
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn drop_unused(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> UsedContent {
        Analysis::drop_unused(self, mark)
    }
}

/// Facts whose rows are shown in order: when memory is full, and at the end.
pub struct RowSink<T, F> {
    facts: T,
    /// Rows that were shown.
    shown: usize,
    show: F,
}

impl<T: Timeline, F: FnMut(&T, Range<usize>)> RowSink<T, F> {
    /// `show` is called with ranges of rows that follow each other.
    pub fn new(facts: T, show: F) -> RowSink<T, F> {
        RowSink { facts, shown: 0, show }
    }

    /// Shows the remaining rows, and returns the facts.
    pub fn finish(mut self) -> T {
        self.flush();
        self.facts
    }

    /// Returns the facts, and the number of rows that were shown.
    pub fn into_parts(self) -> (T, usize) {
        (self.facts, self.shown)
    }

    fn flush(&mut self) {
        let end = self.facts.store().rows();
        if self.shown < end {
            (self.show)(&self.facts, self.shown..end);
            self.shown = end;
        }
    }
}

impl<T: Timeline, F: FnMut(&T, Range<usize>)> FrameSink for RowSink<T, F> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.facts.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.facts.handle(frame);
    }

    fn advance(&mut self, now: Time) {
        self.facts.advance(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if !self.facts.is_full() {
            return None;
        }
        self.flush();
        self.facts.drop_old(mark)
    }
}
