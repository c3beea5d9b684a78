//! State of a source: streams, types, resources and a bounded history, derived from frames.
//!
//! Queries return facts: plain data with resolved texts.

#![warn(missing_docs)]

mod client_marks;
mod ended;
mod facts;
mod first_push;
mod globs;
mod kept_interventions;
mod memory;
mod nonexistent;
mod owed;
mod query;
mod readability;
mod refused_by;
mod resource_query;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;
mod versions;
mod view;
mod warming;

pub use crate::session::{
    EndCause, EndKind, EventKind, MatchedVersion, NeededResource, PushedVersion, RequestSpan,
    SchemaSemantics, SharedSemantics, TtlChange,
};
pub use client_marks::{ClientMark, ClientMarks};
pub use ended::EndedStreams;
pub use ended::failing::{FailingStream, StreamFailure};
pub use ended::owed_at_end::{Debt, OwedAtEnd};
pub use ended::unreachable::UnreachablePeer;
pub use facts::*;
pub use first_push::{FirstPushFact, SentContent};
pub use globs::{GlobCollections, GlobMembers};
pub use nonexistent::AbsenceFact;
pub(crate) use nonexistent::AbsentResources;
pub use owed::missing_answer::{MissingAnswer, MissingAnswerCause};
pub use owed::pending_name::PendingNameFact;
pub use refused_by::RefusedBy;
pub use rows::details::{MessageDetails, MessageEvent, ResourceErrorFact, TtlFact};
pub use rows::exchange::Exchange;
pub use rows::offer::{OfferFact, OfferVerdict};
pub use rows::row_note::{NonceNote, NonceReadings, ResponseNote, RowNote};
pub use snapshot::{PendingRequest, StreamsSnapshot, Waited};
pub use versions::{AcceptedFact, Verdict, VerdictFact, VersionFact, Versions};
pub use view::StateView;
pub(crate) use warming::{ClientNeeds, UnrequestedCluster, UnsubscribedNames, UnsubscribedNeed};
pub use warming::{WarmingFact, WarmingUser};

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::admin::AdminFacts;
use crate::session::{Engine, Limits, Outcome, SessionEvent, Stream};
use kept_interventions::KeptInterventions;
use rows::history::{History, Row};
use xdscope_schema::Schema;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Kind, Seq, StreamId, Time, TypeUrl};
use xdscope_wire::{Frame, FramePayload, InterventionFacts, Message};

/// Limits of a store.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time after which a requested resource counts as missing: `--resource-timeout`.
    pub resource_timeout: Duration,
    /// Time after which an unanswered push counts as stale: `--stale-after`.
    pub stale_after: Duration,
    /// Bytes of the history. Beyond the limit, the oldest messages are dropped; their rows stay.
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

/// A state of a [`Store`] that can be restored.
pub struct Checkpoint {
    engine: Engine,
    end: crate::store::rows::history::End,
    now: Time,
}

/// Everything known of one source.
pub struct Store {
    catalog: Catalog,
    clock: Clock,
    now: Time,
    limits: Limits,
    engine: Engine,
    history: History,
    /// The effect of the newest frame.
    latest: Option<Outcome>,
    states_only: bool,
    /// The kind of the newest frame, if it is a message and no rows are kept.
    latest_kind: Option<MessageKind>,
    /// Ended streams that were dropped.
    dropped_streams: usize,
    /// Bytes from which old facts are dropped.
    drop_at: usize,
    /// Messages that xdscope changed or left out.
    interventions: KeptInterventions,
}

impl Store {
    /// Makes an empty store. `catalog` stores the contents, and `clock` is that of the source.
    pub fn new(mut catalog: Catalog, clock: Clock, options: Options) -> Store {
        let timed = !clock.untimed;
        let limits = Limits {
            timed,
            resource_timeout: timed.then_some(options.resource_timeout),
            stale_after: timed.then_some(options.stale_after),
        };
        let (mut engine, history) = (Engine::new(timed), History::new(options.history));
        engine.set_resource_timeout(limits.resource_timeout);
        // Names of open streams are not dropped: what exceeds the memory is not taken.
        catalog.set_max_text_bytes(options.history);
        Store {
            catalog,
            clock,
            now: Time::ZERO,
            limits,
            engine,
            history,
            latest: None,
            states_only: false,
            latest_kind: None,
            dropped_streams: 0,
            drop_at: options.history,
            interventions: KeptInterventions::default(),
        }
    }

    /// Keeps streams and states only, without rows, and compares pushes by bytes.
    ///
    /// Call before the first frame.
    pub fn keep_states_only(&mut self) {
        self.engine.compare_by_bytes();
        self.catalog.cache_compared(0);
        self.states_only = true;
    }

    /// Compares resources whose bytes differ by their descriptors. Call before the first frame.
    pub fn set_meaning(&mut self, meaning: SharedSemantics) {
        self.engine.set_meaning(meaning);
    }

    /// Handles the next frame. Frames come in recorded order; time does not go backwards.
    pub fn handle(&mut self, frame: Frame) {
        self.advance(frame.at);
        let outcome = self.engine.handle(&mut self.catalog, &frame, self.history.is_replaying());
        if self.states_only {
            let message =
                if let FramePayload::Message(message) = &frame.what { Some(&**message) } else { None };
            let row = Row::new(0, &outcome, message);
            self.latest_kind = row.n().map(|_| row.kind);
            self.latest = Some(outcome);
            return;
        }
        let message = match frame.what {
            FramePayload::Message(message) => Some(message),
            FramePayload::Intercepted(what) => {
                if let SessionEvent::Intercepted(number) = outcome.what {
                    let budget = self.history.budget();
                    self.interventions.keep(outcome.stream, number, *what, budget);
                }
                None
            }
            _ => None,
        };
        let stream = self.engine.index(outcome.stream).unwrap_or_default();
        let note = match (self.engine.streams().get(stream), message.as_deref()) {
            (Some(stream), Some(message)) => rows::ledger::note(&self.engine, stream, &outcome, message),
            _ => None,
        };
        self.history.push(stream, &outcome, message, note, &self.catalog);
        self.latest = Some(outcome);
    }

    /// Returns a checkpoint of the current state.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { engine: self.engine.clone(), end: self.history.end(), now: self.now }
    }

    /// Restores a checkpoint, earlier or later than the current state.
    ///
    /// The frames that follow must be those that followed before. The catalog keeps all contents.
    pub fn restore(&mut self, checkpoint: &Checkpoint) {
        self.engine = checkpoint.engine.clone();
        self.history.restore(checkpoint.end);
        self.now = checkpoint.now;
    }

    /// Leaves out the numbers of messages that this source lacks, so that later messages have the
    /// numbers of a recording that has all of them.
    pub fn skip_messages(&mut self, count: u64) {
        self.engine.skip_messages(count);
    }

    /// Advances the clock, on which overdue states depend.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Returns the effect of the newest frame, for rules.
    pub(crate) fn latest(&self) -> Option<&Outcome> {
        self.latest.as_ref()
    }

    /// Returns the streams and tracks, for rules.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the time limits of states.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the streams that have ended.
    pub fn ended(&self) -> EndedStreams<'_> {
        EndedStreams::new(self)
    }

    /// Returns the subscribed glob collections of a type.
    pub fn globs(&self, stream: StreamId, type_url: &TypeUrl) -> GlobCollections<'_> {
        GlobCollections::new(self, stream, type_url)
    }

    /// Returns the index of a type on a stream.
    pub fn track_of(&self, stream: StreamId, type_url: &TypeUrl) -> Option<usize> {
        self.engine.stream(stream)?.position(type_url)
    }

    /// Returns the number of types on a stream.
    pub fn track_count(&self, stream: StreamId) -> usize {
        self.engine.stream(stream).map_or(0, |stream| stream.tracks.len())
    }

    /// Returns the newest stream with an intervention by this author.
    pub fn stream_intercepted_by(&self, by: &str) -> Option<StreamId> {
        let has = |facts: &Arc<InterventionFacts>| *facts.by == *by;
        let streams = self.engine.streams().iter().filter(|stream| stream.interventions.iter().any(has));
        streams.map(|stream| stream.id).last()
    }

    /// Returns the streams in whose messages xdscope has intervened.
    pub fn intercepted_streams(&self) -> Vec<StreamId> {
        let streams = self.engine.streams().iter().filter(|stream| !stream.interventions.is_empty());
        streams.map(|stream| stream.id).collect()
    }

    /// Returns the version of a type that the client has acknowledged last.
    pub fn acknowledged_version(&self, stream: StreamId, type_url: &TypeUrl) -> Option<Arc<str>> {
        let track = self.engine.stream(stream)?.find(type_url)?;
        Some(track.version_in_force()?.as_str().into())
    }

    /// Looks for resources that cannot be decoded, in a source that no rules have read.
    pub fn find_unreadable(&mut self, schema: &Schema) {
        readability::note_unreadable(&self.engine, &mut self.catalog, schema);
    }

    /// Returns the state of a known summary.
    pub fn state_view<'a>(&'a self, summary: &'a SummaryFact) -> Option<StateView<'a>> {
        StateView::find(self, summary)
    }

    /// Returns the first push of each content on its stream, as far as messages are kept; `None` if
    /// no push on the stream has the content.
    pub fn first_pushes(&self, contents: &[SentContent<'_>]) -> Vec<Option<FirstPushFact>> {
        first_push::first_pushes(self, contents)
    }

    /// Takes a snapshot of streams.
    pub fn snapshot(&self, streams: &[StreamId]) -> StreamsSnapshot {
        StreamsSnapshot::take(self, streams)
    }

    /// Returns what tells clients with one node id apart: cluster, server or stream, whichever
    /// differs.
    pub fn client_marks(&self) -> ClientMarks {
        ClientMarks::collect(self.engine.streams().iter())
    }

    /// Returns the types of the streams, and whether each has a wildcard subscription.
    pub fn wildcards(&self, streams: &[StreamId]) -> Vec<(TypeUrl, Wildcard)> {
        let streams = streams.iter().filter_map(|stream| self.engine.stream(*stream));
        let tracks = streams.flat_map(|stream| stream.tracks_in_order());
        tracks.map(|track| (track.type_url.clone(), track.subscribed.wildcard)).collect()
    }

    /// Returns when the last condition of an open stream that is in time becomes overdue; `None` if
    /// there is none.
    ///
    /// Visits every missing name of the open streams.
    pub fn last_timer(&self) -> Option<Time> {
        let tracks = self.engine.open_streams().flat_map(|stream| stream.tracks_shown());
        let conditions = tracks.flat_map(|track| {
            let names = track.waiting.owed().map(|(_, request)| request.condition());
            names.chain(track.wildcard_owed()).chain(track.verdicts_owed())
        });
        conditions.filter_map(|condition| self.limits.due(&condition)).filter(|at| *at > self.now).max()
    }

    /// Returns the time of the newest frame, or a later one that was set by [`Store::advance`].
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the clock of the source.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the catalog and drops everything else.
    pub fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Returns the contents and names of the source.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the contents and names of the source, to add some.
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }

    /// Returns the number of rows of the timeline: messages, openings and closings of streams.
    pub fn rows(&self) -> usize {
        self.history.len()
    }

    /// Returns a row of the timeline, from 0.
    pub fn row(&self, index: usize) -> Option<MessageFact> {
        self.history.get(index).and_then(|row| self.message_fact(index, row))
    }

    /// Returns a row without its names, in constant time.
    pub fn line(&self, index: usize) -> Option<LineFact> {
        self.history.get(index).and_then(|row| self.line_fact(row))
    }

    /// Returns the stream and the type of a row.
    pub fn place_of(&self, index: usize) -> Option<(StreamId, TypeUrl)> {
        self.history.get(index).and_then(|row| self.row_place(row))
    }

    /// Returns the number and the kind of a row. Openings and closings have no number.
    pub fn kind_of(&self, index: usize) -> Option<(Option<Seq>, MessageKind)> {
        self.history.get(index).map(|row| (row.n(), self.kind_of_row(row)))
    }

    /// Returns the kind of the newest frame, if it is a message, of a store that
    /// [keeps states only](Store::keep_states_only).
    pub fn latest_kind(&self) -> Option<MessageKind> {
        self.latest_kind
    }

    /// Returns the row of message `n`.
    pub fn row_of(&self, n: Seq) -> Option<usize> {
        self.history.row_of(n)
    }

    /// Returns the number of messages, which is that of the last one.
    pub fn messages(&self) -> u64 {
        self.engine.messages()
    }

    /// Returns message `n`; `None` once the history has dropped it.
    pub fn message(&self, n: Seq) -> Option<Arc<Message>> {
        self.history.message(n, &self.catalog)
    }

    /// Returns the frame of message `n`, also if an earlier checkpoint was restored.
    pub fn frame(&self, n: Seq) -> Option<Frame> {
        self.history.frame(n, &self.catalog)
    }

    /// Returns the time of message `n`, also if an earlier checkpoint was restored.
    pub fn time_of(&self, n: Seq) -> Option<Time> {
        self.history.time_of(n)
    }

    /// Returns the number of messages that the history has dropped.
    pub fn dropped(&self) -> u64 {
        self.history.dropped()
    }

    /// Returns all streams in the order of their openings.
    pub fn streams(&self) -> Vec<StreamFact> {
        self.engine.streams().iter().map(|stream| self.stream_fact(stream)).collect()
    }

    /// Whether xdscope interfered with a stream.
    pub fn has_interventions(&self) -> bool {
        self.engine.streams().iter().any(|stream| !stream.interventions.is_empty())
    }

    /// Returns the ids of all streams in the order of their openings.
    pub fn stream_ids(&self) -> impl ExactSizeIterator<Item = StreamId> {
        self.engine.streams().iter().map(|stream| stream.id)
    }

    /// Returns the ids of the open streams.
    pub fn open_stream_ids(&self) -> impl Iterator<Item = StreamId> {
        self.engine.open_streams().map(|stream| stream.id)
    }

    /// Returns the node id of a stream, once known.
    pub fn node_of(&self, stream: StreamId) -> Option<Arc<str>> {
        self.engine.stream(stream)?.peers.node_id.clone()
    }

    /// Returns the number of messages lost in the copy, on all streams.
    pub fn gaps(&self) -> u64 {
        self.engine.streams().iter().map(Stream::lost_messages).sum()
    }

    /// Returns a stream and the other open streams of its client. With a closed stream, returns
    /// also the closed streams that were open at the same time and that no later stream continues.
    pub fn streams_of_client(&self, stream: StreamId) -> Vec<StreamId> {
        let Some(own) = self.engine.stream(stream) else { return Vec::new() };
        let Some(node) = own.peers.node_id.as_deref() else { return vec![stream] };
        let streams =
            || self.engine.streams().iter().filter(|other| other.peers.node_id.as_deref() == Some(node));
        // A new stream takes over with its first request.
        let requesting = streams().filter(|other| other.traffic.requests > 0);
        let continued: HashSet<StreamId> = requesting.filter_map(|other| other.chain.reconnect_of).collect();
        let open: HashSet<Kind> =
            streams().filter(|other| other.closed.is_none()).flat_map(|other| other.kinds()).collect();
        // The client keeps what a stream of one type has sent until another stream takes over.
        let is_kept = |other: &Stream| {
            !other.is_aggregated()
                && !own.is_aggregated()
                && !continued.contains(&other.id)
                && other.kinds().all(|kind| !open.contains(&kind))
        };
        let is_beside = |other: &Stream| match (&other.closed, &own.closed) {
            (None, _) => true,
            (Some(_), None) => is_kept(other),
            (Some((ended, _)), Some((own_ended, _))) => {
                let overlaps = other.opened < *own_ended && own.opened < *ended;
                overlaps && !continued.contains(&other.id)
            }
        };
        let is_of_client = |other: &Stream| is_beside(other) && self.engine.are_of_one_client(other, own);
        streams().filter(|other| other.id == stream || is_of_client(other)).map(|other| other.id).collect()
    }

    /// Returns the newest streams of the same client that began before a stream, newest first.
    pub fn earlier_streams(&self, stream: StreamId) -> Vec<StreamId> {
        let stream = self.engine.stream(stream);
        stream.into_iter().flat_map(|stream| self.engine.before(stream)).map(|stream| stream.id).collect()
    }

    /// Returns one stream.
    pub fn stream(&self, stream: StreamId) -> Option<StreamFact> {
        self.engine.stream(stream).map(|stream| self.stream_fact(stream))
    }

    /// Returns what the admin port of the client of a dump says. `None` for other streams.
    pub fn admin_of(&self, stream: StreamId) -> Option<AdminFacts> {
        let stream = self.engine.stream(stream).filter(|stream| stream.is_dump())?;
        AdminFacts::from_open(&stream.open)
    }

    /// Returns the states of all types, in order of streams, then of types. Closed streams are
    /// included.
    pub fn states(&self) -> Vec<StateFact> {
        self.tracks().map(|(stream, track)| self.state_fact(stream, track)).collect()
    }

    /// Returns the state of one type of a stream.
    pub fn state(&self, stream: StreamId, type_url: &TypeUrl) -> Option<StateFact> {
        let stream = self.engine.stream(stream)?;
        let track = stream.tracks_shown().find(|track| track.type_url == *type_url)?;
        Some(self.state_fact(stream, track))
    }

    /// Returns the median and the 99th percentile of the time from response to verdict on these
    /// streams, in milliseconds.
    pub fn ack_ms(&self, streams: impl Iterator<Item = StreamId>) -> Option<(f64, f64)> {
        if self.clock.untimed {
            return None;
        }
        let streams = streams.filter_map(|id| self.engine.stream(id));
        crate::session::latencies_of(streams.flat_map(|stream| stream.all_tracks()))
    }

    /// Returns all states without their names.
    pub fn summaries(&self) -> Vec<SummaryFact> {
        self.tracks().map(|(stream, track)| self.summary_fact(stream, track)).collect()
    }

    /// Returns the states of one stream without their names.
    pub fn summaries_of(&self, stream: StreamId) -> Vec<SummaryFact> {
        let stream = self.engine.stream(stream).into_iter();
        let tracks = stream.flat_map(|stream| stream.tracks_in_order().into_iter().map(move |t| (stream, t)));
        tracks.map(|(stream, track)| self.summary_fact(stream, track)).collect()
    }

    /// Returns the numbers of the kept NACKs of all types.
    pub fn nacks(&self) -> Vec<Seq> {
        let refused = |stream: &&Stream| stream.tracks.iter().any(|track| !track.verdicts.nacks.is_empty());
        let tracks = self.engine.streams().iter().filter(refused).flat_map(|stream| stream.tracks_in_order());
        tracks.flat_map(|track| track.verdicts.nacks.iter().map(|nack| nack.n)).collect()
    }

    /// Returns the resources of a type in order of their first appearance, then the missing names.
    pub fn resources(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<ResourceFact> {
        self.resource_facts(stream, type_url)
    }

    /// Returns one resource by name or alias.
    pub fn resource(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        self.resource_named(stream, type_url, name)
    }
}
