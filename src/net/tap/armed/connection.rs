use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::memory::MIN_CONNECTION_BYTES;
use super::shared_faults::Armed;
use crate::net::tap::EventReporter;
use crate::net::tap::context::RelayContext;
use crate::net::transport::{ClientProtocol, client_protocol, percent};
use xdscope_engine::filter::WireStream;
use xdscope_sources::observe::{ConnId, TapEvent};
use xdscope_sources::peers::intercept::{HoldQueue, InterceptedStream, Step};
use xdscope_wire::Interference;
use xdscope_wire::event::{Code, Dir, Method, Side, Time};
use xdscope_wire::h2::{Head, SpliceEvent, SplicedMessage, Splicer};
use xdscope_wire::text;

/// HTTP/2 error code of a scripted reset for the client: `INTERNAL_ERROR`.
const RESET_CODE: u32 = 2;

/// gRPC status of a stream that is ended because of a long message.
const RESOURCE_EXHAUSTED: Code = Code(8);

/// Bytes of messages that a connection may buffer in the direction of the window updates that it
/// is read for.
const MAX_BYTES_BESIDE_WINDOW_UPDATES: usize = 1 << 20;

/// Time after which a connection lets others use the thread while it has more to read.
const TURN: Duration = Duration::from_micros(500);

/// The time without progress after which a connection ends whose sender has gone, or that has
/// memory which others lack.
const STALL_TIME: Duration = Duration::from_secs(10);

/// The streams of one connection of an armed tap.
pub(super) struct ArmedConnection<'a> {
    armed: &'a Armed,
    reporter: EventReporter,
    conn: ConnId,
    /// `None`: the client does not speak HTTP/2, and all bytes pass.
    splicer: Option<Splicer>,
    passing: [Vec<Bytes>; 2],
    streams: BTreeMap<u32, FaultyStream>,
    has_begun: bool,
    /// A fault lets nothing pass any more.
    is_black_hole: bool,
    /// Bytes that the memory of the tap counts for this connection.
    counted: usize,
    /// Memory of the messages that wait, beside their bytes on the wire.
    waiting_bytes: usize,
    /// The time that reading has taken since others had a turn.
    busy: Duration,
    /// When bytes were read or written last.
    pub(super) progress: Instant,
    /// When the next message that waits is due; `None` after a change of any stream.
    next_due: Option<Option<Time>>,
}

enum FaultyStream {
    /// The node in the first request decides whether a fault may match.
    Undecided(Method),
    Armed(Box<InterceptedStream>),
}

fn side(dir: Dir) -> usize {
    match dir {
        Dir::Req => 0,
        Dir::Resp => 1,
    }
}

impl<'a> ArmedConnection<'a> {
    pub(super) fn new(shared: &RelayContext, conn: ConnId, armed: &'a Armed) -> ArmedConnection<'a> {
        armed.count_connection(true);
        ArmedConnection {
            armed,
            reporter: shared.reporter.clone(),
            conn,
            splicer: Some(Splicer::new(shared.changes.clone(), armed.memory.max_message())),
            passing: Default::default(),
            streams: BTreeMap::new(),
            has_begun: false,
            is_black_hole: false,
            counted: 0,
            waiting_bytes: 0,
            busy: Duration::ZERO,
            progress: Instant::now(),
            next_due: None,
        }
    }

    /// Whether the client has sent anything.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Counts the bytes in memory, with `written_later` bytes of output, and returns whether the
    /// connection may be read.
    pub(super) fn may_read(&mut self, written_later: usize) -> bool {
        let held = written_later + self.waiting_bytes + self.splicer.as_ref().map_or(0, Splicer::memory);
        self.armed.memory.update(self.conn, self.counted, held);
        self.counted = held;
        self.armed.memory.may_read(self.conn, held)
    }

    /// Returns when the connection may have stalled, if it makes no progress. `gone` has ended
    /// while its messages wait for window.
    pub(super) fn stalls_at(&self, gone: Option<Side>, may_read: bool) -> Option<Instant> {
        let is_possible = gone.is_some() || self.counted > MIN_CONNECTION_BYTES;
        // A connection that may not be read has to wait for others, which end first.
        let time = if may_read { STALL_TIME } else { 3 * STALL_TIME };
        is_possible.then(|| self.progress + time)
    }

    /// Returns an error if the connection has stalled: its sender has gone, or it has memory that
    /// others lack, and no message of it waits for a fault or a person.
    pub(super) fn check_stall(
        &mut self,
        stall: Option<Instant>,
        gone: Option<Side>,
    ) -> Result<(), (Side, io::Error)> {
        if stall.is_none_or(|stall| stall > Instant::now()) {
            return Ok(());
        }
        self.progress = Instant::now();
        let (side, what) = match gone {
            Some(side) => (side, "has ended, and the other side takes no more of its messages"),
            None if self.armed.memory.is_short(self.counted) && self.next_due().is_none() => {
                let what = "makes no progress, and others need the memory of its messages (--memory)";
                (self.largest_sender(), what)
            }
            None => return Ok(()),
        };
        let error = format!("the {} {what}; the tap is armed", side.word());
        Err((side, io::Error::new(io::ErrorKind::TimedOut, error)))
    }

    /// Returns the side whose messages take most of the memory.
    fn largest_sender(&self) -> Side {
        let buffered = |dir| self.splicer.as_ref().map_or(0, |splicer| splicer.buffered(dir));
        if buffered(Dir::Resp) > buffered(Dir::Req) { Side::Server } else { Side::Client }
    }

    /// Lets other connections use the thread after a while of reading.
    pub(super) async fn give_turn(&mut self) {
        if self.busy >= TURN {
            self.busy = Duration::ZERO;
            tokio::task::yield_now().await;
        }
    }

    /// Whether bytes of a direction have arrived and were not read yet.
    pub(super) fn has_input(&self, dir: Dir) -> bool {
        !self.is_black_hole && self.splicer.as_ref().is_some_and(|splicer| splicer.has_input(dir))
    }

    /// Whether released messages of a direction wait for window updates of the receiver.
    pub(super) fn awaits_window(&self, dir: Dir) -> bool {
        !self.is_black_hole && self.splicer.as_ref().is_some_and(|splicer| splicer.awaits_window(dir))
    }

    /// Whether messages of a direction are held, delayed, or wait for window updates.
    pub(super) fn has_waiting(&self, dir: Dir) -> bool {
        !self.is_black_hole && self.splicer.as_ref().is_some_and(|splicer| splicer.has_waiting(dir))
    }

    /// Whether the sender of a direction has to be read although the memory is full: its window
    /// updates let messages of the other direction leave.
    pub(super) fn must_read(&self, dir: Dir) -> bool {
        let buffered = self.splicer.as_ref().map_or(0, |splicer| splicer.buffered(dir));
        buffered < MAX_BYTES_BESIDE_WINDOW_UPDATES && self.awaits_window(dir.opposite())
    }

    /// Handles bytes that were read; none at the end. An error names the side that sent them.
    pub(super) fn arrived(&mut self, dir: Dir, bytes: Bytes) -> Result<(), (Side, io::Error)> {
        if dir == Dir::Req && !self.has_begun {
            self.has_begun = true;
            // Nothing to rewrite or to intercept: other protocols pass.
            if client_protocol(&bytes) != ClientProtocol::Http2 {
                self.splicer = None;
            }
        }
        if self.is_black_hole || bytes.is_empty() {
            return Ok(());
        }
        let Some(splicer) = &mut self.splicer else {
            self.passing[side(dir)].push(bytes);
            return Ok(());
        };
        splicer.push(dir, bytes);
        self.read_on(dir)
    }

    /// Reads bytes that have arrived: all, or as many as [`TURN`] and the room for output allow. An
    /// error names the side that sent them.
    pub(super) fn read_on(&mut self, dir: Dir) -> Result<(), (Side, io::Error)> {
        let begin = Instant::now();
        let result = self.read_from(begin, dir);
        self.progress = Instant::now();
        self.busy += self.progress - begin;
        result
    }

    fn read_from(&mut self, begin: Instant, dir: Dir) -> Result<(), (Side, io::Error)> {
        while let Some(splicer) = &mut self.splicer
            && !self.is_black_hole
        {
            let event = splicer.next_event(dir);
            let event = event.map_err(|error| {
                (error.by, io::Error::new(io::ErrorKind::InvalidData, format!("{error}; the tap is armed")))
            })?;
            match event {
                Some(SpliceEvent::Paused) if splicer.has_much_output(dir) || begin.elapsed() >= TURN => break,
                Some(event) => self.event(event),
                None => break,
            }
        }
        Ok(())
    }

    pub(super) fn take_output(&mut self, dir: Dir) -> Vec<Bytes> {
        let passing = std::mem::take(&mut self.passing[side(dir)]);
        match &mut self.splicer {
            _ if self.is_black_hole => Vec::new(),
            None => passing,
            Some(splicer) => splicer.take_output(dir),
        }
    }

    fn event(&mut self, event: SpliceEvent) {
        match event {
            SpliceEvent::Opened { stream, head } => self.opened(stream, &head),
            SpliceEvent::FirstRequest { message } => self.first_request(&message),
            SpliceEvent::Message { message } => self.message(message),
            SpliceEvent::TooLong { stream, bytes } => self.end_because_of_length(stream, bytes),
            SpliceEvent::Ended { stream } => self.ended(stream),
            SpliceEvent::Paused => {}
        }
    }

    fn ended(&mut self, stream: u32) {
        self.next_due = None;
        if let Some(FaultyStream::Armed(stream)) = self.streams.remove(&stream) {
            self.waiting_bytes -= stream.waiting_bytes();
            self.abandon(&stream);
        }
    }

    fn opened(&mut self, stream: u32, head: &Head) {
        let (true, Some(method)) = (head.is_grpc(), Method::of_path(&head.path)) else { return };
        // Further streams pass: a flood of streams must not take the memory.
        if self.streams.len() >= self.armed.memory.max_streams() {
            return;
        }
        if self.may_match(&method, None)
            && let Some(splicer) = &mut self.splicer
        {
            splicer.watch(stream);
            self.streams.insert(stream, FaultyStream::Undecided(method));
        }
    }

    fn may_match(&self, method: &Method, node: Option<&str>) -> bool {
        let type_url = method.implied_type();
        self.armed.may_match(&WireStream { type_url: type_url.as_ref(), node })
    }

    fn first_request(&mut self, message: &SplicedMessage) {
        let Some(FaultyStream::Undecided(method)) = self.streams.remove(&message.stream) else { return };
        let node = InterceptedStream::node_of(&method, message, self.armed.memory.max_message());
        let may_match = self.may_match(&method, Some(node.as_deref().unwrap_or_default()));
        let Some(splicer) = &mut self.splicer else { return };
        if may_match {
            let stream = new_stream(self.armed, message.stream, method);
            self.streams.insert(message.stream, FaultyStream::Armed(stream));
            splicer.arm(message.stream);
        } else {
            splicer.pass(message.stream);
        }
    }

    fn message(&mut self, message: SplicedMessage) {
        let number = message.stream;
        self.next_due = None;
        let mut stream = match self.streams.remove(&number) {
            Some(FaultyStream::Armed(stream)) => stream,
            // The first request is too long to wait for.
            Some(FaultyStream::Undecided(method)) => new_stream(self.armed, number, method),
            None => return,
        };
        let (now, schema) = (self.armed.desk.now(), self.armed.schema.clone());
        self.waiting_bytes -= stream.waiting_bytes();
        let steps = {
            let mut faults = self.armed.faults();
            self.armed.desk.with(|queue| stream.receive(message, now, (&mut faults, queue), &schema))
        };
        self.waiting_bytes += stream.waiting_bytes();
        self.streams.insert(number, FaultyStream::Armed(stream));
        self.apply(number, steps);
    }

    /// Ends a stream on which a message is longer than the tap may buffer.
    fn end_because_of_length(&mut self, number: u32, bytes: usize) {
        let stream = match self.streams.remove(&number) {
            Some(FaultyStream::Armed(stream)) => stream,
            Some(FaultyStream::Undecided(method)) => new_stream(self.armed, number, method),
            None => return,
        };
        let size = |bytes: usize| text::size(bytes as u64);
        let limit = size(self.armed.memory.max_message());
        let by = format!("the limit of {limit} for messages on armed streams (--memory)");
        let ended = stream.affected(Interference::Ended, &by.into());
        let text =
            format!("a message of {} is longer than xdscope can hold: {limit} (--memory)", size(bytes));
        self.streams.insert(number, FaultyStream::Armed(stream));
        self.apply(number, vec![ended, Step::Status(RESOURCE_EXHAUSTED, text)]);
    }

    fn apply(&mut self, stream: u32, steps: Vec<Step>) {
        for step in steps {
            let Some(splicer) = &mut self.splicer else { return };
            match step {
                Step::Settle(message) => splicer.settle(&message),
                Step::Send(message) => {
                    splicer.send(&message);
                }
                Step::Report(what) => {
                    self.reporter.report(self.conn, TapEvent::Intercepted { stream, what: Arc::new(*what) });
                }
                Step::Status(code, text) => {
                    splicer.end_with_status(stream, code.0.unsigned_abs(), &percent(&text));
                    self.ended(stream);
                }
                Step::Reset => {
                    splicer.reset(stream, RESET_CODE);
                    self.ended(stream);
                }
                Step::ResetAll(by) => self.armed.reset_all(by),
                Step::GoAway => splicer.go_away(),
                Step::Blackhole(by) => self.silence(stream, &by),
            }
        }
    }

    /// Lets nothing pass any more, because of a fault on a stream.
    fn silence(&mut self, stream: u32, by: &Arc<str>) {
        self.is_black_hole = true;
        let others: Vec<(u32, Step)> = self
            .streams
            .iter()
            .filter_map(|(number, other)| match other {
                FaultyStream::Armed(other) if *number != stream => {
                    Some((*number, other.affected(Interference::Blackholed, by)))
                }
                _ => None,
            })
            .collect();
        for (number, report) in others {
            self.apply(number, vec![report]);
        }
    }

    /// Returns when the next message that waits is due.
    pub(super) fn next_due(&mut self) -> Option<Time> {
        let streams = &self.streams;
        *self.next_due.get_or_insert_with(|| {
            let due = streams.values().filter_map(|stream| match stream {
                FaultyStream::Armed(stream) => stream.next_due(),
                FaultyStream::Undecided(_) => None,
            });
            due.min()
        })
    }

    pub(super) fn release_due(&mut self) {
        let now = self.armed.desk.now();
        self.each(|stream, queue| stream.release_due(now, queue));
    }

    /// Sends all messages that wait, unmodified and in order.
    pub(super) fn release_all(&mut self) {
        self.each(InterceptedStream::release_all);
    }

    /// Carries out what a person has decided.
    pub(super) fn decide(&mut self) {
        let now = self.armed.desk.now();
        self.each(|stream, queue| stream.decide(now, queue));
    }

    /// Resets all armed streams, because of a fault on one of the tap.
    pub(super) fn reset_all(&mut self, by: &Arc<str>) {
        self.each(|stream, _| stream.end_by(by));
    }

    fn each(&mut self, mut release: impl FnMut(&mut InterceptedStream, &mut HoldQueue) -> Vec<Step>) {
        self.next_due = None;
        let armed = self.streams.iter_mut().filter_map(|(number, stream)| match stream {
            FaultyStream::Armed(stream) => Some((*number, stream)),
            FaultyStream::Undecided(_) => None,
        });
        let desk = &self.armed.desk;
        let all: Vec<_> =
            desk.with(|queue| armed.map(|(number, stream)| (number, release(stream, queue))).collect());
        let waiting = self.streams.values().map(|stream| match stream {
            FaultyStream::Armed(stream) => stream.waiting_bytes(),
            FaultyStream::Undecided(_) => 0,
        });
        self.waiting_bytes = waiting.sum();
        for (number, steps) in all {
            self.apply(number, steps);
        }
    }
}

impl ArmedConnection<'_> {
    fn abandon(&self, stream: &InterceptedStream) {
        self.armed.desk.with(|queue| {
            stream.abandon(queue);
            queue.stream_ended();
        });
    }
}

impl Drop for ArmedConnection<'_> {
    fn drop(&mut self) {
        self.armed.memory.update(self.conn, self.counted, 0);
        for stream in std::mem::take(&mut self.streams).into_values() {
            if let FaultyStream::Armed(stream) = stream {
                self.abandon(&stream);
            }
        }
        self.armed.count_connection(false);
    }
}

fn new_stream(armed: &Armed, number: u32, method: Method) -> Box<InterceptedStream> {
    armed.desk.with(HoldQueue::stream_armed);
    Box::new(InterceptedStream::new(number, method, armed.clients.clone()))
}
