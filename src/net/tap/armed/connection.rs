use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use super::shared_faults::Armed;
use crate::engine::filter::WireStream;
use crate::net::tap::EventReporter;
use crate::net::tap::answer::{ClientProtocol, client_protocol, percent};
use crate::peers::intercept::{InterceptedStream, Step};
use crate::sources::observe::{ConnId, TapEvent};
use crate::wire::event::{Dir, Method, Rpc, Side};
use crate::wire::h2::{Changes, Head, SpliceEvent, SplicedMessage, Splicer};

/// Longest message on an armed stream, in bytes.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

/// HTTP/2 error code of a scripted reset for the client: `INTERNAL_ERROR`.
const RESET_CODE: u32 = 2;

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
        ArmedConnection {
            armed,
            reporter: reporter.clone(),
            conn,
            splicer: Some(Splicer::new(changes, MAX_MESSAGE_BYTES)),
            passing: Default::default(),
            streams: BTreeMap::new(),
            has_begun: false,
            is_black_hole: false,
        }
    }

    /// Whether the client has sent anything.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub(super) fn held_bytes(&self) -> usize {
        if self.streams.is_empty() { 0 } else { self.splicer.as_ref().map_or(0, Splicer::buffered) }
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
            SpliceEvent::Ended { stream } => drop(self.streams.remove(&stream)),
        }
    }

    fn opened(&mut self, stream: u32, head: &Head) {
        let method = Method::of_path(&head.path).filter(|method| method.rpc == Rpc::Stream);
        let Some(method) = method.filter(|_| head.is_grpc()) else { return };
        if self.may_match(&method, None)
            && let Some(splicer) = &mut self.splicer
        {
            splicer.watch(stream);
            self.streams.insert(stream, FaultyStream::Undecided(method));
        }
    }

    fn may_match(&self, method: &Method, node: Option<&str>) -> bool {
        let type_url = method.implied_type();
        self.armed.faults().may_match(&WireStream { type_url: type_url.as_ref(), node })
    }

    fn first_request(&mut self, message: &SplicedMessage) {
        let Some(FaultyStream::Undecided(method)) = self.streams.remove(&message.stream) else { return };
        let node = InterceptedStream::node_of(&method, message);
        let may_match = self.may_match(&method, Some(node.as_deref().unwrap_or_default()));
        let Some(splicer) = &mut self.splicer else { return };
        if may_match {
            let stream = InterceptedStream::new(message.stream, method);
            self.streams.insert(message.stream, FaultyStream::Armed(Box::new(stream)));
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
            Some(FaultyStream::Undecided(method)) => Box::new(InterceptedStream::new(number, method)),
            None => return,
        };
        let (now, schema) = (self.armed.now(), self.armed.schema.clone());
        let steps = stream.receive(message, now, &mut self.armed.faults(), &schema);
        self.streams.insert(number, FaultyStream::Armed(stream));
        self.apply(number, steps);
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
                    self.streams.remove(&stream);
                }
                Step::Reset => {
                    splicer.reset(stream, RESET_CODE);
                    self.streams.remove(&stream);
                }
                Step::ResetAll(by) => self.armed.reset_all(by),
                Step::GoAway => splicer.go_away(),
                Step::Blackhole => self.is_black_hole = true,
            }
        }
    }

    /// Returns when the next message that waits is due.
    pub(super) fn next_due(&self) -> Option<crate::wire::event::Time> {
        let streams = self.streams.values().filter_map(|stream| match stream {
            FaultyStream::Armed(stream) => stream.next_due(),
            FaultyStream::Undecided(_) => None,
        });
        streams.min()
    }

    pub(super) fn release_due(&mut self) {
        let now = self.armed.now();
        self.each(|stream| stream.release_due(now));
    }

    /// Sends all messages that wait, unmodified and in order.
    pub(super) fn release_all(&mut self) {
        self.each(InterceptedStream::release_all);
    }

    /// Resets all armed streams, because of a fault on one of the tap.
    pub(super) fn reset_all(&mut self, by: &Arc<str>) {
        self.each(|stream| stream.end_by(by));
    }

    fn each(&mut self, mut release: impl FnMut(&mut InterceptedStream) -> Vec<Step>) {
        let mut all = Vec::new();
        for (number, stream) in &mut self.streams {
            if let FaultyStream::Armed(stream) = stream {
                all.push((*number, release(stream)));
            }
        }
        for (number, steps) in all {
            self.apply(number, steps);
        }
    }
}
