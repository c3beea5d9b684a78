//! Streams that the server ends, refuses or loses, while the client has no healthy one.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::session::{Cuts, EndKind, FailureRun, Stream, StreamEnds};
use crate::wire::event::{Seq, Side, StreamId, Time, TypeUrl};

use super::{EndFact, Store};

/// The way in which the streams of a client fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFailure {
    /// The newest streams ended before a response.
    Rejected,
    /// The stream was answered and ended with an error, and no later one was answered.
    Lost,
    /// Streams are answered, but each is cut off.
    Cut,
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
    /// The age at which streams are cut, if it is regular.
    pub cut_age: Option<Duration>,
    /// The silence after which streams are cut, if it is regular.
    pub cut_idle: Option<Duration>,
    /// The age of the newest stream at its end; `None` without timestamps.
    pub age: Option<Duration>,
    /// The time from the newest stream's last message to its end.
    pub idle: Option<Duration>,
    /// The last request on the newest stream, and its type.
    pub last_request: Option<(Seq, TypeUrl)>,
}

impl FailingStream {
    /// The side that ends the streams.
    pub fn by(&self) -> Side {
        self.end.by.unwrap_or(Side::Server)
    }
}

impl Store {
    /// Returns the clients whose streams fail, the newest failure first.
    ///
    /// A failure is over when a later stream of the client to that server is answered and, after
    /// repeated cuts, outlives them.
    pub fn failing_streams(&self) -> Vec<FailingStream> {
        let clients = self.engine.failures().clients();
        let mut out: Vec<FailingStream> = clients.filter_map(|ends| self.failing(ends)).collect();
        out.sort_by_key(|failing| std::cmp::Reverse((failing.last, failing.stream)));
        out
    }

    /// Returns how the client of a closed stream fails, healthy streams aside.
    pub(crate) fn failure_at(&self, stream: &Stream) -> Option<FailingStream> {
        let ends = self.engine.failures().of(stream)?;
        let is_own = |failing: &FailingStream| failing.stream == stream.id;
        self.cut(&ends.cuts).filter(is_own).or_else(|| self.rejected(ends).filter(is_own))
    }

    fn failing(&self, ends: &StreamEnds) -> Option<FailingStream> {
        let healthy_since = ends.answered.filter(|_| ends.healthy > 0);
        let healthy = healthy_since.and_then(|index| self.engine.streams().get(index));
        let Some(healthy) = healthy else { return self.cut(&ends.cuts).or_else(|| self.rejected(ends)) };
        let age = self.now.since(healthy.opened);
        self.cut(&ends.cuts).filter(|_| self.limits.timed && age <= ends.cuts.outlived_at())
    }

    fn rejected(&self, ends: &StreamEnds) -> Option<FailingStream> {
        let run = ends.run.as_ref()?;
        let newest = self.engine.streams().get(run.newest)?;
        // A client that ends one stream itself may just have been stopped.
        let end = EndKind::of(&newest.closed.as_ref()?.1);
        if end == EndKind::Clean && run.count < 2 {
            return None;
        }
        let FailureRun { first_stream, first, last, count, rejected, is_graceful, .. } = *run;
        let failure = if newest.is_answered() { StreamFailure::Lost } else { StreamFailure::Rejected };
        let period = run.period().filter(|_| self.limits.timed);
        let series = Series { first_stream, first, last, count, rejected, is_graceful, period };
        Some(FailingStream { failure, ..self.failing_stream(newest, series) })
    }

    fn cut(&self, cuts: &Cuts) -> Option<FailingStream> {
        if !self.limits.timed || !cuts.is_fault() {
            return None;
        }
        let newest = self.engine.streams().get(cuts.newest)?;
        let Cuts { first_stream, first, last, count, .. } = *cuts;
        let series =
            Series { first_stream, first, last, count, rejected: 0, is_graceful: false, period: None };
        Some(FailingStream {
            failure: StreamFailure::Cut,
            cut_age: cuts.age(),
            cut_idle: cuts.idle(),
            ..self.failing_stream(newest, series)
        })
    }

    fn failing_stream(&self, newest: &Stream, series: Series) -> FailingStream {
        let Series { first_stream, first, last, count, rejected, is_graceful, period } = series;
        let closed = newest.closed.as_ref().map(|(at, _)| *at).filter(|_| self.limits.timed);
        let of_type = |n: &Seq| newest.tracks.iter().find(|track| track.traffic.last_request == Some(*n));
        let type_of = |n: Seq| of_type(&n).map(|track| track.type_url.clone()).unwrap_or_default();
        FailingStream {
            failure: StreamFailure::Rejected,
            stream: newest.id,
            first_stream: self.engine.streams().get(first_stream).map_or(newest.id, |first| first.id),
            node: newest.node_id.clone(),
            peer: newest.open.peer.clone(),
            server: newest.open.server.clone(),
            end: newest.closed.as_ref().map(|(_, end)| EndFact::from(end)).unwrap_or_default(),
            is_graceful,
            count,
            rejected,
            first,
            last,
            period,
            cut_age: None,
            cut_idle: None,
            age: closed.filter(|_| !newest.open.partial).map(|at| at.since(newest.opened)),
            idle: closed.zip(newest.last_message).map(|(at, message)| at.since(message)),
            last_request: newest.last_request.map(|n| (n, type_of(n))),
        }
    }
}

/// Ends that count as one failure.
struct Series {
    /// Index of the first stream.
    first_stream: usize,
    first: Time,
    last: Time,
    count: u64,
    rejected: u64,
    is_graceful: bool,
    period: Option<Duration>,
}
