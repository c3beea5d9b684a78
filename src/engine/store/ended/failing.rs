//! Streams that the server ends, refuses or loses, while the client has no healthy one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::session::{
    CutResponses, Cuts, EndCause, EndKind, EndSeries, FailureRun, MIN_PLANNED_AGE, SETTLE_TIME, Stream,
    StreamEnds, StreamKey, Track, is_counted, is_ended_by_client,
};
use xdscope_wire::InterventionFacts;
use xdscope_wire::event::{Code, Seq, Side, StreamId, Time, TypeUrl, Variant};

use super::EndedStreams;
use super::failover::covers;
use crate::store::{EndFact, OwedAtEnd};

/// Streams that a client ends after a push before the series is a fault.
const MIN_ABORTS: u64 = 3;

/// The status of a stream whose server restarts.
const UNAVAILABLE: Code = Code(14);

/// Healthy streams in a row that a client ends before that is a fault.
const MIN_LEFT: u64 = 10;

/// The way in which the streams of a client fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFailure {
    /// The newest streams ended before a response.
    Rejected,
    /// The stream was answered and ended with an error, and no later one was answered.
    Lost,
    /// Streams are answered, but each is cut off.
    Cut,
    /// The client ends each stream after a push that it has not answered, or in the middle of one.
    Aborted,
    /// The client ends each stream soon, although nothing is wrong, and opens the next one at once.
    Left,
}

/// The streams of a client to one server that end with an error, without a healthy one since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingStream {
    /// The way in which the streams fail.
    pub failure: StreamFailure,
    /// The newest stream that ended.
    pub stream: StreamId,
    /// The first stream that ended.
    pub first_stream: StreamId,
    /// The node id, if a request has it.
    pub node: Option<Arc<str>>,
    /// The address of the client, on a tap.
    pub peer: Option<String>,
    /// The address of the server.
    pub server: Option<String>,
    /// The streams are REST polls.
    pub is_polling: bool,
    /// How the newest stream ended.
    pub end: EndFact,
    /// No end was an error: the server or a proxy closed each stream in order.
    pub is_graceful: bool,
    /// Number of ends.
    pub count: u64,
    /// Streams among them that ended before a response, too early for a maximum connection age.
    pub rejected: u64,
    /// When the first stream ended.
    pub first: Time,
    /// When the newest stream ended.
    pub last: Time,
    /// The interval between the ends, if it is regular.
    pub period: Option<Duration>,
    /// The newest interval between the ends, if the intervals grow.
    pub back_off: Option<Duration>,
    /// How often the streams ended with each cause, if there is more than one.
    pub causes: Vec<(EndCause, u64)>,
    /// The responses in the middle of which the client ended the streams.
    pub cut_responses: CutResponses,
    /// The age at which streams are cut or left, if it is regular.
    pub cut_age: Option<Duration>,
    /// The silence after which streams are cut, if it is regular.
    pub cut_idle: Option<Duration>,
    /// The age of the newest stream at its end; `None` without timestamps.
    pub age: Option<Duration>,
    /// The time from the newest stream's last message to its end.
    pub idle: Option<Duration>,
    /// The last request on the newest stream, and its type.
    pub last_request: Option<(Seq, TypeUrl)>,
    /// Answers that were owed when the newest stream ended.
    pub owed: Vec<OwedAtEnd>,
    /// The client ended the newest stream while the server was late with an answer.
    pub is_given_up: bool,
    /// Whether the client has opened another stream to the server since the first one ended.
    pub has_come_back: bool,
    /// Whether the client has streams to other servers.
    pub has_other_server: bool,
    /// The intervention of xdscope that has ended the newest stream.
    pub caused_by: Option<Arc<InterventionFacts>>,
}

impl FailingStream {
    /// Whether the client ended each of the streams in the middle of a response.
    pub fn is_in_response(&self) -> bool {
        self.cut_responses.count > 0 && self.cut_responses.count == self.count
    }

    /// Returns the answer that the client owed to a response when its newest stream ended.
    pub fn unanswered_response(&self) -> Option<&OwedAtEnd> {
        self.owed.iter().find(|owed| owed.debt.side() == Side::Client)
    }

    /// The side that ends the streams, if the source says so.
    pub fn by(&self) -> Option<Side> {
        self.end.by
    }

    /// The side at fault, if it is known: the one that ends the streams, does not answer
    /// PINGs, or is late with an answer.
    pub fn at_fault(&self) -> Option<Side> {
        match self.by() {
            // The client sends as many PINGs as it is told, and the server decides on the limit.
            _ if self.end.is_too_many_pings() => None,
            Some(Side::Client) if self.end.is_keepalive_timeout() => Some(Side::Server),
            Some(Side::Server) if self.end.is_keepalive_timeout() => Some(Side::Client),
            Some(Side::Client) if self.is_given_up => Some(Side::Server),
            by => by,
        }
    }
}

/// The newest open streams without a response on which the server owes nothing, or not yet: their
/// indices, by client.
type SilentStreams<'a> = HashMap<StreamKey, (usize, &'a Stream)>;

impl EndedStreams<'_> {
    /// Returns the clients whose streams fail, the newest failure first.
    ///
    /// A failure has ended when a later stream of the client to that server is answered, or owes
    /// nothing and, after repeated failures, outlives them.
    pub fn failing_streams(&self) -> Vec<FailingStream> {
        let silent = self.silent_streams();
        let clients = self.store.engine.failures().clients();
        let failing = clients.filter_map(|(key, ends)| {
            let silent = silent.get(key).copied();
            let mut failing = self.failing(ends, silent, self.store.now)?;
            let newest = ends.unreplaced.and_then(|index| self.store.engine.streams().get(index));
            failing.has_come_back |=
                silent.is_some() || newest.is_some_and(|newest| newest.opened >= failing.last);
            Some((failing, ends))
        });
        let failing: Vec<(FailingStream, &StreamEnds)> = failing.collect();
        if failing.is_empty() {
            return Vec::new();
        }
        let servers = self.servers();
        // A client that is refused at once requests nothing on its newest stream.
        let is_open = |(failing, ends): &(FailingStream, &StreamEnds)| {
            let requesting = ends.unreplaced.and_then(|index| self.store.engine.streams().get(index));
            let newest = requesting.or_else(|| self.store.engine.stream(failing.stream));
            let Some(newest) = newest else { return true };
            let is_lost = failing.failure == StreamFailure::Lost;
            let is_quiet = is_lost && servers.is_silent_after(&self.store.catalog, newest, ends);
            !is_quiet && !servers.has_replaced(&self.store.catalog, newest, failing.first)
        };
        let open = failing.into_iter().filter(is_open);
        let mut out: Vec<FailingStream> = open.map(|(failing, _)| failing).collect();
        for failing in &mut out {
            let newest = self.store.engine.stream(failing.stream);
            failing.has_other_server = newest.is_some_and(|newest| servers.has_other(newest));
        }
        let mut owed: HashMap<StreamId, Vec<OwedAtEnd>> = HashMap::new();
        for answer in self.owed_at_end() {
            owed.entry(answer.stream).or_default().push(answer);
        }
        for failing in &mut out {
            failing.owed = owed.remove(&failing.stream).unwrap_or_default();
        }
        out.sort_by_key(|failing| std::cmp::Reverse((failing.last, failing.stream)));
        out
    }

    /// Returns the clients whose streams fail, except those that may just reconnect.
    pub fn lasting_failures(&self) -> Vec<FailingStream> {
        let mut failing = self.failing_streams();
        failing.retain(|failing| !self.may_reconnect(failing));
        failing
    }

    /// Whether the client of a healthy stream that ended with UNAVAILABLE, as it does when a server
    /// restarts, is in time with its next stream.
    fn may_reconnect(&self, failing: &FailingStream) -> bool {
        let is_first = failing.failure == StreamFailure::Lost && failing.count == 1;
        let is_restart = failing.end.code == Some(UNAVAILABLE) && failing.caused_by.is_none();
        let is_in_time = self.store.limits.timed && self.store.now.since(failing.last) < SETTLE_TIME;
        let stream = self.store.engine.stream(failing.stream);
        let has_refusal = |track: &Track| track.verdicts.refusal().is_some();
        let is_healthy = failing.owed.is_empty()
            && stream.is_some_and(|stream| !stream.owes_verdict() && !stream.tracks_shown().any(has_refusal));
        is_first && is_restart && is_in_time && is_healthy
    }

    /// Returns how the client of a closed stream fails, healthy streams aside.
    pub(crate) fn failure_at(&self, stream: &Stream) -> Option<FailingStream> {
        let ends = self.store.engine.failures().of_stream(stream)?;
        let failures = [self.cut(&ends.cuts), self.aborted(ends), self.rejected(ends), self.left(ends)];
        failures.into_iter().flatten().find(|failing| failing.stream == stream.id)
    }

    /// Whether the streams of a stream's client to its server fail at a time.
    pub(crate) fn still_fails(&self, index: usize, stream: &Stream, now: Time) -> bool {
        let Some(ends) = self.store.engine.failures().of_stream(stream) else { return false };
        let is_open = stream.closed.is_none();
        let silent = if is_open && is_silent(stream) { Some((index, stream)) } else { None };
        self.failing(ends, silent, now).is_some()
    }

    /// Returns the first time after `now` at which an open stream, by its age alone, can show that
    /// the streams of its client fail no longer.
    pub(crate) fn outlives_failures_at(&self, stream: &Stream, now: Time) -> Option<Time> {
        let ends = self.store.engine.failures().of_stream(stream)?;
        let run = ends.run.as_ref().map(|run| run.series.outlived_at());
        let ages = [Some(ends.cuts.outlived_at()), run, self.store.limits.resource_timeout];
        ages.into_iter().flatten().map(|age| stream.opened.after(age)).filter(|at| *at > now).min()
    }

    /// Returns the newest open stream of each client that has requests and no response, or on which
    /// the client requests nothing of what it had.
    fn silent_streams(&self) -> SilentStreams<'_> {
        let mut out = SilentStreams::new();
        for index in self.store.engine.failures().open_streams() {
            let Some(stream) = self.store.engine.streams().get(index) else { continue };
            if is_silent(stream) {
                out.insert(StreamKey::from_stream(stream), (index, stream));
            } else if let Some(before) = self.left_by_unrequested(stream) {
                out.insert(StreamKey::from_stream(before), (index, stream));
            }
        }
        out
    }

    /// Returns how the streams of a client fail, unless a later stream is healthy. `silent`: the
    /// newest open stream without a response.
    fn failing(
        &self,
        ends: &StreamEnds,
        silent: Option<(usize, &Stream)>,
        now: Time,
    ) -> Option<FailingStream> {
        let answered = match ends.answered {
            Some(index) if ends.healthy > 0 => self.store.engine.streams().get(index),
            _ => None,
        };
        let ended = [
            ends.run.as_ref().map(|run| run.series.newest),
            ends.aborts.as_ref().map(|aborts| aborts.newest),
            ends.left.as_ref().map(|left| left.newest),
            (ends.cuts.count > 0).then_some(ends.cuts.newest),
        ];
        let answered = answered.filter(|stream| self.continues(stream, ended.iter().flatten().max()));
        let silent = silent.filter(|(index, _)| ended.iter().flatten().all(|ended| ended < index));
        let settled = silent.filter(|(_, stream)| {
            ends.is_replaced_by(stream)
                || ends.is_settled(stream, now, self.store.limits)
                || self.is_overdue(stream, now)
        });
        let Some(healthy) = answered.or(settled.map(|(_, stream)| stream)) else {
            let failures = [self.cut(&ends.cuts), self.aborted(ends), self.rejected(ends), self.left(ends)];
            return failures.into_iter().flatten().next();
        };
        let age = now.since(healthy.opened);
        let timed = self.store.limits.timed;
        if timed
            && age < ends.cuts.outlived_at()
            && let Some(cut) = self.cut(&ends.cuts)
        {
            return Some(cut);
        }
        // The stream may be in the middle of a response, too.
        let is_in_response = || {
            let has_unanswered = healthy.tracks.iter().any(|track| track.traffic.pushes == 0);
            let outlived_at = ends.aborts.as_ref().map(EndSeries::outlived_at);
            let is_young = timed && outlived_at.is_some_and(|outlived| age < outlived);
            ends.cut_responses.count > 0 && has_unanswered && is_young
        };
        // The client has not answered the response since on which it ended its stream.
        let is_unsettled = || {
            let hung_up = ends.hung_up.and_then(|index| self.store.engine.streams().get(index));
            hung_up.is_some_and(|stream| self.verdicts_owed_since(stream, Some(healthy)).next().is_some())
        };
        if let Some(aborted) = self.aborted(ends)
            && (healthy.owes_verdict() || is_in_response() || is_unsettled())
        {
            return Some(aborted);
        }
        if timed && age < MIN_PLANNED_AGE { self.left(ends) } else { None }
    }

    /// Whether a stream continues with what the newest stream that ended was for: a later one, or
    /// one that was open already and asks for the same.
    fn continues(&self, stream: &Stream, ended: Option<&usize>) -> bool {
        let ended = ended.and_then(|index| self.store.engine.streams().get(*index));
        ended.is_none_or(|ended| {
            let is_later = ended.closed.as_ref().is_none_or(|(closed, _)| stream.opened >= *closed);
            is_later || covers(&self.store.catalog, stream, ended)
        })
    }

    /// Whether the server owes an answer on a stream for too long: a problem of its own, which is
    /// not that the stream ends.
    fn is_overdue(&self, stream: &Stream, now: Time) -> bool {
        let age = now.since(stream.opened);
        let is_late = self.store.limits.resource_timeout.is_some_and(|limit| age >= limit);
        self.store.limits.timed && stream.traffic.requests > 0 && is_late
    }

    /// Returns the streams that the server refused, or that were lost.
    fn rejected(&self, ends: &StreamEnds) -> Option<FailingStream> {
        let run = ends.run.as_ref().filter(|run| !run.is_of_old_streams())?;
        let FailureRun { series, rejected, is_graceful, is_served, .. } = run;
        let newest = self.store.engine.streams().get(series.newest)?;
        // A client that ends one stream itself may just have been stopped.
        let end = EndKind::from_end(&newest.closed.as_ref()?.1);
        if end == EndKind::Clean && series.count < 2 {
            return None;
        }
        let failure = if *is_served { StreamFailure::Lost } else { StreamFailure::Rejected };
        let (rejected, is_graceful) = (*rejected, *is_graceful);
        Some(FailingStream { failure, rejected, is_graceful, ..self.of_series(newest, series) })
    }

    /// Returns the streams that the client ended after a push.
    fn aborted(&self, ends: &StreamEnds) -> Option<FailingStream> {
        let series = ends.aborts.as_ref().filter(|series| series.count >= MIN_ABORTS)?;
        let newest = self.store.engine.streams().get(series.newest)?;
        let cut_responses = ends.cut_responses;
        let failure = StreamFailure::Aborted;
        Some(FailingStream { failure, cut_responses, ..self.of_series(newest, series) })
    }

    /// Returns the healthy streams that the client ended.
    fn left(&self, ends: &StreamEnds) -> Option<FailingStream> {
        let series = ends.left.as_ref().filter(|series| series.count >= MIN_LEFT)?;
        let newest = self.store.engine.streams().get(series.newest)?;
        let (failure, cut_age) = (StreamFailure::Left, series.age());
        Some(FailingStream { failure, cut_age, ..self.of_series(newest, series) })
    }

    /// Returns the streams that were answered, and cut by the other side again and again.
    fn cut(&self, cuts: &Cuts) -> Option<FailingStream> {
        if !self.store.limits.timed || !cuts.is_fault() {
            return None;
        }
        let newest = self.store.engine.streams().get(cuts.newest)?;
        Some(FailingStream {
            failure: StreamFailure::Cut,
            first_stream: self.stream_id(cuts.first_stream).unwrap_or(newest.id),
            count: cuts.count,
            first: cuts.first,
            last: cuts.last,
            causes: several(&cuts.causes),
            cut_age: cuts.age(),
            cut_idle: cuts.idle(),
            ..self.failing_stream(newest)
        })
    }

    /// Returns the facts of a series of ends.
    fn of_series(&self, newest: &Stream, series: &EndSeries) -> FailingStream {
        FailingStream {
            first_stream: self.stream_id(series.first_stream).unwrap_or(newest.id),
            count: series.count,
            has_come_back: series.count > 1,
            first: series.first,
            last: series.last,
            period: if self.store.limits.timed { series.period() } else { None },
            back_off: if self.store.limits.timed { series.back_off() } else { None },
            causes: several(&series.causes),
            ..self.failing_stream(newest)
        }
    }

    fn stream_id(&self, index: usize) -> Option<StreamId> {
        self.store.engine.streams().get(index).map(|stream| stream.id)
    }

    /// Returns the facts of the newest stream that ended.
    fn failing_stream(&self, newest: &Stream) -> FailingStream {
        let at = newest.closed.as_ref().map(|(at, _)| *at);
        let closed = if self.store.limits.timed { at } else { None };
        let opened = if newest.open.partial { None } else { Some(newest.opened) };
        let of_type = |n: &Seq| newest.tracks.iter().find(|track| track.traffic.last_request == Some(*n));
        let type_of = |n: Seq| of_type(&n).map(|track| track.type_url.clone()).unwrap_or_default();
        FailingStream {
            failure: StreamFailure::Rejected,
            stream: newest.id,
            first_stream: newest.id,
            node: newest.peers.node_id.clone(),
            peer: newest.open.peer.clone(),
            server: newest.open.server.clone(),
            is_polling: newest.variant() == Some(Variant::Rest),
            end: newest.closed.as_ref().map(|(_, end)| EndFact::from(end)).unwrap_or_default(),
            is_graceful: false,
            count: 1,
            rejected: 0,
            first: at.unwrap_or_default(),
            last: at.unwrap_or_default(),
            period: None,
            back_off: None,
            causes: Vec::new(),
            cut_responses: CutResponses::default(),
            cut_age: None,
            cut_idle: None,
            age: closed.zip(opened).map(|(at, opened)| at.since(opened)),
            idle: closed.zip(newest.traffic.last_message).map(|(at, message)| at.since(message)),
            last_request: newest.traffic.last_request.map(|n| (n, type_of(n))),
            owed: Vec::new(),
            is_given_up: closed.is_some_and(|at| newest.is_overdue(at, self.store.limits))
                && newest.closed.as_ref().is_some_and(|(_, end)| is_ended_by_client(end)),
            has_come_back: false,
            has_other_server: false,
            caused_by: newest.ended_by_xdscope().cloned(),
        }
    }
}

/// Whether the stream has requests and no response.
fn is_silent(stream: &Stream) -> bool {
    !stream.traffic.has_response && stream.traffic.requests > 0 && is_counted(stream)
}

/// Returns the causes if there is more than one.
fn several(causes: &[(EndCause, u64)]) -> Vec<(EndCause, u64)> {
    if causes.len() > 1 { causes.to_vec() } else { Vec::new() }
}
