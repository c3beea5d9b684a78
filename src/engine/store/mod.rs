//! Folds frames into streams, states, resources and a bounded history, and answers queries with facts.

mod asked;
mod facts;
mod history;
mod ledger;
mod line;
mod missing_answer;
mod problems;
mod query;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;
mod unreachable;
mod versions;
mod view;

pub use crate::engine::session::SharedSemantics;
pub use asked::AskedFact;
pub use facts::*;
pub use missing_answer::{MissingAnswer, MissingAnswerCause};
pub use problems::{AskedTimes, OwedResources, Problem, ProblemFact, RefusedPush, UnreachablePeer};
pub use snapshot::{StreamsSnapshot, Waited};
pub use versions::{AcceptedFact, Verdict, VersionFact, Versions};
pub use view::StateView;

use std::sync::Arc;
use std::time::Duration;

use crate::engine::session::{Engine, Limits, Outcome, Stream};
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Seq, StreamId, Time, TypeUrl};
use crate::wire::{Frame, FramePayload, Message};
use history::History;

/// Limits that colour states. None depends on another.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `--resource-timeout`: after this a name asked for and not delivered is missing (`T_exist`, row E-46).
    pub resource_timeout: Duration,
    /// `--stale-after`: after this an unanswered push is STALE.
    pub stale_after: Duration,
    /// Bytes that the history takes up: beyond it the oldest messages are forgotten; their rows stay, and with them what
    /// the screens list.
    pub history: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            resource_timeout: Duration::from_secs(15),
            stale_after: Duration::from_secs(10),
            history: 256 << 20,
        }
    }
}

/// What a [`Store`] knew at one moment.
pub struct Checkpoint {
    engine: Engine,
    end: history::End,
    now: Time,
}

/// Everything known of one source up to now.
pub struct Store {
    catalog: Catalog,
    clock: Clock,
    now: Time,
    limits: Limits,
    engine: Engine,
    history: History,
    /// What the newest frame did.
    latest: Option<Outcome>,
    states_only: bool,
}

impl Store {
    pub fn new(catalog: Catalog, clock: Clock, options: Options) -> Store {
        let timed = !clock.untimed;
        let limits = Limits {
            timed,
            resource_timeout: timed.then_some(options.resource_timeout),
            stale_after: timed.then_some(options.stale_after),
        };
        let (engine, history) = (Engine::new(timed), History::new(options.history));
        Store { catalog, clock, now: Time::ZERO, limits, engine, history, latest: None, states_only: false }
    }
    /// Keeps streams and states only: there are no rows, and what a push changed is told by bytes, not by meaning.
    /// Before the first frame.
    pub fn keep_states_only(&mut self) {
        self.engine.compare_by_bytes();
        self.states_only = true;
    }
    /// Lets resources whose bytes differ be compared by meaning. Set before the first frame.
    pub fn set_meaning(&mut self, meaning: SharedSemantics) {
        self.engine.set_meaning(meaning);
    }
    /// Folds in the next frame. Frames come in recorded order; time never goes back.
    pub fn handle(&mut self, frame: Frame) {
        self.advance(frame.at);
        let outcome = self.engine.handle(&mut self.catalog, &frame, self.history.is_back());
        if self.states_only {
            self.latest = Some(outcome);
            return;
        }
        let message = match frame.what {
            FramePayload::Message(message) => Some(message),
            _ => None,
        };
        let stream = self.engine.index(outcome.stream).unwrap_or_default();
        let at = self.engine.streams().get(stream);
        let note =
            at.zip(message.as_deref()).and_then(|(stream, message)| ledger::note(stream, &outcome, message));
        self.history.push(stream, &outcome, message, note, &self.catalog);
        self.latest = Some(outcome);
    }
    /// A place to come back to.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { engine: self.engine.clone(), end: self.history.end(), now: self.now }
    }
    /// Goes to a place it was at, back or on. The frames that follow must be those that followed before. The
    /// catalog keeps what came later: content that no fact speaks of.
    pub fn restore(&mut self, checkpoint: &Checkpoint) {
        self.engine = checkpoint.engine.clone();
        self.history.back_to(checkpoint.end);
        self.now = checkpoint.now;
    }
    /// Moves the clock on, so that timers fire.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }
    /// What the newest frame did, for rules.
    pub(crate) fn latest(&self) -> Option<&Outcome> {
        self.latest.as_ref()
    }
    /// The streams and tracks themselves, for rules.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
    pub fn now(&self) -> Time {
        self.now
    }
    pub fn clock(&self) -> Clock {
        self.clock
    }
    /// The content alone, when nobody asks for facts any more.
    pub fn into_catalog(self) -> Catalog {
        self.catalog
    }
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }
    /// Rows of the timeline: messages, and the opening and closing of streams.
    pub fn rows(&self) -> usize {
        self.history.len()
    }
    /// One row, from 0.
    pub fn row(&self, index: usize) -> Option<MessageFact> {
        self.history.get(index).and_then(|row| self.message_fact(row))
    }
    /// One row without its names: cheap whatever it carries.
    pub fn line(&self, index: usize) -> Option<LineFact> {
        self.history.get(index).and_then(|row| self.line_fact(row))
    }
    /// Stream and type of a row: what is asked of many rows before the facts of a few.
    pub fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.history.get(index).and_then(|row| self.row_place(row))
    }
    /// The row of message `n`.
    pub fn row_of(&self, n: Seq) -> Option<usize> {
        self.history.row_of(n)
    }
    /// Messages so far (the number of the last one).
    pub fn messages(&self) -> u64 {
        self.engine.messages()
    }
    /// The message itself, for its body and its bytes. `None` once the history has forgotten it.
    pub fn message(&self, n: Seq) -> Option<Arc<Message>> {
        self.history.message(n, &self.catalog)
    }
    /// Message `n` as the frame that it came in; also if it went back to before it.
    pub fn frame(&self, n: Seq) -> Option<Frame> {
        self.history.frame(n, &self.catalog)
    }
    /// When message `n` came; also if it went back to before it.
    pub fn time_of(&self, n: Seq) -> Option<Time> {
        self.history.time_of(n)
    }
    /// Messages that the history has forgotten to stay within its bounds, the oldest.
    pub fn dropped(&self) -> u64 {
        self.history.dropped()
    }
    pub fn streams(&self) -> Vec<StreamFact> {
        self.engine.streams().iter().map(|stream| self.stream_fact(stream)).collect()
    }
    /// All streams, in the order in which they were opened. Cheap beside [`Store::streams`].
    pub fn stream_ids(&self) -> impl ExactSizeIterator<Item = StreamId> {
        self.engine.streams().iter().map(|stream| stream.id)
    }
    /// Those that are open.
    pub fn open_stream_ids(&self) -> impl Iterator<Item = StreamId> {
        self.engine.streams().iter().filter(|stream| stream.closed.is_none()).map(|stream| stream.id)
    }
    /// Messages lost in the copy, on all streams.
    pub fn gaps(&self) -> u64 {
        self.engine.streams().iter().map(|stream| stream.gaps).sum()
    }
    /// This stream, and the open ones whose node has the same id.
    pub fn streams_of_client(&self, stream: StreamId) -> Vec<StreamId> {
        let own = self.engine.stream(stream).and_then(|of| of.node_id.as_deref());
        let is_own = |of: &Stream| own.is_some() && of.closed.is_none() && of.node_id.as_deref() == own;
        let same = |of: &&Stream| of.id == stream || is_own(of);
        self.engine.streams().iter().filter(same).map(|of| of.id).collect()
    }
    pub fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.engine.stream(stream).map(|stream| self.stream_fact(stream))
    }
    /// One per stream and type, ended streams too, in order of streams, then of types.
    pub fn states(&self) -> Vec<StateFact> {
        self.tracks().map(|(stream, track)| self.state_fact(stream, track)).collect()
    }
    /// The state of one type of one stream.
    pub fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        let stream = self.engine.stream(stream)?;
        let track = stream.tracks_shown().find(|track| track.type_url == *type_url)?;
        Some(self.state_fact(stream, track))
    }
    /// The states without their names: cheap whatever they hold.
    pub fn summaries(&self) -> Vec<SummaryFact> {
        self.tracks().map(|(stream, track)| self.summary_fact(stream, track)).collect()
    }
    /// Those of one stream.
    pub fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        let stream = self.engine.stream(stream).into_iter();
        let tracks = stream.flat_map(|stream| stream.tracks_in_order().into_iter().map(move |t| (stream, t)));
        tracks.map(|(stream, track)| self.summary_fact(stream, track)).collect()
    }
    /// The NACKs that are kept, of all tracks.
    pub fn nacks(&self) -> Vec<Seq> {
        let refused = |stream: &&Stream| stream.tracks.iter().any(|track| !track.verdicts.nacks.is_empty());
        let tracks = self.engine.streams().iter().filter(refused).flat_map(|stream| stream.tracks_in_order());
        tracks.flat_map(|track| track.verdicts.nacks.iter().map(|nack| nack.n)).collect()
    }
    /// All resources of one track, in order of their first appearance; then the names that are waited for.
    pub fn resources(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<ResourceFact> {
        self.resource_facts(stream, type_url)
    }
    /// One resource, by its name or an alias.
    pub fn resource(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        self.resource_named(stream, type_url, name)
    }
    /// Unreachable peers, then states that someone must act on, then resources that are still in time, each
    /// newest first.
    pub fn problems(&self) -> Vec<ProblemFact> {
        self.problem_facts()
    }
}
