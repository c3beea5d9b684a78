//! Streams that end with an error, by client: counted when they close, never searched for.

pub(super) mod end_kind;
pub(super) mod end_series;
mod query;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::event::{Side, Time, Variant};
use xdscope_wire::{End, Open};

use super::stream::Stream;
use crate::session::condition::Limits;
use end_kind::{EndKind, is_bare, is_ended_by_client, is_reset_by_client};
use end_series::{AGE_TOLERANCE, EndCause, EndSeries, MIN_ALIKE, alike, count_cause};
use query::{is_own_query, is_refusing_query, is_single_query};

/// Ends of streams that are compared with each other.
const MAX_COMPARED_ENDS: usize = 8;

/// Shortest silence before an end that can be an idle timeout.
const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// Shortest maximum connection age: streams that end earlier, again and again, are a fault.
pub(crate) const MIN_PLANNED_AGE: Duration = Duration::from_secs(10);

/// Age from which an end without a reason looks like a maximum connection age.
const MIN_CONNECTION_AGE: Duration = Duration::from_secs(60);

/// Oldest stream whose end with an error counts as one of a series.
const MAX_SERIES_AGE: Duration = Duration::from_secs(600);

/// Longest time after which a client that has ended its stream is back at once.
const MAX_RETURN_TIME: Duration = Duration::from_secs(5);

/// The client, server and method of a stream: streams with equal keys belong to one session and are
/// counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    /// The id and the cluster of the node.
    node: Option<(String, String)>,
    /// The host of the client, if the node is unknown.
    host: Option<String>,
    server: Option<String>,
    method: String,
}

impl StreamKey {
    /// Returns the key by the node, or by the host while the node is unknown.
    pub(crate) fn from_stream(stream: &Stream) -> StreamKey {
        let (mut node, mut host) = (None, None);
        match &stream.peers.node {
            Some(known) if !known.id.is_empty() => node = Some((known.id.clone(), known.cluster.clone())),
            _ => host = stream.host().map(str::to_owned),
        }
        StreamKey { node, host, server: stream.open.server.clone(), method: stream.open.method.clone() }
    }

    /// The key of streams of the client with the method, to any server.
    pub(super) fn of_any_server(self) -> StreamKey {
        StreamKey { server: None, ..self }
    }

    /// The key of streams of the client to any server, with any method.
    pub(crate) fn of_any_endpoint(&self) -> StreamKey {
        StreamKey { server: None, method: String::new(), ..self.clone() }
    }

    /// Whether the client is that of another key, whose server or method is another one.
    pub(crate) fn is_at_other_endpoint(&self, other: &StreamKey) -> bool {
        self != other && self.of_any_endpoint() == other.of_any_endpoint()
    }

    /// The key of streams of the client that ended before their node was known.
    pub(crate) fn anonymous(stream: &Stream) -> StreamKey {
        StreamKey { node: None, host: stream.host().map(str::to_owned), ..StreamKey::from_stream(stream) }
    }
}

/// Ends with an error since the newest stream that was answered.
#[derive(Clone, Debug)]
pub(crate) struct FailureRun {
    pub(crate) series: EndSeries,
    /// Streams of the run that ended before a response, and too early for a maximum age.
    pub(crate) rejected: u64,
    /// Whether no end of the run was an error.
    pub(crate) is_graceful: bool,
    /// Whether the newest stream was answered, or needed no answer.
    pub(crate) is_served: bool,
    /// Whether the client has ended all streams of the run itself.
    is_given_up: bool,
    /// The fault or person of xdscope that has ended the streams.
    made_by: Option<Arc<str>>,
}

impl FailureRun {
    /// Whether the streams ended at a maximum connection age: all at one age, without a reason.
    pub(crate) fn is_of_old_streams(&self) -> bool {
        !self.is_served && self.rejected == 0 && self.series.has_one_age()
    }
}

/// The end of a stream that was answered.
#[derive(Clone, Copy, Debug)]
struct Cut {
    age: Duration,
    idle: Duration,
    /// Whether the end may be that of a maximum connection age.
    may_be_planned: bool,
    /// Whether the server closed the connection of a young stream without a status or a GOAWAY.
    is_abrupt: bool,
}

/// Streams in a row that were answered and then ended by the other side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts {
    pub(crate) count: u64,
    pub(crate) first: Time,
    pub(crate) last: Time,
    /// Index of the first stream.
    pub(crate) first_stream: usize,
    /// Index of the newest stream.
    pub(crate) newest: usize,
    /// The causes with their numbers, in order of their first occurrence.
    pub(crate) causes: Vec<(EndCause, u64)>,
    compared: VecDeque<Cut>,
    /// The fault or person of xdscope that has ended the streams.
    made_by: Option<Arc<str>>,
}

impl Cuts {
    /// The age at which the streams ended, if it is regular.
    pub(crate) fn age(&self) -> Option<Duration> {
        alike(self.compared.iter().map(|cut| cut.age), AGE_TOLERANCE)
    }

    /// The time from the last message to the end, if it is regular.
    pub(crate) fn idle(&self) -> Option<Duration> {
        alike(self.compared.iter().map(|cut| cut.idle), AGE_TOLERANCE)
            .filter(|idle| *idle >= MIN_IDLE_TIMEOUT)
    }

    /// Whether the cuts are a fault, and not a maximum connection age.
    pub(crate) fn is_fault(&self) -> bool {
        if self.compared.len() < MIN_ALIKE {
            return false;
        }
        let may_be_planned = self.compared.iter().all(|cut| cut.may_be_planned);
        let is_short = self.compared.iter().all(|cut| cut.age <= MAX_SERIES_AGE);
        let is_abrupt = self.compared.iter().all(|cut| cut.is_abrupt);
        match (self.idle(), self.age()) {
            (Some(_), None) => true,
            (_, Some(age)) => !may_be_planned || age < MIN_PLANNED_AGE,
            (None, None) => {
                let is_rejected = !may_be_planned || self.outlived_at() < MIN_PLANNED_AGE * 2;
                is_abrupt || (is_short && is_rejected)
            }
        }
    }

    /// The age beyond which a stream has outlived those that were cut. Ages of less than
    /// [`MIN_PLANNED_AGE`] vary with the moment of the cut.
    pub(crate) fn outlived_at(&self) -> Duration {
        let longest = self.compared.iter().map(|cut| cut.age).max();
        longest.map_or(Duration::ZERO, |longest| (longest * 2).max(MIN_PLANNED_AGE))
    }
}

/// Responses in the middle of which a client ended the streams of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutResponses {
    /// Number of responses.
    pub count: u64,
    /// Length that the newest one was to have, in bytes.
    pub bytes: u64,
}

/// The ends of the streams of one client.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamEnds {
    pub(crate) run: Option<FailureRun>,
    pub(crate) cuts: Cuts,
    /// Streams in a row that the client ended while it owed an answer to a response, or in the
    /// middle of a response.
    pub(crate) aborts: Option<EndSeries>,
    /// The responses in the middle of which the client ended those streams.
    pub(crate) cut_responses: CutResponses,
    /// Young streams in a row that the client ended although neither side owed anything, and after
    /// each of which the client was back at once.
    pub(crate) left: Option<EndSeries>,
    /// Open streams that were answered.
    pub(crate) healthy: u32,
    /// Index of the newest stream that was answered.
    pub(crate) answered: Option<usize>,
    /// Index of the newest closed stream with requests, unless a later stream was answered.
    pub(crate) unreplaced: Option<usize>,
    /// Whether that stream was a query of a tool, which owes no verdicts.
    pub(crate) is_query: bool,
    /// Index of the newest stream that the client ended while it owed an answer to a response.
    pub(crate) hung_up: Option<usize>,
    /// Whether the client has answered a response on a stream that has ended.
    has_verdicts: bool,
    /// Whether the client has accepted a response on a stream that has ended.
    has_accepted: bool,
    /// When the newest stream ended.
    closed: Option<Time>,
}

impl StreamEnds {
    /// Counts a stream that was answered: earlier failures have ended.
    fn answer(&mut self, index: usize) {
        self.healthy += 1;
        self.answered = self.answered.max(Some(index));
        self.run = None;
        self.unreplaced = self.unreplaced.filter(|closed| *closed > index);
    }

    /// Counts the end of a stream as that of a failure, a cut or a query.
    fn close(&mut self, index: usize, closed: &ClosedStream<'_>) {
        let &ClosedStream { stream, at, end, .. } = closed;
        let kind = EndKind::from_end(end);
        // A client that comes back and resets the next stream too is no tool.
        let comes_back = end.reset.is_some() && self.aborts.is_some();
        let is_own = is_own_query(closed);
        let is_query = is_own || (!self.has_verdicts && !comes_back && is_single_query(closed));
        self.has_verdicts |= stream.has_verdict() && !is_own && !self.is_refused_by_tool(closed);
        let has_accepted = stream.tracks.iter().any(|track| track.verdicts.newest_accepted.is_some());
        self.has_accepted |= has_accepted && !is_own;
        self.closed = Some(at);
        if !stream.tracks.is_empty() {
            (self.unreplaced, self.is_query) = (Some(index), is_query);
        }
        if is_own {
            return;
        }
        let age = at.since(stream.opened);
        let is_served = stream.is_answered() || self.has_been_settled(closed, kind);
        if is_served {
            self.cut(index, closed, kind);
            self.run = None;
        }
        if !is_query || end.reset.is_some() {
            self.abort(index, closed, is_served);
        }
        self.leave(index, closed, is_served && !is_query);
        if stream.owes_verdict() && !is_query && is_ended_by_client(end) {
            self.hung_up = Some(index);
        }
        let is_orderly = is_bare(end) && is_served && !has_debts(stream);
        let is_failure = match kind {
            EndKind::Error => !is_orderly,
            EndKind::Graceful => !is_served,
            EndKind::Clean => !is_served && end.by == Some(Side::Client) && stream.traffic.requests > 0,
        };
        if !is_failure || is_hidden_by(self.run.as_ref().map(|run| &run.made_by), closed) {
            return;
        }
        // Ends by the client say nothing about the server, whatever their code.
        let is_given_up = kind == EndKind::Clean || is_reset_by_client(end);
        if is_given_up && self.run.as_ref().is_some_and(|run| !run.is_given_up) {
            return;
        }
        self.run.take_if(|run| run.made_by != closed.made_by || run.is_given_up != is_given_up);
        let run = self.run.get_or_insert_with(|| FailureRun {
            series: EndSeries::new(index, at),
            rejected: 0,
            is_graceful: true,
            is_served,
            is_given_up,
            made_by: closed.made_by.clone(),
        });
        run.series.add(index, at, age, end);
        let may_be_old = is_bare(end) && age >= MIN_CONNECTION_AGE;
        run.rejected += u64::from(!is_served && !may_be_old);
        run.is_graceful &= kind != EndKind::Error;
        run.is_served = is_served;
    }

    /// Whether a tool that has accepted nothing before has refused what it asked for, and left. A
    /// client that was back at once is none.
    fn is_refused_by_tool(&self, closed: &ClosedStream<'_>) -> bool {
        let was_back = self.closed.is_some_and(|before| is_return(closed.stream, before));
        !self.has_verdicts && !self.has_accepted && !was_back && is_refusing_query(closed)
    }

    /// Notes that the client ended a stream while it owed an answer, or in the middle of a
    /// response.
    fn abort(&mut self, index: usize, closed: &ClosedStream<'_>, is_served: bool) {
        let &ClosedStream { stream, at, end, .. } = closed;
        let cut = stream.losses.not_kept.cut_response();
        if !is_ended_by_client(end) || !(stream.owes_verdict() || cut.is_some()) {
            if is_served {
                (self.aborts, self.cut_responses) = (None, CutResponses::default());
            }
            return;
        }
        let age = at.since(stream.opened);
        self.aborts.get_or_insert_with(|| EndSeries::new(index, at)).add(index, at, age, end);
        if let Some(bytes) = cut {
            self.cut_responses = CutResponses { count: self.cut_responses.count + 1, bytes };
        }
    }

    /// Notes whether the client ended a young stream although neither side owed anything.
    fn leave(&mut self, index: usize, closed: &ClosedStream<'_>, is_served: bool) {
        let &ClosedStream { stream, at, end, limits, .. } = closed;
        let age = at.since(stream.opened);
        let is_cut =
            stream.owes_verdict() || stream.is_owed() || stream.losses.not_kept.cut_response().is_some();
        let is_left = is_served
            && stream.is_grpc()
            && limits.timed
            && age < MIN_PLANNED_AGE
            && closed.made_by.is_none()
            && is_ended_by_client(end)
            && !is_cut;
        // Streams that exist side by side are those of several channels.
        self.left.take_if(|left| !is_left || !is_return(stream, left.last));
        if is_left {
            self.left.get_or_insert_with(|| EndSeries::new(index, at)).add(index, at, age, end);
        }
    }

    /// Whether a stream that has just closed without a response was healthy before. A stream
    /// that ends with an error like those before has not outlived them until the time limit for an
    /// answer has ended.
    fn has_been_settled(&self, closed: &ClosedStream<'_>, kind: EndKind) -> bool {
        let &ClosedStream { stream, at, limits, .. } = closed;
        let age = at.since(stream.opened);
        let is_young = limits.resource_timeout.is_some_and(|limit| age < limit);
        let continues_run = kind == EndKind::Error && is_young && self.run.is_some();
        limits.timed && !continues_run && self.is_settled(stream, at, limits)
    }

    /// Whether a stream without a response is healthy: the server owes nothing, or only a part
    /// of what the client asks for, because the client has stated versions that are current
    /// (docs/protocol.md#e-19). And the stream has outlived those that failed, or the time limit
    /// for an answer has ended.
    pub(crate) fn is_settled(&self, stream: &Stream, now: Time, limits: Limits) -> bool {
        if stream.traffic.requests == 0 || (stream.is_owed() && !stream.has_kept()) {
            return false;
        }
        let outlived = self.run.as_ref().map(|run| run.series.outlived_at());
        let least = [outlived, limits.resource_timeout].into_iter().flatten().min();
        !limits.timed || least.is_some_and(|least| now.since(stream.opened) >= least)
    }

    /// Whether a later stream without a response replaces the one that ended: the ended one was
    /// answered, no other has failed since, and the server may stay silent on the later one
    /// (docs/protocol.md#e-19), as long as the client requests nothing, too.
    pub(crate) fn is_replaced_by(&self, stream: &Stream) -> bool {
        let is_first = self.run.as_ref().is_some_and(|run| run.is_served && run.series.count == 1);
        is_first && !stream.is_owed()
    }

    /// Compares the end of an answered stream with those before.
    fn cut(&mut self, index: usize, closed: &ClosedStream<'_>, kind: EndKind) {
        let &ClosedStream { stream, at, end, .. } = closed;
        let age = at.since(stream.opened);
        if age >= self.cuts.outlived_at() && self.cuts.count > 0 {
            self.cuts = Cuts::default();
        }
        // A client whose connection ends without half-closing may have lost the server.
        if (kind == EndKind::Clean && end.note.is_none()) || is_reset_by_client(end) {
            self.cuts = Cuts::default();
            return;
        }
        let made_by = if self.cuts.count > 0 { Some(&self.cuts.made_by) } else { None };
        if is_hidden_by(made_by, closed) {
            return;
        }
        if self.cuts.made_by != closed.made_by {
            self.cuts = Cuts { made_by: closed.made_by.clone(), ..Cuts::default() };
        }
        let cuts = &mut self.cuts;
        if cuts.count == 0 {
            cuts.first = at;
            cuts.first_stream = index;
        }
        cuts.count += 1;
        cuts.last = at;
        cuts.newest = index;
        let idle = at.since(stream.traffic.last_message.unwrap_or(stream.opened));
        count_cause(&mut cuts.causes, end);
        let may_be_planned = kind == EndKind::Graceful || is_bare(end);
        let is_closed = end.by == Some(Side::Server) && end.status.is_none() && is_bare(end);
        let is_abrupt = is_closed && kind == EndKind::Error && age < MIN_CONNECTION_AGE;
        cuts.compared.push_back(Cut { age, idle, may_be_planned, is_abrupt });
        if cuts.compared.len() > MAX_COMPARED_ENDS {
            cuts.compared.pop_front();
        }
    }
}

/// Whether a client that ended a stream at a time is back at once with another one.
pub(crate) fn is_return(stream: &Stream, ended: Time) -> bool {
    stream.opened >= ended && stream.opened.since(ended) <= MAX_RETURN_TIME
}

/// Whether one side owed the other something at the end of a stream, or the client refused
/// something.
fn has_debts(stream: &Stream) -> bool {
    let has_refusal = || stream.tracks_shown().any(|track| track.verdicts.refusal().is_some());
    stream.is_owed() || stream.owes_verdict() || has_refusal()
}

/// Whether the end of a stream by xdscope stays out of a series of ends by a peer, whose maker is
/// `Some(None)`.
fn is_hidden_by(series: Option<&Option<Arc<str>>>, closed: &ClosedStream<'_>) -> bool {
    series.is_some_and(Option::is_none) && closed.made_by.is_some()
}

/// A stream that has just closed.
#[derive(Clone)]
struct ClosedStream<'a> {
    stream: &'a Stream,
    at: Time,
    end: &'a End,
    limits: Limits,
    /// The fault or person of xdscope that has ended it.
    made_by: Option<Arc<str>>,
}

/// Failed attempts to reach one server, or of one client, since the last stream.
#[derive(Clone, Debug)]
pub(crate) struct FailedAttempts {
    pub(crate) since: Time,
    pub(crate) count: u64,
    /// Index of the first attempt.
    pub(crate) first: usize,
    /// Index of the newest attempt.
    pub(crate) newest: usize,
}

/// A server, or a server and the host of one client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AttemptKey {
    pub(crate) server: String,
    /// The host of the client, if its own connection failed.
    pub(crate) host: Option<String>,
}

impl AttemptKey {
    fn find(stream: &Stream, end: &End) -> Option<AttemptKey> {
        let host = if end.by == Some(Side::Client) { stream.host() } else { None };
        Some(AttemptKey { server: stream.open.server.clone()?, host: host.map(str::to_owned) })
    }
}

/// How the streams of all clients ended, updated when a stream opens, is answered or closes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    by_client: HashMap<StreamKey, StreamEnds>,
    attempts: HashMap<AttemptKey, FailedAttempts>,
    /// Indices of the open streams.
    open: BTreeSet<usize>,
    /// Indices of closed streams whose client refused something at their end, and whether the
    /// client is a tool that has left.
    refusing: BTreeMap<usize, bool>,
}

impl Failures {
    /// Returns the number of clients and attempts whose ends are counted.
    pub(super) fn len(&self) -> usize {
        self.by_client.len() + self.attempts.len() + self.open.len() + self.refusing.len()
    }

    pub(crate) fn opened(&mut self, index: usize) {
        self.open.insert(index);
    }

    /// Forgets the ends of clients of which no stream is kept.
    pub(super) fn retain(&mut self, kept: &BTreeSet<usize>) {
        self.by_client.retain(|_, ends| {
            let run = ends.run.as_ref().map(|run| run.series.newest);
            let aborts = ends.aborts.as_ref().map(|series| series.newest);
            let left = ends.left.as_ref().map(|series| series.newest);
            let cuts = Some(ends.cuts.newest);
            let newest = [run, aborts, left, ends.answered, ends.unreplaced, ends.hung_up, cuts];
            ends.healthy > 0 || newest.iter().flatten().any(|index| kept.contains(index))
        });
        self.attempts.retain(|_, attempts| kept.contains(&attempts.newest));
        self.refusing.retain(|index, _| kept.contains(index));
    }

    /// Indices of the open streams, in order of their openings.
    pub(crate) fn open_streams(&self) -> impl Iterator<Item = usize> {
        self.open.iter().copied()
    }

    /// Closed streams whose client refused something at their end, as in `refusing`.
    pub(crate) fn refusing_streams(&self) -> impl Iterator<Item = (usize, bool)> {
        self.refusing.iter().map(|(index, is_tool)| (*index, *is_tool))
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = (&StreamKey, &StreamEnds)> {
        self.by_client.iter()
    }

    pub(crate) fn attempts(&self) -> impl Iterator<Item = (&AttemptKey, &FailedAttempts)> {
        self.attempts.iter()
    }

    /// Returns the failed attempts that a connection without a stream belongs to.
    pub(crate) fn attempts_of(&self, stream: &Stream) -> Option<(&AttemptKey, &FailedAttempts)> {
        let (_, end) = stream.closed.as_ref()?;
        self.attempts.get_key_value(&AttemptKey::find(stream, end)?)
    }

    /// Returns how the streams of a stream's client ended.
    pub(crate) fn of_stream(&self, stream: &Stream) -> Option<&StreamEnds> {
        self.of_client(&StreamKey::from_stream(stream))
    }

    /// Returns how the streams of a client ended.
    pub(crate) fn of_client(&self, key: &StreamKey) -> Option<&StreamEnds> {
        self.by_client.get(key)
    }

    /// Notes the first response on a stream.
    pub(crate) fn answered(&mut self, index: usize, stream: &Stream) {
        self.reached(index, stream);
        if !is_counted(stream) {
            return;
        }
        self.by_client.entry(StreamKey::from_stream(stream)).or_default().answer(index);
        if stream.peers.node.is_some() {
            self.by_client.remove(&StreamKey::anonymous(stream));
        }
    }

    /// Notes that a stream is about to end: a server whose response xdscope has withheld has
    /// answered, and does not reject the stream.
    pub(crate) fn ending(&mut self, index: usize, stream: &mut Stream, end: &End) {
        if end.by == Some(Side::Server) && !stream.traffic.has_response && stream.has_withheld_response() {
            stream.traffic.has_response = true;
            self.answered(index, stream);
        }
    }

    /// Notes the end of a stream.
    pub(crate) fn closed(&mut self, index: usize, stream: &Stream, limits: Limits) {
        self.open.remove(&index);
        let Some((at, end)) = &stream.closed else { return };
        if stream.open.method == Open::NOTHING {
            return self.attempt_failed(index, stream, *at, end);
        }
        if end.status.is_some() {
            self.reached(index, stream);
        }
        if !is_counted(stream) {
            return;
        }
        if stream.traffic.has_response {
            // The node may have become known after the first response.
            let known = [StreamKey::from_stream(stream), StreamKey::anonymous(stream)];
            let key = known.iter().find(|key| self.by_client.get(key).is_some_and(|ends| ends.healthy > 0));
            if let Some(ends) = key.and_then(|key| self.by_client.get_mut(key)) {
                ends.healthy -= 1;
            }
        }
        let made_by = stream.ended_by_xdscope().map(|facts| facts.by.clone());
        let closed = ClosedStream { stream, at: *at, end, limits, made_by };
        let ends = self.by_client.entry(StreamKey::from_stream(stream)).or_default();
        let is_refusing = stream.tracks.iter().any(|track| track.verdicts.refusal().is_some());
        if is_refusing && !is_own_query(&closed) {
            self.refusing.insert(index, ends.is_refused_by_tool(&closed));
        }
        ends.close(index, &closed);
    }

    /// Counts a connection that had no stream.
    fn attempt_failed(&mut self, index: usize, stream: &Stream, at: Time, end: &End) {
        let Some(key) = AttemptKey::find(stream, end) else { return };
        let attempts = self.attempts.entry(key);
        let since = stream.opened.min(at);
        let attempts = attempts.or_insert(FailedAttempts { since, count: 0, first: index, newest: index });
        (attempts.count, attempts.newest) = (attempts.count + 1, index);
    }

    /// Notes the response to a poll: the server can be reached, however old the stream is.
    pub(crate) fn polled(&mut self, index: usize, stream: &mut Stream) {
        if !stream.traffic.has_response {
            stream.traffic.has_response = true;
            self.answered(index, stream);
        }
        if !self.attempts.is_empty() {
            self.reached(usize::MAX, stream);
        }
    }

    /// Forgets the attempts before a stream that reached its server.
    fn reached(&mut self, index: usize, stream: &Stream) {
        if self.attempts.is_empty() {
            return;
        }
        let Some(server) = stream.open.server.clone() else { return };
        let mut key = AttemptKey { server, host: None };
        for host in [None, stream.host()] {
            key.host = host.map(str::to_owned);
            if self.attempts.get(&key).is_some_and(|attempts| attempts.newest < index) {
                self.attempts.remove(&key);
            }
        }
    }
}

/// Whether the ends of a stream say something about xDS.
pub(crate) fn is_counted(stream: &Stream) -> bool {
    !matches!(stream.variant(), Some(Variant::File) | None)
}
