//! The facts that the screens read.

use xdscope_engine::applied::AppliedDiff;
use xdscope_engine::filter::{Filter, FilterError};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{ClientMarks, LineFact, MessageFact, StateFact, Store, StreamFact, SummaryFact};
use xdscope_schema::Schema;
use xdscope_wire::event::{Clock, Seq, StreamId, Time, TypeUrl, Variant};

use super::contents::Contents;
use super::format::{AppliedFilter, BodyFormat};

/// The number of rows and the time of a source.
pub(crate) type ViewTime = (usize, Time);

/// The facts of a source. Screens ask only for what they show.
pub trait Data {
    /// The number after that of the last row.
    fn rows(&self) -> usize;
    /// The number of the first row that was not dropped.
    fn first_row(&self) -> usize {
        0
    }
    fn row(&self, index: usize) -> Option<MessageFact>;
    fn row_of(&self, n: Seq) -> Option<usize>;
    fn streams(&self) -> Vec<StreamFact>;
    fn variant(&self, stream: StreamId) -> Option<Variant> {
        self.streams().into_iter().find(|fact| fact.stream == stream)?.variant
    }
    /// A row without resource names: cheap for a message of any size.
    fn line(&self, index: usize) -> Option<LineFact>;
    /// The states without resource names: cheap for any number of resources.
    fn summaries(&self) -> Vec<SummaryFact>;
    /// The states of one stream without resource names.
    fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.summaries().into_iter().filter(|cell| cell.stream == stream).collect()
    }
    /// The median and the 99th percentile of the time from response to verdict on these streams, in
    /// milliseconds.
    fn ack_ms(&self, _streams: &[StreamId]) -> Option<(f64, f64)> {
        None
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.streams().iter().map(|stream| stream.stream).collect()
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.streams().into_iter().find(|fact| fact.stream == stream)
    }
    /// The stream and type of a row.
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.line(index).map(|line| (line.stream, line.row.type_url))
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact>;
    /// The NACKs that the store remembers.
    fn nacks(&self) -> Vec<Seq>;
    /// The problems, the worst first.
    fn problems(&self) -> Vec<ProblemFact>;
    /// The marks that tell clients with one node id apart.
    fn client_marks(&self) -> ClientMarks {
        ClientMarks::default()
    }
    /// The findings of the rules, oldest first.
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn now(&self) -> Time;
    /// Rows and time, if the facts change only when rows or time do.
    fn moment(&self) -> Option<ViewTime> {
        None
    }
    fn clock(&self) -> Clock;
    /// The first `limit` lines of a message's body.
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String>;
    /// A row as the JSON object that `log -o jsonl` prints.
    fn json(&self, fact: &MessageFact) -> String;
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool;
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool;

    /// Whether a state matches, given without its resource names.
    fn cell_matches(&self, applied: &AppliedFilter, cell: &SummaryFact) -> bool {
        let state = self.state(cell.stream, &cell.type_url);
        state.is_some_and(|state| self.state_matches(applied, &state))
    }

    fn states_of(&self, stream: StreamId) -> Vec<StateFact> {
        let summaries = self.summaries_of(stream).into_iter();
        summaries.filter_map(|cell| self.state(stream, &cell.type_url)).collect()
    }
    /// The store and the descriptors, if there are any, for comparing contents.
    fn source(&self) -> Option<(&Store, &Schema)> {
        self.contents().map(|contents| (contents.store, contents.bodies.schema()))
    }
    /// The applied resources of a state, if the source comes with a dump of the client.
    fn applied(&self, _: &StateFact) -> Option<AppliedDiff> {
        None
    }
    fn read_filter(&self, text: &str) -> Result<Filter, FilterError> {
        Filter::parse(text)
    }
    /// The store and the descriptors, if there are any, for showing resources and NACKs.
    fn contents(&self) -> Option<Contents<'_>> {
        None
    }
}
