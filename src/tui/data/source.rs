//! The facts that the screens read.

use xdscope_engine::applied::AppliedState;
use xdscope_engine::filter::{Filter, FilterError};
use xdscope_engine::lint::Finding;
use xdscope_engine::problems::{ProblemFact, problems_with_applied};
use xdscope_engine::store::{LineFact, MessageFact, StateFact, Store, StreamFact, SummaryFact};
use xdscope_schema::Schema;
use xdscope_wire::event::{Clock, Seq, StreamId, Time, TypeUrl};

use super::contents::{BodyRenderer, Contents};
use super::format::{AppliedFilter, BodyFormat};

/// The number of rows and the time of a source.
pub(crate) type ViewTime = (usize, Time);

/// The facts of a source. Screens ask only for what they show.
///
/// The facts are those of a store, unless a test makes its own.
pub trait Data {
    fn store(&self) -> &Store;
    /// Decodes the contents of the store.
    fn bodies(&self) -> &dyn BodyRenderer;
    /// The findings of the rules, oldest first.
    fn findings(&self) -> &[Finding];
    /// The resources that the clients have applied, if the source comes with dumps of them.
    fn applied_state(&self) -> Option<&AppliedState>;

    fn schema(&self) -> &Schema {
        self.bodies().schema()
    }
    /// The contents of the store, decoded.
    fn contents(&self) -> Contents<'_> {
        Contents { store: self.store(), bodies: self.bodies() }
    }
    /// The number after that of the last row.
    fn rows(&self) -> usize {
        self.store().rows()
    }
    fn row(&self, index: usize) -> Option<MessageFact> {
        self.store().row(index)
    }
    fn row_of(&self, n: Seq) -> Option<usize> {
        self.store().row_of(n)
    }
    /// A row without resource names: cheap for a message of any size.
    fn line(&self, index: usize) -> Option<LineFact> {
        self.store().line(index)
    }
    /// The stream and type of a row.
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.store().place_of(index)
    }
    fn streams(&self) -> Vec<StreamFact> {
        self.store().streams()
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.store().stream_ids().collect()
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.store().stream(stream)
    }
    /// The states without resource names: cheap for any number of resources.
    fn summaries(&self) -> Vec<SummaryFact> {
        self.store().summaries()
    }
    /// The states of one stream without resource names.
    fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.store().summaries_of(stream)
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        self.store().state(stream, type_url)
    }
    fn states_of(&self, stream: StreamId) -> Vec<StateFact> {
        let summaries = self.summaries_of(stream).into_iter();
        summaries.filter_map(|cell| self.state(stream, &cell.type_url)).collect()
    }
    /// The NACKs that the store remembers.
    fn nacks(&self) -> Vec<Seq> {
        self.store().nacks()
    }
    /// The problems, the worst first.
    fn problems(&self) -> Vec<ProblemFact> {
        problems_with_applied(self.store(), self.findings(), self.applied_state())
    }
    fn now(&self) -> Time {
        self.store().now()
    }
    /// Rows and time, if the facts change only when rows or time do.
    fn moment(&self) -> Option<ViewTime> {
        Some((self.rows(), self.now()))
    }
    fn clock(&self) -> Clock {
        self.store().clock()
    }
    /// The first `limit` lines of a message's body.
    fn body(&self, n: Seq, format: BodyFormat, limit: usize) -> Vec<String> {
        self.bodies().body(self.store(), n, format, limit)
    }
    /// A row as the JSON object that `log -o jsonl` prints.
    fn json(&self, fact: &MessageFact) -> String {
        self.bodies().json(self.store(), fact)
    }
    fn read_filter(&self, text: &str) -> Result<Filter, FilterError> {
        Filter::parse(text)
    }
    fn row_matches(&self, applied: &AppliedFilter, fact: &MessageFact) -> bool {
        applied.filter.message_with(fact, self.store(), &*self.bodies().lookup(self.store()))
    }
    fn state_matches(&self, applied: &AppliedFilter, fact: &StateFact) -> bool {
        applied.filter.state(fact, self.store())
    }
    /// Whether a state matches, given without its resource names.
    fn cell_matches(&self, applied: &AppliedFilter, cell: &SummaryFact) -> bool {
        let view = self.store().state_view(cell);
        view.is_some_and(|view| applied.filter.state_view(&view, self.store()))
    }
}

/// A [`Store`] with a renderer of bodies.
pub struct StoreData<'a> {
    pub store: &'a Store,
    pub findings: &'a [Finding],
    pub bodies: &'a dyn BodyRenderer,
    pub applied: Option<&'a AppliedState>,
}

impl Data for StoreData<'_> {
    fn store(&self) -> &Store {
        self.store
    }
    fn bodies(&self) -> &dyn BodyRenderer {
        self.bodies
    }
    fn findings(&self) -> &[Finding] {
        self.findings
    }
    fn applied_state(&self) -> Option<&AppliedState> {
        self.applied
    }
}
