//! From the tap's copies to frames: one observer a connection (HTTP/2, or HTTP/1.1 with REST polls), one numbering of
//! streams for all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::begun::{Begun, Known};
use super::rest::{Polls, Rest, Sink};
use super::{ConnId, ConnectStep, FrameEffect, TapCopy, TapEvent};
use crate::schema::Schema;
use crate::wire::content::Catalog;
use crate::wire::event::{Dir, Side, StreamId, Time};
use crate::wire::h2::{Connection, Event, Head};
use crate::wire::{Assembler, End, Frame, Open, Tls, http1};

/// A PING sooner than this after a message or another PING is no keepalive: peers measure their bandwidth by them.
const KEEPALIVE: Duration = Duration::from_secs(1);

/// Streams of one connection whose methods are still to be told by their messages; others are left out.
const BEGUN: usize = 64;

/// What cleans the metadata of a stream before it is kept: name and value to value.
pub type CleanMetadata = fn(&str, &str) -> Option<String>;

/// Turns copies into frames. Synchronous: called with a batch, gives the frames of that batch.
pub struct Pipeline {
    connections: BTreeMap<ConnId, Tapped>,
    assembler: Assembler,
    clean: CleanMetadata,
    /// REST polls; `None` where there are no descriptors to read them by.
    rest: Option<Rest>,
}

/// One connection through the tap.
struct Tapped {
    peer: String,
    server: String,
    tls: Tls,
    /// Out of its place only while it runs.
    observer: Option<Connection>,
    /// HTTP/2 stream to stream of the source.
    streams: BTreeMap<u32, StreamId>,
    /// Of these the method is not known yet.
    begun: BTreeMap<u32, Begun>,
    /// The client has sent something.
    seen: bool,
    /// It had a stream: what becomes of it is told there.
    used: bool,
    /// Stands for a connection that can't be read: its bytes are counted on it.
    opaque: Option<StreamId>,
    /// In place of the observer: it carries REST polls.
    polls: Option<Polls>,
    /// When the newest message passed.
    moved: Time,
    /// The same of each side's PINGs.
    pinged: [Time; 2],
}

impl Tapped {
    fn open(&self, method: String, metadata: Vec<(String, String)>) -> Open {
        Open {
            method,
            peer: Some(self.peer.clone()),
            server: Some(self.server.clone()),
            metadata,
            tls: self.tls.clone(),
            ..Open::default()
        }
    }
}

impl Pipeline {
    pub fn new(clean: CleanMetadata) -> Self {
        Pipeline { connections: BTreeMap::new(), assembler: Assembler::default(), clean, rest: None }
    }

    /// Reads REST polls by these descriptors too (group D).
    pub fn with_rest(self, schema: Arc<Schema>) -> Self {
        Pipeline { rest: Some(Rest::new(schema)), ..self }
    }

    /// Takes one copy; appends the frames it completes.
    pub fn take(&mut self, copied: TapCopy, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        let TapCopy { conn, at, what } = copied;
        if let TapEvent::Opened { peer, server } = &what {
            let tapped = Tapped {
                peer: peer.clone(),
                server: server.clone(),
                tls: Tls::default(),
                seen: false,
                used: false,
                observer: Some(Connection::default()),
                streams: BTreeMap::new(),
                begun: BTreeMap::new(),
                opaque: None,
                polls: None,
                moved: at,
                pinged: [at; 2],
            };
            self.connections.insert(conn, tapped);
            return;
        }
        let Some(mut see) = self.see(conn, at, catalog, out) else { return };
        match what {
            TapEvent::Opened { .. } => {}
            TapEvent::Secured { side: Side::Client, facts } => see.tapped.tls.client = Some(facts),
            TapEvent::Secured { side: Side::Server, facts } => see.tapped.tls.server = Some(facts),
            TapEvent::Bytes { dir, bytes } => see.bytes(dir, &bytes),
            TapEvent::Spoken { stream, what } => see.spoken(stream, what),
            TapEvent::Lost { bytes, chunks, .. } => see.lost(bytes, chunks),
            TapEvent::Finished { .. } => {}
            TapEvent::Failed { step, error } => {
                let (by, with) = match step {
                    ConnectStep::Accept | ConnectStep::Headers => (Side::Client, String::new()),
                    ConnectStep::Resolve | ConnectStep::Connect | ConnectStep::Tls => {
                        (Side::Server, format!(" {}", see.tapped.server))
                    }
                };
                let why = format!("{}{with} failed: {error}", step.word());
                match see.tapped.used || see.tapped.opaque.is_some() {
                    true => see.closed(Some(by), Some(why)),
                    false => see.nothing(by, why),
                }
                self.connections.remove(&conn);
            }
            TapEvent::Closed { by, error } => {
                see.closed(by, error);
                self.connections.remove(&conn);
            }
        }
    }

    /// [`Happened::Bytes`], without a copy of them.
    pub fn bytes(
        &mut self,
        conn: ConnId,
        at: Time,
        dir: Dir,
        bytes: &[u8],
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        if let Some(mut see) = self.see(conn, at, catalog, out) {
            see.bytes(dir, bytes);
        }
    }

    /// The connection can't be read, and why: from here on its bytes are counted.
    pub fn opaque(&mut self, conn: ConnId, at: Time, why: &str, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        if let Some(mut see) = self.see(conn, at, catalog, out) {
            see.event(Event::Opaque { why: why.to_owned() });
        }
    }

    /// What comes is not the beginning of the connection.
    pub fn midway(&mut self, conn: ConnId) {
        if let Some(tapped) = self.connections.get_mut(&conn) {
            tapped.observer = Some(Connection::midway());
        }
    }

    /// Nothing more comes of a connection that may not be over.
    pub fn leave(&mut self, conn: ConnId, at: Time, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        if let Some(mut see) = self.see(conn, at, catalog, out) {
            let begun: Vec<u32> = see.tapped.begun.keys().copied().collect();
            begun.into_iter().for_each(|number| see.begun(number, Known::Other));
        }
    }

    /// So many bytes will never come: what can be read without them is.
    pub fn miss(
        &mut self,
        conn: ConnId,
        at: Time,
        (dir, bytes): (Dir, u64),
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        let Some(mut see) = self.see(conn, at, catalog, out) else { return };
        if see.tapped.polls.is_some() || see.tapped.opaque.is_some() {
            see.lost(bytes, 1);
        } else {
            see.observe(|observer, out| observer.miss(dir, bytes, out));
        }
    }

    fn see<'a>(
        &'a mut self,
        conn: ConnId,
        at: Time,
        catalog: &'a mut Catalog,
        out: &'a mut Vec<Frame>,
    ) -> Option<See<'a>> {
        let tapped = self.connections.get_mut(&conn)?;
        let (assembler, rest, clean) = (&mut self.assembler, self.rest.as_mut(), self.clean);
        Some(See { tapped, assembler, rest, clean, at, catalog, out })
    }
}

/// One connection at one moment.
struct See<'a> {
    tapped: &'a mut Tapped,
    assembler: &'a mut Assembler,
    rest: Option<&'a mut Rest>,
    clean: CleanMetadata,
    at: Time,
    catalog: &'a mut Catalog,
    out: &'a mut Vec<Frame>,
}

impl See<'_> {
    fn bytes(&mut self, dir: Dir, bytes: &[u8]) {
        if let Some(id) = self.tapped.opaque {
            self.assembler.data(id, dir, bytes, self.catalog);
            self.assembler.message(self.at, id, dir, self.catalog, self.out);
            return;
        }
        let begins = !self.tapped.seen && dir == Dir::Req && http1::Connection::begins(bytes);
        self.tapped.seen |= dir == Dir::Req;
        if begins && self.rest.is_some() {
            self.tapped.polls = Some(Polls::default());
        }
        if self.tapped.polls.is_some() {
            return self.polled(|polls, out| polls.connection.feed(dir, bytes, out));
        }
        self.observe(|observer, out| observer.feed(dir, bytes, out));
        if let Some(id) = self.tapped.opaque {
            self.assembler.data(id, dir, bytes, self.catalog);
        }
    }

    fn spoken(&mut self, stream: u32, what: FrameEffect) {
        match what {
            FrameEffect::Open(head) => self.event(Event::Open { stream, head }),
            FrameEffect::Message { dir, pieces } => {
                for bytes in &pieces {
                    self.event(Event::Data { stream, dir, bytes });
                }
                self.event(Event::Message { stream, dir });
            }
            FrameEffect::Lost { bytes } => self.event(Event::Lost { stream, bytes, why: String::new() }),
            FrameEffect::End(end) => self.event(Event::End { stream, end }),
        }
    }

    /// Runs the observer of REST polls and follows its events.
    fn polled(&mut self, run: impl FnOnce(&mut Polls, &mut dyn FnMut(http1::Event))) {
        let Some(mut polls) = self.tapped.polls.take() else { return };
        let mut events = Vec::new();
        run(&mut polls, &mut |event| events.push(event));
        for event in events {
            if let http1::Event::Opaque { why } = event {
                let open = self.tapped.open(format!("HTTP/1.1: {why}"), Vec::new());
                self.tapped.opaque = Some(self.assembler.open(self.at, open, self.out));
                return;
            }
            let Some(rest) = &mut self.rest else { continue };
            self.tapped.used = true;
            let clean = self.clean;
            let open = |path: String, fields: Vec<(String, String)>| {
                let clean = |(name, value): (String, String)| {
                    let value = clean(&name, &value).unwrap_or(value);
                    (name, value)
                };
                self.tapped.open(path, fields.into_iter().map(clean).collect())
            };
            let mut to =
                Sink { at: self.at, assembler: self.assembler, catalog: self.catalog, out: self.out };
            rest.event(&mut polls, event, &open, &mut to);
        }
        self.tapped.polls = Some(polls);
    }

    /// Runs the observer and follows its events.
    fn observe(&mut self, run: impl FnOnce(&mut Connection, &mut dyn FnMut(Event<'_>))) {
        if let Some(mut observer) = self.tapped.observer.take() {
            run(&mut observer, &mut |event| self.event(event));
            self.tapped.observer = Some(observer);
        }
    }

    fn event(&mut self, event: Event<'_>) {
        let stream = |tapped: &Tapped, number| tapped.streams.get(&number).copied();
        match event {
            Event::Open { stream, head } => self.opened(stream, head),
            Event::Begun { stream } => {
                if self.tapped.begun.len() < BEGUN {
                    self.tapped.begun.insert(stream, Begun::default());
                }
            }
            Event::Missing { stream: Some(number), dir, bytes } => {
                if let Some(begun) = self.tapped.begun.get_mut(&number) {
                    begun.missing(dir);
                }
                if let Some(id) = stream(self.tapped, number) {
                    self.assembler.missing(self.at, id, dir, (1, bytes), self.out);
                }
            }
            Event::Missing { stream: None, dir, bytes } => {
                self.tapped.begun.values_mut().for_each(|begun| begun.missing(dir));
                // All may have lost something; it is counted once.
                let mut bytes = bytes;
                for id in self.tapped.streams.values() {
                    self.assembler.missing(self.at, *id, dir, (0, std::mem::take(&mut bytes)), self.out);
                }
            }
            Event::Data { stream: number, dir, bytes } => {
                if let Some(begun) = self.tapped.begun.get_mut(&number) {
                    let known = begun.data(dir, bytes);
                    return self.begun(number, known);
                }
                if let Some(id) = stream(self.tapped, number) {
                    self.assembler.data(id, dir, bytes, self.catalog);
                }
            }
            Event::Message { stream: number, dir } => {
                self.tapped.moved = self.at;
                if let Some(begun) = self.tapped.begun.get_mut(&number) {
                    let known = begun.message(dir);
                    return self.begun(number, known);
                }
                if let Some(id) = stream(self.tapped, number) {
                    self.assembler.message(self.at, id, dir, self.catalog, self.out);
                }
            }
            Event::Lost { stream: number, bytes, .. } => {
                if let Some(id) = stream(self.tapped, number) {
                    self.assembler.gap(self.at, id, 1, bytes, self.out);
                }
            }
            Event::End { stream: number, mut end } => {
                self.begun(number, Known::Other);
                end.status = end.status.map(|(code, text)| (code, self.catalog.clean_text(text)));
                if let Some(id) = self.tapped.streams.remove(&number) {
                    self.assembler.end(self.at, id, end, self.out);
                }
            }
            Event::Ping { dir } => self.ping(dir),
            // It is told by how the streams end.
            Event::GoAway { .. } => {}
            Event::Opaque { why } => {
                let open = self.tapped.open(why, Vec::new());
                self.tapped.opaque = Some(self.assembler.open(self.at, open, self.out));
            }
        }
    }

    /// What is known of a stream that began before: once it is, it opens with what has passed of it.
    fn begun(&mut self, number: u32, known: Known) {
        let method = match known {
            Known::NotYet => return,
            Known::Path(path) => path,
            Known::Other => "(begun before)",
        };
        let Some(begun) = self.tapped.begun.remove(&number) else { return };
        let open = Open { partial: true, ..self.tapped.open(method.to_owned(), Vec::new()) };
        let id = self.assembler.open(self.at, open, self.out);
        self.tapped.streams.insert(number, id);
        self.tapped.used = true;
        for (dir, bytes) in begun.passed {
            match bytes {
                Some(bytes) => self.assembler.data(id, dir, &bytes, self.catalog),
                None => self.assembler.message(self.at, id, dir, self.catalog, self.out),
            }
        }
    }

    fn ping(&mut self, dir: Dir) {
        let Some(before) = self.tapped.pinged.get_mut(dir as usize) else { return };
        let idle = self.at.since(self.tapped.moved).min(self.at.since(*before));
        *before = self.at;
        if idle >= KEEPALIVE {
            let streams = self.tapped.streams.values().copied();
            self.assembler.ping(self.at, streams, dir, self.out);
        }
    }

    fn opened(&mut self, number: u32, head: Head) {
        let clean = |(name, value): (String, String)| {
            let value = (self.clean)(&name, &value).unwrap_or(value);
            (name, value)
        };
        let method = if head.is_grpc() { head.path } else { format!("{} {}", head.method, head.path) };
        let metadata = head.metadata.into_iter().map(clean).collect();
        let open = self.tapped.open(method, metadata);
        let id = self.assembler.open(self.at, open, self.out);
        self.tapped.streams.insert(number, id);
        self.tapped.used = true;
    }

    /// The copy of these bytes did not fit. What can't be told apart any more is counted on the connection.
    fn lost(&mut self, bytes: u64, chunks: u64) {
        if self.tapped.polls.is_some() {
            self.polled(|polls, out| polls.connection.lost(out));
            if let Some(id) = self.tapped.opaque {
                self.assembler.gap(self.at, id, chunks, bytes, self.out);
            }
            return;
        }
        let open: Vec<StreamId> = self.tapped.streams.values().copied().collect();
        for id in open {
            self.assembler.gap(self.at, id, 0, 0, self.out);
        }
        self.observe(|observer, out| observer.lost(out));
        if let Some(id) = self.tapped.opaque {
            self.assembler.gap(self.at, id, chunks, bytes, self.out);
        }
    }

    /// A connection on which there never was a stream, and why.
    fn nothing(&mut self, by: Side, why: String) {
        let open = self.tapped.open(Open::NOTHING.into(), Vec::new());
        let id = self.assembler.open(self.at, open, self.out);
        let end = End { by: Some(by), status: None, reset: None, note: Some(why) };
        self.assembler.end(self.at, id, end, self.out);
    }

    fn closed(&mut self, by: Option<Side>, error: Option<String>) {
        if let (false, None, Some(Side::Server), Some(why)) =
            (self.tapped.used, self.tapped.opaque, by, &error)
        {
            self.nothing(Side::Server, format!("{}: {why}", self.tapped.server));
        }
        if self.tapped.polls.is_some() {
            self.polled(|polls, out| polls.connection.close(out));
        } else {
            self.observe(|observer, out| observer.close(by, error.as_deref(), out));
        }
        if let Some(id) = self.tapped.opaque.take() {
            let end = End { by, status: None, reset: None, note: error };
            self.assembler.end(self.at, id, end, self.out);
        }
    }
}
