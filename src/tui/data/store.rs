//! The facts of a [`Store`].

use xdscope_engine::applied::{AppliedDiff, AppliedState};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::{ProblemFact, problems_with_applied};
use xdscope_engine::store::{ClientMarks, LineFact, MessageFact, StateFact, Store, StreamFact, SummaryFact};
use xdscope_wire::event::{Clock, Seq, StreamId, Time, TypeUrl};

use super::contents::{BodyRenderer, Contents};
use super::format::{AppliedFilter, BodyFormat};
use super::source::{Data, ViewTime};

/// A [`Store`] with a renderer of bodies.
pub struct StoreData<'a> {
    pub store: &'a Store,
    pub findings: &'a [Finding],
    pub bodies: &'a dyn BodyRenderer,
    pub applied: Option<&'a AppliedState>,
}

impl Data for StoreData<'_> {
    fn rows(&self) -> usize {
        self.store.rows()
    }
    fn first_row(&self) -> usize {
        self.store.first_row()
    }
    fn row(&self, index: usize) -> Option<MessageFact> {
        self.store.row(index)
    }
    fn row_of(&self, n: Seq) -> Option<usize> {
        self.store.row_of(n)
    }
    fn streams(&self) -> Vec<StreamFact> {
        self.store.streams()
    }
    fn line(&self, index: usize) -> Option<LineFact> {
        self.store.line(index)
    }
    fn summaries(&self) -> Vec<SummaryFact> {
        self.store.summaries()
    }
    fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.store.summaries_of(stream)
    }
    fn ack_ms(&self, streams: &[StreamId]) -> Option<(f64, f64)> {
        self.store.ack_ms(streams.iter().copied())
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.store.stream_ids().collect()
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.store.stream(stream)
    }
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.store.place_of(index)
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        self.store.state(stream, type_url)
    }
    fn nacks(&self) -> Vec<Seq> {
        self.store.nacks()
    }
    fn problems(&self) -> Vec<ProblemFact> {
        problems_with_applied(self.store, self.findings, self.applied)
    }
    fn client_marks(&self) -> ClientMarks {
        self.store.client_marks()
    }
    fn findings(&self) -> &[Finding] {
        self.findings
    }
    fn now(&self) -> Time {
        self.store.now()
    }
    fn moment(&self) -> Option<ViewTime> {
        Some((self.rows(), self.now()))
    }
    fn clock(&self) -> Clock {
        self.store.clock()
    }
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        self.bodies.body(self.store, n, format, limit)
    }
    fn json(&self, fact: &MessageFact) -> String {
        self.bodies.json(self.store, fact)
    }
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool {
        applied.filter.message_with(fact, self.store, &*self.bodies.lookup(self.store))
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        applied.filter.state(fact, self.store)
    }
    fn cell_matches(&self, applied: &AppliedFilter, cell: &SummaryFact) -> bool {
        let view = self.store.state_view(cell);
        view.is_some_and(|view| applied.filter.state_view(&view, self.store))
    }
    fn applied(&self, state: &StateFact) -> Option<AppliedDiff> {
        self.applied?.compare(state, self.store)
    }
    fn contents(&self) -> Option<Contents<'_>> {
        Some(Contents { store: self.store, bodies: self.bodies })
    }
}
