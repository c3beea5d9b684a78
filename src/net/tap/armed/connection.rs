use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::shared_faults::Armed;
use crate::net::tap::EventReporter;
use crate::net::transport::{ClientProtocol, client_protocol, percent};
use xdscope_engine::filter::WireStream;
use xdscope_sources::observe::{ConnId, TapEvent};
use xdscope_sources::peers::intercept::{HoldQueue, InterceptedStream, Step};
use xdscope_wire::Interference;
use xdscope_wire::event::{Code, Dir, Method, Side};
use xdscope_wire::h2::{Changes, Head, SpliceEvent, SplicedMessage, Splicer};
use xdscope_wire::text;

/// HTTP/2 error code of a scripted reset for the client: `INTERNAL_ERROR`.
const RESET_CODE: u32 = 2;

/// gRPC status of a stream that is ended because of a long message.
const RESOURCE_EXHAUSTED: Code = Code(8);

/// Bytes of messages that a connection may buffer in the direction of the window updates that it
/// is read for.
const MAX_BYTES_BESIDE_WINDOW_UPDATES: usize = 1 << 20;

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
    /// Bytes of messages that the memory of the tap counts for this connection.
    counted: usize,
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
    pub(super) fn new(
        reporter: &EventReporter,
        conn: ConnId,
        changes: Option<Arc<Changes>>,
        armed: &'a Armed,
    ) -> ArmedConnection<'a> {
        armed.count_connection(true);
        ArmedConnection {
            armed,
            reporter: reporter.clone(),
            conn,
            splicer: Some(Splicer::new(changes, armed.memory.max_message())),
            passing: Default::default(),
            streams: BTreeMap::new(),
            has_begun: false,
            is_black_hole: false,
            counted: 0,
        }
    }

    /// Whether the client has sent anything.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Counts the bytes of messages, and returns whether the connection may be read.
    pub(super) fn may_read(&mut self) -> bool {
        let splicer = self.splicer.as_ref().filter(|_| !self.streams.is_empty());
        let held = splicer.map_or(0, |splicer| splicer.buffered(Dir::Req) + splicer.buffered(Dir::Resp));
        self.armed.memory.update(self.conn, self.counted, held);
        self.counted = held;
        held == 0 && self.streams.is_empty() || self.armed.memory.may_read(self.conn, held)
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
        while let Some(splicer) = &mut self.splicer {
            let event = splicer.next_event(dir);
            let event = event.map_err(|error| {
                (error.by, io::Error::new(io::ErrorKind::InvalidData, format!("{error}; the tap is armed")))
            })?;
            match event {
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
        }
    }

    fn ended(&mut self, stream: u32) {
        if let Some(FaultyStream::Armed(stream)) = self.streams.remove(&stream) {
            self.abandon(&stream);
        }
    }

    fn opened(&mut self, stream: u32, head: &Head) {
        let Some(method) = Method::of_path(&head.path).filter(|_| head.is_grpc()) else { return };
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
        let node = InterceptedStream::node_of(&method, message);
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
        let mut stream = match self.streams.remove(&number) {
            Some(FaultyStream::Armed(stream)) => stream,
            // The first request is too long to wait for.
            Some(FaultyStream::Undecided(method)) => new_stream(self.armed, number, method),
            None => return,
        };
        let (now, schema) = (self.armed.now(), self.armed.schema.clone());
        let steps = {
            let mut faults = self.armed.faults();
            self.armed.desk.with(|queue| stream.receive(message, now, (&mut faults, queue), &schema))
        };
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
    pub(super) fn next_due(&self) -> Option<xdscope_wire::event::Time> {
        let streams = self.streams.values().filter_map(|stream| match stream {
            FaultyStream::Armed(stream) => stream.next_due(),
            FaultyStream::Undecided(_) => None,
        });
        streams.min()
    }

    pub(super) fn release_due(&mut self) {
        let now = self.armed.now();
        self.each(|stream, queue| stream.release_due(now, queue));
    }

    /// Sends all messages that wait, unmodified and in order.
    pub(super) fn release_all(&mut self) {
        self.each(InterceptedStream::release_all);
    }

    /// Carries out what a person has decided.
    pub(super) fn decide(&mut self) {
        let now = self.armed.now();
        self.each(|stream, queue| stream.decide(now, queue));
    }

    /// Resets all armed streams, because of a fault on one of the tap.
    pub(super) fn reset_all(&mut self, by: &Arc<str>) {
        self.each(|stream, _| stream.end_by(by));
    }

    fn each(&mut self, mut release: impl FnMut(&mut InterceptedStream, &mut HoldQueue) -> Vec<Step>) {
        let armed = self.streams.iter_mut().filter_map(|(number, stream)| match stream {
            FaultyStream::Armed(stream) => Some((*number, stream)),
            FaultyStream::Undecided(_) => None,
        });
        let desk = &self.armed.desk;
        let all: Vec<_> =
            desk.with(|queue| armed.map(|(number, stream)| (number, release(stream, queue))).collect());
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
