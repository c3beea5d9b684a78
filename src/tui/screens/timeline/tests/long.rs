//! A source of many messages.

use std::cell::Cell;

use crate::data::{AppliedFilter, BodyFormat, BodyRenderer, Data, ViewTime};
use crate::tests::story::{Story, story};
use xdscope_engine::applied::AppliedState;
use xdscope_engine::lint::Finding;
use xdscope_engine::store::{LineFact, MessageFact, StateFact, Store, StreamFact};
use xdscope_wire::event::{Clock, Seq, StreamId, Time, TypeUrl};

use super::messages::messages;

/// A source of many messages, made on demand, that counts the reads.
pub struct LongSource {
    pub rows: usize,
    pub rows_read: Cell<usize>,
    story: Story,
    template: MessageFact,
}

impl LongSource {
    pub fn new(rows: usize) -> LongSource {
        let template = messages().remove(2);
        let story = Story { rows: Vec::new(), states: Vec::new(), problems: Vec::new(), ..story() };
        LongSource { rows, rows_read: Cell::new(0), story, template }
    }
}

impl Data for LongSource {
    fn store(&self) -> &Store {
        self.story.store()
    }
    fn bodies(&self) -> &dyn BodyRenderer {
        self.story.bodies()
    }
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn applied_state(&self) -> Option<&AppliedState> {
        None
    }
    fn moment(&self) -> Option<ViewTime> {
        None
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.story.stream(stream)
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.story.stream_ids()
    }
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.line(index).map(|line| (line.stream, line.row.type_url))
    }
    fn rows(&self) -> usize {
        self.rows
    }
    fn row(&self, index: usize) -> Option<MessageFact> {
        self.rows_read.set(self.rows_read.get() + 1);
        if index >= self.rows {
            return None;
        }
        let mut fact = self.template.clone();
        (fact.row.n, fact.row.at) = (Some(Seq(index as u64 + 1)), Time(index as u64));
        Some(fact)
    }
    fn row_of(&self, n: Seq) -> Option<usize> {
        Some(n.0 as usize - 1)
    }
    fn streams(&self) -> Vec<StreamFact> {
        self.story.streams()
    }
    fn line(&self, index: usize) -> Option<LineFact> {
        self.row(index).as_ref().map(MessageFact::line)
    }
    fn now(&self) -> Time {
        Time(self.rows as u64)
    }
    fn clock(&self) -> Clock {
        self.story.clock()
    }
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        self.story.body(n, format, limit)
    }
    fn json(&self, fact: &MessageFact) -> String {
        self.story.json(fact)
    }
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool {
        self.story.row_matches(applied, fact)
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        self.story.state_matches(applied, fact)
    }
}
