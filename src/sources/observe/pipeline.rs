//! Turns observed connections into frames.
//!
//! Each connection has its own observer: HTTP/2, or HTTP/1.1 with REST polls. Streams are numbered
//! across all connections.

mod capture;
mod standing_gaps;
mod unfinished;
mod unopened;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use self::standing_gaps::StandingGaps;
use super::first_end::FirstEnd;
use super::pings::UnansweredPings;
use super::rest::{PollConnection, PollOutput, RestTracks};
use super::unidentified::{Identification, UnidentifiedStream};
use super::{ConnId, ConnectStep, StreamEvent, TapCopy, TapEvent};
use xdscope_schema::Schema;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Dir, Side, StreamId, Time};
use xdscope_wire::h2::{ConnectionObserver, Event, Head, SkimmedPart};
use xdscope_wire::{Assembler, End, Frame, Gap, GapCause, Intervention, Open, Tls, http1};

/// Minimum idle time before a PING counts as a keepalive. Sooner PINGs measure bandwidth.
const MIN_KEEPALIVE_IDLE: Duration = Duration::from_secs(1);

/// Most unidentified streams per connection; further ones are ignored.
const MAX_UNIDENTIFIED_STREAMS: usize = 64;

/// Redacts one metadata value, given its name and value. Returns `None` to keep the value.
pub type CleanMetadata = dyn Fn(&str, &str) -> Option<String> + Send;

/// Turns copies of traffic into frames, synchronously.
pub struct Pipeline {
    connections: BTreeMap<ConnId, ObservedConnection>,
    assembler: Assembler,
    clean: Box<CleanMetadata>,
    /// REST polls; `None` without descriptors to decode them.
    rest: Option<RestTracks>,
    /// Bytes since the memory of unfinished input was checked.
    unchecked_bytes: usize,
}

/// One observed connection.
struct ObservedConnection {
    peer: String,
    server: String,
    tls: Tls,
    /// `None` only while the observer runs, or if the connection carries REST polls.
    observer: Option<ConnectionObserver>,
    /// Maps HTTP/2 stream numbers to the numbers of the source.
    streams: BTreeMap<u32, StreamId>,
    /// Streams whose method is not known yet.
    unidentified: BTreeMap<u32, UnidentifiedStream>,
    /// Whether the client has sent anything.
    client_has_sent: bool,
    first_end: FirstEnd,
    /// Whether the connection had a stream. The end of the connection is reported there.
    had_stream: bool,
    /// The stream that counts the bytes of a connection that can't be parsed.
    opaque: Option<StreamId>,
    /// The stream that counts frames on streams that the client never opened.
    unopened: Option<StreamId>,
    /// REST polls, which replace the HTTP/2 observer.
    polls: Option<PollConnection>,
    /// The time of the newest message.
    last_message_at: Time,
    /// The times of the newest PING from client and server.
    last_pings_at: [Time; 2],
    pings: UnansweredPings,
    /// Messages whose bodies did not fit into the queue, by HTTP/2 stream number and direction.
    skimmed: BTreeMap<(u32, Dir), MissedPart>,
    standing_gaps: StandingGaps,
}

/// Messages and bytes of a stream that are missing and not reported yet.
#[derive(Clone, Copy, Default)]
struct MissedPart {
    messages: u64,
    bytes: u64,
    /// The last of the messages is complete.
    is_over: bool,
}

impl ObservedConnection {
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
    /// Creates a pipeline without connections, which redacts metadata with `clean`.
    pub fn new(clean: impl Fn(&str, &str) -> Option<String> + Send + 'static) -> Self {
        let clean = Box::new(clean);
        Pipeline {
            connections: BTreeMap::new(),
            assembler: Assembler::default(),
            clean,
            rest: None,
            unchecked_bytes: 0,
        }
    }

    /// Marks the contents and names of unfinished messages as used.
    pub fn mark(&mut self, used: &mut UsedContent) {
        self.assembler.mark(used);
    }

    /// Limits connections that have several streams once `streams` are open in all connections.
    pub fn with_max_streams(self, streams: usize) -> Self {
        Pipeline { assembler: self.assembler.with_max_streams(streams), ..self }
    }

    /// Gives all unfinished messages `bytes` of memory, 34 MB at most.
    pub fn with_max_unfinished(self, bytes: usize) -> Self {
        Pipeline { assembler: self.assembler.with_max_unfinished(bytes), ..self }
    }

    /// Decodes REST polls too, by the descriptors of `schema`.
    pub fn with_rest(self, schema: Arc<Schema>) -> Self {
        Pipeline { rest: Some(RestTracks::new(schema)), ..self }
    }

    /// Handles one event and appends the frames that it completes.
    pub fn handle(&mut self, copy: TapCopy, catalog: &mut Catalog, out: &mut Vec<Frame>) {
        let TapCopy { conn, at, event } = copy;
        self.limit_unfinished(&event, at, catalog, out);
        if let TapEvent::Opened { peer, server } = &event {
            let connection = ObservedConnection {
                peer: peer.clone(),
                server: server.clone(),
                tls: Tls::default(),
                client_has_sent: false,
                first_end: FirstEnd::default(),
                had_stream: false,
                observer: Some(ConnectionObserver::default()),
                streams: BTreeMap::new(),
                unidentified: BTreeMap::new(),
                opaque: None,
                unopened: None,
                polls: None,
                last_message_at: at,
                last_pings_at: [at; 2],
                pings: UnansweredPings::default(),
                skimmed: BTreeMap::new(),
                standing_gaps: StandingGaps::default(),
            };
            self.connections.insert(conn, connection);
            return;
        }
        let Some(mut context) = self.context(conn, at, catalog, out) else { return };
        match event {
            TapEvent::Opened { .. } => {}
            TapEvent::Secured { side: Side::Client, facts } => context.connection.tls.client = Some(facts),
            TapEvent::Secured { side: Side::Server, facts } => context.connection.tls.server = Some(facts),
            TapEvent::Bytes { dir, bytes } => context.bytes(dir, &bytes),
            TapEvent::Stream { stream, event } => context.stream_event(stream, event),
            TapEvent::Skimmed { dir, kept, parts } => context.skimmed(dir, &kept, &parts),
            TapEvent::Lost { dir, bytes, chunks } => context.lost(dir, bytes, chunks),
            TapEvent::Intercepted { stream, what } => context.intercepted(stream, &what),
            TapEvent::Finished { dir } => context.connection.first_end.finished(dir.sender()),
            TapEvent::Failed { step, error } => {
                let (by, target) = match step {
                    ConnectStep::Accept | ConnectStep::Headers => (Side::Client, String::new()),
                    ConnectStep::Resolve | ConnectStep::Connect | ConnectStep::Tls => {
                        (Side::Server, format!(" {}", context.connection.server))
                    }
                };
                let why = format!("{}{target} failed: {error}", step.word());
                if context.connection.had_stream || context.connection.opaque.is_some() {
                    context.closed(Some(by), Some(why));
                } else {
                    context.report_without_stream(by, why);
                }
                self.connections.remove(&conn);
            }
            TapEvent::Closed { by, error } => {
                context.closed(by, error);
                self.connections.remove(&conn);
            }
        }
    }

    /// Handles [`TapEvent::Bytes`] without owning the bytes.
    pub fn bytes(
        &mut self,
        conn: ConnId,
        at: Time,
        dir: Dir,
        bytes: &[u8],
        catalog: &mut Catalog,
        out: &mut Vec<Frame>,
    ) {
        if let Some(mut context) = self.context(conn, at, catalog, out) {
            context.bytes(dir, bytes);
        }
    }

    fn context<'a>(
        &'a mut self,
        conn: ConnId,
        at: Time,
        catalog: &'a mut Catalog,
        out: &'a mut Vec<Frame>,
    ) -> Option<ConnectionContext<'a>> {
        let connection = self.connections.get_mut(&conn)?;
        let (assembler, rest, clean) = (&mut self.assembler, self.rest.as_mut(), &*self.clean);
        Some(ConnectionContext { connection, assembler, rest, clean, at, catalog, out })
    }
}

/// One connection, and everything needed to handle an event on it.
struct ConnectionContext<'a> {
    connection: &'a mut ObservedConnection,
    assembler: &'a mut Assembler,
    rest: Option<&'a mut RestTracks>,
    clean: &'a CleanMetadata,
    at: Time,
    catalog: &'a mut Catalog,
    out: &'a mut Vec<Frame>,
}

impl ConnectionContext<'_> {
    fn bytes(&mut self, dir: Dir, bytes: &[u8]) {
        if !self.connection.skimmed.is_empty() {
            self.report_skimmed(|(_, of), _| *of == dir);
        }
        if let Some(id) = self.connection.opaque {
            self.assembler.data(id, dir, bytes, self.catalog);
            self.assembler.message(self.at, id, dir, self.catalog, self.out);
            return;
        }
        let begins =
            !self.connection.client_has_sent && dir == Dir::Req && http1::ConnectionObserver::begins(bytes);
        self.connection.client_has_sent |= dir == Dir::Req;
        if begins && self.rest.is_some() {
            self.connection.polls = Some(PollConnection::default());
        }
        if self.connection.polls.is_some() {
            return self.observe_polls(|polls, out| polls.connection.feed(dir, bytes, out));
        }
        self.observe(|observer, out| observer.feed(dir, bytes, out));
        if let Some(id) = self.connection.opaque {
            self.assembler.data(id, dir, bytes, self.catalog);
        }
    }

    /// Handles an event of one HTTP/2 stream.
    fn stream_event(&mut self, stream: u32, event: StreamEvent) {
        match event {
            StreamEvent::Open(head) => self.event(Event::Open { stream, head }),
            StreamEvent::Message { dir, pieces } => {
                for bytes in &pieces {
                    self.event(Event::Data { stream, dir, bytes });
                }
                self.event(Event::Message { stream, dir });
            }
            StreamEvent::Lost { bytes } => {
                if let Some(id) = self.connection.streams.get(&stream).copied() {
                    self.assembler.gap(self.at, id, Gap::lost(None, 1, bytes), self.out);
                }
            }
            StreamEvent::End(end) => self.event(Event::End { stream, end }),
        }
    }

    fn intercepted(&mut self, stream: u32, what: &Intervention) {
        if let Some(id) = self.connection.streams.get(&stream).copied() {
            self.assembler.intercepted(self.at, id, what.clone(), self.catalog, self.out);
        }
    }

    /// Runs the observer of REST polls and handles its events.
    fn observe_polls(&mut self, run: impl FnOnce(&mut PollConnection, &mut dyn FnMut(http1::Event))) {
        let Some(mut polls) = self.connection.polls.take() else { return };
        let mut events = Vec::new();
        run(&mut polls, &mut |event| events.push(event));
        for event in events {
            if let http1::Event::Opaque { why } = event {
                let why = self.catalog.clean_text(why);
                let open = self.connection.open(format!("HTTP/1.1: {why}"), Vec::new());
                self.connection.opaque = Some(self.assembler.open(self.at, open, self.out));
                return;
            }
            let Some(rest) = &mut self.rest else { continue };
            self.connection.had_stream = true;
            let clean = self.clean;
            let open = |path: String, fields: Vec<(String, String)>| {
                let path = clean(":path", &path).unwrap_or(path);
                self.connection.open(path, cleaned(clean, fields))
            };
            let mut output =
                PollOutput { at: self.at, assembler: self.assembler, catalog: self.catalog, out: self.out };
            rest.event(&mut polls, event, &open, &mut output);
        }
        self.connection.polls = Some(polls);
    }

    /// Runs the HTTP/2 observer and handles its events.
    fn observe(&mut self, run: impl FnOnce(&mut ConnectionObserver, &mut dyn FnMut(Event<'_>))) {
        if let Some(mut observer) = self.connection.observer.take() {
            observer.set_crowded(self.assembler.is_crowded());
            run(&mut observer, &mut |event| self.event(event));
            self.connection.observer = Some(observer);
        }
    }

    /// Handles an event of the HTTP/2 connection.
    fn event(&mut self, event: Event<'_>) {
        let stream_id = |connection: &ObservedConnection, number| connection.streams.get(&number).copied();
        if let Event::Data { stream, .. }
        | Event::Message { stream, .. }
        | Event::Lost { stream, .. }
        | Event::End { stream, .. } = &event
        {
            self.connection.standing_gaps.note_event(*stream);
        }
        match event {
            Event::Open { stream, head } => self.opened(stream, head),
            Event::Begun { stream } => self.begun(stream),
            Event::Missing { stream: Some(number), dir, messages, bytes, .. } => {
                self.connection.pings.answered(dir);
                if let Some(stream) = self.connection.unidentified.get_mut(&number) {
                    stream.drop_incomplete(dir);
                }
                if let Some(id) = stream_id(self.connection, number) {
                    self.assembler.gap(self.at, id, Gap::lost(Some(dir), messages, bytes), self.out);
                }
            }
            Event::Missing { stream: None, dir, bytes, .. } => {
                // The answer to a PING may be among the missing bytes.
                self.connection.pings.answered(dir);
                self.missing_anywhere(dir, bytes);
            }
            Event::Data { stream: number, dir, bytes } => {
                self.connection.pings.answered(dir);
                if let Some(stream) = self.connection.unidentified.get_mut(&number) {
                    let known = stream.data(dir, bytes);
                    return self.identify(number, known);
                }
                if let Some(id) = stream_id(self.connection, number) {
                    self.assembler.data(id, dir, bytes, self.catalog);
                }
            }
            Event::Message { stream: number, dir } => {
                self.connection.last_message_at = self.at;
                self.connection.first_end.message(dir);
                if let Some(stream) = self.connection.unidentified.get_mut(&number) {
                    let known = stream.message(dir);
                    return self.identify(number, known);
                }
                if let Some(id) = stream_id(self.connection, number) {
                    self.assembler.message(self.at, id, dir, self.catalog, self.out);
                }
            }
            Event::Lost { stream: number, dir, bytes, cause, .. } => {
                if let Some(id) = stream_id(self.connection, number) {
                    let gap = Gap { dir: Some(dir), messages: 1, bytes, cause };
                    self.assembler.gap(self.at, id, gap, self.out);
                }
            }
            Event::Cut { stream: number, bytes } => self.cut_short(number, bytes),
            Event::End { stream: number, end } => self.ended(number, end),
            Event::Unopened { dir, bytes, is_last } => self.unopened(dir, bytes, is_last),
            Event::NotFollowed { streams } => {
                if let Some(id) = self.connection.streams.values().next().copied() {
                    self.assembler.streams_not_followed(self.at, id, streams, self.out);
                }
            }
            Event::Ping { dir } => {
                self.connection.pings.sent(dir, self.at);
                self.ping(dir);
            }
            Event::PingAnswer { dir } => self.connection.pings.answered(dir),
            // The ends of the streams tell what a GOAWAY did.
            Event::GoAway { by, code, debug } => {
                let debug = self.catalog.clean_text(debug);
                self.connection.first_end.goes_away(by, code, &debug);
            }
            Event::Opaque { why } => {
                let why = self.catalog.clean_text(why);
                let open = self.connection.open(why, Vec::new());
                self.connection.opaque = Some(self.assembler.open(self.at, open, self.out));
            }
        }
    }

    /// Takes in a stream whose first message will tell its protocol.
    fn begun(&mut self, stream: u32) {
        if self.connection.unidentified.len() < MAX_UNIDENTIFIED_STREAMS {
            self.connection.unidentified.insert(stream, UnidentifiedStream::default());
        }
    }

    /// Reports a response in the middle of which a stream ends.
    fn cut_short(&mut self, number: u32, bytes: u64) {
        // A part of the response that did not fit into the queue is missing no longer.
        let key = (number, Dir::Resp);
        if self.connection.skimmed.get(&key).is_some_and(|missed| missed.messages <= 1) {
            self.connection.skimmed.remove(&key);
        }
        if let Some(id) = self.connection.streams.get(&number)
            && self.assembler.is_xds(*id)
        {
            let gap = Gap { dir: Some(Dir::Resp), messages: 1, bytes, cause: GapCause::Cut };
            self.assembler.gap(self.at, *id, gap, self.out);
        }
    }

    fn ended(&mut self, number: u32, end: End) {
        self.identify(number, Identification::NotXds);
        self.report_skimmed(|(stream, _), _| *stream == number);
        let Some(id) = self.connection.streams.remove(&number) else { return };
        let mut end = self.catalog.clean_end(end);
        if self.assembler.is_xds(id) {
            end = self.connection.first_end.cause_of(end);
        }
        let end = self.connection.pings.explain(end, self.at);
        self.assembler.end(self.at, id, end, self.out);
    }

    /// Counts missing bytes of unknown streams.
    fn missing_anywhere(&mut self, dir: Dir, mut bytes: u64) {
        let ObservedConnection { unidentified, streams, standing_gaps, .. } = &mut *self.connection;
        for stream in unidentified.values_mut() {
            stream.drop_incomplete(dir);
        }
        let have_all_gaps = standing_gaps.len(dir) == streams.len();
        // Any stream may have lost some of the bytes; count them once.
        for (number, id) in streams.iter().take(if have_all_gaps { 1 } else { usize::MAX }) {
            if standing_gaps.add(*number, dir) || bytes > 0 {
                let gap = Gap::lost(Some(dir), 0, std::mem::take(&mut bytes));
                self.assembler.gap(self.at, *id, gap, self.out);
            }
        }
    }

    /// Opens a stream that began earlier as soon as its method is known, with the buffered
    /// messages.
    fn identify(&mut self, number: u32, known: Identification) {
        let method = match known {
            Identification::Pending => return,
            Identification::Method(path) => path,
            Identification::NotXds => "(begun before)",
        };
        let Some(stream) = self.connection.unidentified.remove(&number) else { return };
        let open = Open { partial: true, ..self.connection.open(method.to_owned(), Vec::new()) };
        let id = self.assembler.open(self.at, open, self.out);
        self.connection.streams.insert(number, id);
        self.connection.had_stream = true;
        for (dir, bytes) in stream.pieces {
            match bytes {
                Some(bytes) => self.assembler.data(id, dir, &bytes, self.catalog),
                None => self.assembler.message(self.at, id, dir, self.catalog, self.out),
            }
        }
    }

    fn ping(&mut self, dir: Dir) {
        let Some(before) = self.connection.last_pings_at.get_mut(dir as usize) else { return };
        let idle = self.at.since(self.connection.last_message_at).min(self.at.since(*before));
        *before = self.at;
        if idle >= MIN_KEEPALIVE_IDLE {
            let streams = self.connection.streams.values().copied();
            self.assembler.ping(self.at, streams, dir, self.out);
        }
    }

    /// Adds a stream that the client has opened.
    fn opened(&mut self, number: u32, head: Head) {
        let is_grpc = head.is_grpc();
        let path = (self.clean)(":path", &head.path).unwrap_or(head.path);
        let method = if is_grpc { path } else { format!("{} {path}", head.method) };
        let metadata = cleaned(self.clean, head.metadata);
        let open = self.connection.open(method, metadata);
        let id = self.assembler.open(self.at, open, self.out);
        if head.omitted > 0 {
            self.assembler.headers_not_kept(self.at, id, head.omitted, self.out);
        }
        self.connection.streams.insert(number, id);
        self.connection.had_stream = true;
    }

    /// Reads what is left of bytes whose messages did not fit into the queue.
    fn skimmed(&mut self, dir: Dir, mut kept: &[u8], parts: &[SkimmedPart]) {
        let missing: u64 = parts.iter().map(|part| u64::from(part.missing)).sum();
        if self.connection.polls.is_some() || self.connection.opaque.is_some() {
            return self.lost_unread(kept.len() as u64 + missing, parts.len() as u64);
        }
        self.connection.client_has_sent |= dir == Dir::Req;
        for part in parts {
            let (now, rest) = kept.split_at_checked(part.kept as usize).unwrap_or((kept, &[]));
            kept = rest;
            self.observe(|observer, out| observer.feed(dir, now, out));
            if part.missing > 0 {
                let Some(mut observer) = self.connection.observer.take() else { return };
                observer.miss(dir, part.missing.into(), &mut |event| self.miss_part(event));
                self.connection.observer = Some(observer);
            }
        }
        self.report_skimmed(|_, missed| missed.is_over);
    }

    /// Adds up the missing bytes of a message, which are reported together.
    fn miss_part(&mut self, event: Event<'_>) {
        let Event::Missing { stream: Some(number), dir, messages, bytes, is_over } = event else {
            return self.event(event);
        };
        if let Some(stream) = self.connection.unidentified.get_mut(&number) {
            stream.drop_incomplete(dir);
        }
        if let Some(id) = self.connection.streams.get(&number) {
            self.assembler.drop_unfinished(*id, dir);
            let missed = self.connection.skimmed.entry((number, dir)).or_default();
            missed.messages += messages;
            missed.bytes += bytes;
            missed.is_over = is_over;
        }
    }

    /// Reports missing messages of the streams and directions that `wanted` selects.
    fn report_skimmed(&mut self, wanted: impl Fn(&(u32, Dir), &MissedPart) -> bool) {
        let connection = &mut *self.connection;
        for ((number, dir), missed) in connection.skimmed.extract_if(.., |key, missed| wanted(key, missed)) {
            if let Some(id) = connection.streams.get(&number) {
                let gap = Gap::lost(Some(dir), missed.messages, missed.bytes);
                self.assembler.gap(self.at, *id, gap, self.out);
            }
        }
    }

    /// Skips bytes whose copy did not fit, and resumes behind them.
    fn lost(&mut self, dir: Dir, bytes: u64, chunks: u64) {
        if self.connection.polls.is_some() || self.connection.opaque.is_some() {
            return self.lost_unread(bytes, chunks);
        }
        self.connection.client_has_sent |= dir == Dir::Req;
        self.observe(|observer, out| observer.miss(dir, bytes, out));
    }

    /// Counts lost bytes of a connection without HTTP/2.
    fn lost_unread(&mut self, bytes: u64, chunks: u64) {
        if self.connection.polls.is_some() {
            self.observe_polls(|polls, out| polls.connection.lost(out));
        }
        if let Some(id) = self.connection.opaque {
            self.assembler.gap(self.at, id, Gap::lost(None, chunks, bytes), self.out);
        }
    }

    /// Reports a connection that never had a stream, and why.
    fn report_without_stream(&mut self, by: Side, why: String) {
        let open = self.connection.open(Open::NOTHING.into(), Vec::new());
        let id = self.assembler.open(self.at, open, self.out);
        let end = End { by: Some(by), status: None, reset: None, note: Some(why) };
        self.assembler.end(self.at, id, self.catalog.clean_end(end), self.out);
    }

    /// Ends all open streams, because the connection has ended.
    fn closed(&mut self, by: Option<Side>, error: Option<String>) {
        let by = match error {
            None => self.connection.first_end.by().or(by),
            Some(_) => by,
        };
        self.report_skimmed(|_, _| true);
        if let (false, None, Some(Side::Server), Some(why)) =
            (self.connection.had_stream, self.connection.opaque, by, &error)
        {
            self.report_without_stream(Side::Server, format!("{}: {why}", self.connection.server));
        }
        if self.connection.polls.is_some() {
            self.observe_polls(|polls, out| polls.connection.close(out));
        } else {
            self.observe(|observer, out| observer.close(by, error.as_deref(), out));
        }
        for id in [self.connection.opaque.take(), self.connection.unopened.take()].into_iter().flatten() {
            let end = End { by, status: None, reset: None, note: error.clone() };
            self.assembler.end(self.at, id, self.catalog.clean_end(end), self.out);
        }
    }
}

/// Returns metadata with secrets redacted.
fn cleaned(clean: &CleanMetadata, fields: Vec<(String, String)>) -> Vec<(String, String)> {
    let clean = |(name, value): (String, String)| {
        let value = clean(&name, &value).unwrap_or(value);
        (name, value)
    };
    fields.into_iter().map(clean).collect()
}
