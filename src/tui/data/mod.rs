//! What the screens read: facts of a source, and what the program around them is doing.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::engine::applied::{AppliedDiff, AppliedState};
use crate::engine::filter::{Filter, FilterError};
use crate::engine::lint::Finding;
use crate::engine::nack::{self, NackReport};
use crate::engine::store::{
    LineFact, MessageFact, NackFact, ProblemFact, ResourceFact, StateFact, Store, StreamFact, SummaryFact,
    Versions,
};
use crate::schema::Schema;
use crate::schema::links::{self, Link};
use crate::wire::content::BlobId;
use crate::wire::event::{Clock, Seq, StreamId, Time, TypeUrl, Variant};

use crate::tui::shell::client_action::ClientAction;
use crate::tui::shell::replay::{Marked, ReplayBar, Seek};

/// How a message's body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    Yaml,
    Json,
    Text,
    Hex,
}

impl Format {
    pub fn word(self) -> &'static str {
        match self {
            Format::Yaml => "yaml",
            Format::Json => "json",
            Format::Text => "text",
            Format::Hex => "hex",
        }
    }
}

/// An expression in force: as typed, and as read.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    pub text: String,
    pub filter: Filter,
}

/// Rows and time of a source.
pub type ViewTime = (usize, Time);

/// The facts of one source, asked for only as far as they are shown.
pub trait Data {
    fn rows(&self) -> usize;
    fn row(&self, index: usize) -> Option<MessageFact>;
    fn row_of(&self, n: Seq) -> Option<usize>;
    fn streams(&self) -> Vec<StreamFact>;
    fn variant(&self, stream: StreamId) -> Option<Variant> {
        self.streams().into_iter().find(|fact| fact.stream == stream)?.variant
    }
    /// A row without its names: cheap whatever it carries.
    fn line(&self, index: usize) -> Option<LineFact>;
    /// The states without their names: cheap whatever they hold.
    fn summaries(&self) -> Vec<SummaryFact>;
    /// Those of one stream.
    fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.summaries().into_iter().filter(|cell| cell.stream == stream).collect()
    }
    fn stream_ids(&self) -> Vec<StreamId> {
        self.streams().iter().map(|stream| stream.stream).collect()
    }
    fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.streams().into_iter().find(|fact| fact.stream == stream)
    }
    /// Stream and type of a row.
    fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.line(index).map(|line| (line.stream, line.row.type_url))
    }
    fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact>;
    /// The NACKs that are kept.
    fn nacks(&self) -> Vec<Seq>;
    fn problems(&self) -> Vec<ProblemFact>;
    /// Rules that were broken, in the order in which they were first found to be.
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn now(&self) -> Time;
    /// Rows and time, where all facts are the same while both are.
    fn moment(&self) -> Option<ViewTime> {
        None
    }
    fn clock(&self) -> Clock;
    /// The first `limit` lines of a message's body.
    fn body(&self, n: Seq, format: Format, limit: usize) -> Vec<String>;
    /// A row as the JSON object that `log -o jsonl` prints.
    fn json(&self, fact: &MessageFact) -> String;
    fn row_matches(&self, applied: &Applied, fact: &MessageFact) -> bool;
    fn state_matches(&self, applied: &Applied, fact: &StateFact) -> bool;

    /// The same for a state that is only summed up.
    fn cell_matches(&self, applied: &Applied, cell: &SummaryFact) -> bool {
        let state = self.state(cell.stream, &cell.type_url);
        state.is_some_and(|state| self.state_matches(applied, &state))
    }

    fn states_of(&self, stream: StreamId) -> Vec<StateFact> {
        let summaries = self.summaries_of(stream).into_iter();
        summaries.filter_map(|cell| self.state(stream, &cell.type_url)).collect()
    }
    /// The store and the descriptors, where there are some: what contents are compared by.
    fn source(&self) -> Option<(&Store, &Schema)> {
        self.contents().map(|contents| (contents.store, contents.bodies.schema()))
    }
    /// What its client has applied of it, where a dump stands beside the source.
    fn applied(&self, _: &StateFact) -> Option<AppliedDiff> {
        None
    }
    fn read_filter(&self, text: &str) -> Result<Filter, FilterError> {
        Filter::parse(text)
    }
    /// The store and the descriptors, where there are some: what resources and refusals are read from.
    fn contents(&self) -> Option<Contents<'_>> {
        None
    }
}

/// The resources of a source, and what they mean.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    store: &'a Store,
    bodies: &'a dyn Bodies,
}

impl Contents<'_> {
    /// The types of a stream, in no order.
    pub fn types(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.store.summaries_of(stream)
    }
    /// Names of a type's resources, sent or waited for.
    pub fn names(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<Arc<str>> {
        self.store.resource_names(stream, type_url)
    }
    /// The first of them.
    pub fn first_names(&self, stream: StreamId, type_url: &TypeUrl, most: usize) -> Vec<Arc<str>> {
        self.store.first_resource_names(stream, type_url, most)
    }
    /// A number that changes when those names may have.
    pub fn names_mark(&self, stream: StreamId, type_url: &TypeUrl) -> u64 {
        self.store.names_mark(stream, type_url)
    }
    /// Whether these rows may say more of a resource than those before them.
    pub fn is_news(&self, stream: StreamId, type_url: &TypeUrl, name: &str, rows: Range<usize>) -> bool {
        self.store.is_news(stream, type_url, name, rows)
    }
    /// Which of these names a filter means, as places among them.
    pub fn pick(&self, stream: StreamId, url: &TypeUrl, names: &[Arc<str>], applied: &Applied) -> Vec<usize> {
        self.store.pick(stream, url, names, |fact| self.matches(applied, fact))
    }
    pub fn now(&self) -> Time {
        self.store.now()
    }
    /// What the other open streams have under this name.
    pub fn held_elsewhere(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Vec<ResourceFact> {
        let open = self.store.open_stream_ids().filter(|other| *other != stream);
        open.filter_map(|other| self.store.resource(other, type_url, name)).collect()
    }
    /// A number that changes when those names or their contents may have.
    pub fn mark(&self, stream: StreamId, type_url: &TypeUrl) -> u64 {
        self.store.mark(stream, type_url)
    }
    pub fn resource(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        self.store.resource(stream, type_url, name)
    }
    pub fn matches(&self, applied: &Applied, fact: &ResourceFact) -> bool {
        applied.filter.resource(fact, self.store)
    }
    /// Looks for more of the contents that a resource had.
    pub fn more_versions(
        &self,
        stream: StreamId,
        type_url: &TypeUrl,
        name: &str,
        rows: usize,
        found: &mut Versions,
    ) {
        self.store.more_versions(stream, type_url, name, rows, found);
    }
    /// Bytes of a content.
    pub fn size(&self, id: BlobId) -> u64 {
        u64::from(self.store.catalog().blob(id).size)
    }
    /// A content as protobuf JSON with the API's own field names; `None` if it was lost.
    pub fn body(&self, id: BlobId) -> Option<Value> {
        Some(self.bodies.schema().any_to_json(&self.store.catalog().bytes(id)?))
    }
    /// The first lines of a content.
    pub fn lines(&self, id: BlobId, format: Format, limit: usize) -> Vec<String> {
        self.bodies.content(self.store, id, format, limit)
    }
    /// What the field at a path of a body is, in the words of its API.
    pub fn explain(&self, body: &Value, path: &str) -> Option<String> {
        self.bodies.schema().explain_at(body, path).ok()
    }
    pub fn links(&self, body: &Value) -> Vec<Link> {
        links::links_of(self.bodies.schema(), body)
    }
    pub fn card(&self, stream: StreamId, type_url: &TypeUrl, nacks: &[NackFact]) -> NackReport {
        nack::nack_report(self.store, self.bodies.schema(), stream, type_url, nacks)
    }
}

/// Writes message bodies and JSON rows: what needs descriptors, and so belongs to the program around.
pub trait Bodies {
    fn body(&self, store: &Store, n: Seq, format: Format, limit: usize) -> Vec<String>;
    fn json(&self, store: &Store, fact: &MessageFact) -> String;
    /// The first `limit` lines of a resource's content.
    fn content(&self, store: &Store, id: BlobId, format: Format, limit: usize) -> Vec<String>;
    fn schema(&self) -> &Schema;
}

/// A [`Store`] with a writer of bodies.
pub struct StoreData<'a> {
    pub store: &'a Store,
    pub findings: &'a [Finding],
    pub bodies: &'a dyn Bodies,
    pub applied: Option<&'a AppliedState>,
}

impl Data for StoreData<'_> {
    fn rows(&self) -> usize {
        self.store.rows()
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
        self.store.problems()
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
    fn body(&self, n: Seq, format: Format, limit: usize) -> Vec<String> {
        self.bodies.body(self.store, n, format, limit)
    }
    fn json(&self, fact: &MessageFact) -> String {
        self.bodies.json(self.store, fact)
    }
    fn row_matches(&self, applied: &Applied, fact: &MessageFact) -> bool {
        applied.filter.message(fact, self.store)
    }
    fn state_matches(&self, applied: &Applied, fact: &StateFact) -> bool {
        applied.filter.state(fact, self.store)
    }
    fn cell_matches(&self, applied: &Applied, cell: &SummaryFact) -> bool {
        let view = self.store.state_view(cell);
        view.is_some_and(|view| applied.filter.state_view(&view, self.store))
    }
    fn applied(&self, state: &StateFact) -> Option<AppliedDiff> {
        self.applied?.account(state, self.store)
    }
    fn contents(&self) -> Option<Contents<'_>> {
        Some(Contents { store: self.store, bodies: self.bodies })
    }
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Live,
    /// A recording, read to its end.
    Replay,
    Disconnected,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Mode::Live => "LIVE",
            Mode::Replay => "REPLAY",
            Mode::Disconnected => "DISCONNECTED",
        }
    }
}

/// What the first line and the notice line say about the program around the screens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Verb and source: `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub source: String,
    pub mode: Mode,
    /// Name and bytes of the session file.
    pub recording: Option<(String, u64)>,
    /// The named recording that goes on beside it.
    pub named: Option<String>,
    /// Records lost by the recorder.
    pub dropped: u64,
    /// The SOURCE that prints the same facts on the command line.
    pub rerun: String,
    /// Peers whose streams end when this program ends: quitting asks first.
    pub clients: u64,
    /// What to do so that something appears, shown while there is no stream.
    pub empty: Vec<String>,
    /// Something a person should know now.
    pub notice: Option<String>,
    /// The source is a client of ours, which can be told what to say.
    pub client: bool,
    /// The source is a file that is read again as it grows.
    pub following: bool,
    /// The time cursor of a replay.
    pub bar: Option<ReplayBar>,
}

/// Up to where a live source was shown when it was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldMessage {
    /// The last message.
    pub n: Seq,
    pub now: Time,
}

/// Where the screens get their facts from while they change.
pub trait Feed {
    /// Calls `with` on the facts as they are now; they stand still meanwhile.
    fn read(&self, with: &mut dyn FnMut(&dyn Data));
    /// A number that changes whenever the facts or the [`Info`] do.
    fn revision(&self) -> u64;
    fn info(&self) -> Info;
    /// Moves the time cursor. A live source goes back in its session file, from where it is held.
    ///
    /// # Errors
    /// Why it can't, in words.
    fn replay(&self, held: Option<HeldMessage>, seek: Seek) -> Result<(), String>;
    /// Tells the client what to say; the stream shows what came of it.
    ///
    /// # Errors
    /// Why it can't, in words.
    fn tell(&self, _tell: ClientAction) -> Result<(), String> {
        Err("there is no client here".into())
    }
    /// Begins a named recording from here on; without a name ends it. What it did, in words.
    ///
    /// # Errors
    /// Why it can't, in words.
    fn record(&self, _name: Option<&str>) -> Result<String, String> {
        Err("this is a recording already: xdscope export --from --until makes a part of it".into())
    }
    /// Marks that were kept with the source.
    fn marks(&self) -> BTreeMap<char, Marked> {
        BTreeMap::new()
    }
    /// Keeps the marks with the source; false if there is no file to keep them beside.
    ///
    /// # Errors
    /// The file beside it can't be written.
    fn save_marks(&self, _marks: &BTreeMap<char, Marked>) -> io::Result<bool> {
        Ok(false)
    }
    /// Keeps a copy too large for the terminal's clipboard in a file; its path.
    fn save_copy(&self, text: &str) -> io::Result<String>;
}
