//! Lines of raw JSONL as frames.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::held::HeldFrames;
use super::lengths::check_lengths;
use super::line_error::LineError;
use super::{JsonCodec, NODE, base64};
use crate::observe::rest;
use xdscope_schema::{exceeds, read_json};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Clock, Code, Dir, Method, Side, StreamId, Time, Variant};
use xdscope_wire::http1::end_of_status;
use xdscope_wire::{
    End, FramePayload, GapCause, Interference, Intervention, InterventionFacts, MAX_COUNT, Message,
    MessageBuilder, MessageShape, Open, Oversized,
};

/// Smallest number of seconds taken for Unix time instead of an uptime.
const MIN_UNIX_SECONDS: f64 = 1e9;

/// Ended streams whose lines are reported. A line of an older one begins another stream.
const MAX_ENDED_STREAMS: usize = 65_536;

/// The part of the memory for the values of a line that a message with escapes may take: the parser
/// copies such a message twice.
const ESCAPED_PART: usize = 8;

/// One line. Unknown keys are ignored.
#[derive(Deserialize)]
struct RawLine<'a> {
    dir: String,
    /// `null` on the lines of a file without times.
    #[serde(default)]
    t: Value,
    stream: Value,
    method: Option<String>,
    #[serde(borrow)]
    raw: Option<RawText<'a>>,
    body: Option<Value>,
    http_status: Option<u16>,
    metadata: Option<Map<String, Value>>,
    peer: Option<String>,
    server: Option<String>,
    node_hint: Option<Value>,
    #[serde(default)]
    partial: bool,
    code: Option<Value>,
    message: Option<String>,
    by: Option<String>,
    reset: Option<u32>,
    note: Option<String>,
    messages: Option<u64>,
    bytes: Option<u64>,
    opaque: Option<String>,
    cause: Option<String>,
    interference: Option<String>,
    of: Option<String>,
    type_url: Option<String>,
    version: Option<String>,
    nonce: Option<String>,
    #[serde(borrow)]
    original: Option<RawText<'a>>,
    #[serde(borrow)]
    sent: Option<RawText<'a>>,
    sent_as: Option<String>,
    #[serde(default)]
    delta: bool,
}

impl RawLine<'_> {
    /// Returns the number of the stream.
    fn number(&self) -> Result<String, LineError> {
        match &self.stream {
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(LineError::StreamNumber),
        }
    }
}

/// A text that is part of its line, if it has no escapes.
#[derive(Deserialize)]
struct RawText<'a>(#[serde(borrow)] Cow<'a, str>);

/// A `stream` of the file: its number and, for REST polls, the path of the track.
type StreamKey = (String, Option<String>);

struct RawStream {
    id: StreamId,
    /// The number of the frame that opens the stream.
    opened: u64,
    method: String,
    /// Whether a message has stated its type.
    has_type: bool,
    /// The number of the frame that ends the stream.
    ended: Option<u64>,
}

/// The state of a session between two lines.
pub(super) struct RawSession<'a> {
    pub(super) json: Option<&'a dyn JsonCodec>,
    pub(super) frames: HeldFrames,
    streams: BTreeMap<StreamKey, RawStream>,
    /// Streams of `streams` that have ended, in order.
    ended: VecDeque<StreamKey>,
    stream_count: u32,
    pub(super) clock: Clock,
    /// The origin of the file's times, known after the first line.
    origin: Option<TimeOrigin>,
    pub(super) now: Time,
    pub(super) undecoded: u64,
    /// Memory that the values of a line may take, in bytes.
    tree_limit: usize,
}

#[derive(Clone, Copy)]
enum TimeOrigin {
    Date(jiff::Timestamp),
    Seconds(f64),
    /// The lines have no times.
    Untimed,
}

impl<'a> RawSession<'a> {
    pub(super) fn new(json: Option<&'a dyn JsonCodec>, tree_limit: usize) -> RawSession<'a> {
        RawSession {
            json,
            frames: HeldFrames::default(),
            streams: BTreeMap::new(),
            ended: VecDeque::new(),
            stream_count: 0,
            clock: Clock::default(),
            origin: None,
            now: Time::ZERO,
            undecoded: 0,
            tree_limit,
        }
    }

    /// Whether a line has stated the time.
    pub(super) fn has_clock(&self) -> bool {
        self.origin.is_some()
    }

    /// Takes a line, and adds its content to the catalog.
    pub(super) fn line(&mut self, text: &[u8], catalog: &mut Catalog) -> Result<(), LineError> {
        if text.is_empty() {
            return Ok(());
        }
        if exceeds(text, self.tree_limit) {
            return Err(LineError::TooManyValues(self.tree_limit >> 20));
        }
        check_lengths(text, self.tree_limit / ESCAPED_PART)?;
        let mut line: RawLine<'_> = read_json(text)?;
        if let Some(method) = line.method.as_mut().filter(|method| method.starts_with('/')) {
            // Like the tap, which keeps no query of a path.
            method.truncate(method.find(['?', '#']).unwrap_or(method.len()));
        }
        let at = self.time(&line.t)?;
        let number = line.number()?;
        match line.dir.as_str() {
            "open" => self.open(at, number, line, catalog),
            "c2s" => self.message(at, number, line, Dir::Req, catalog),
            "s2c" => self.message(at, number, line, Dir::Resp, catalog),
            "intercepted" => self.intercepted(at, number, line, catalog),
            "gap" => {
                let (messages, bytes) =
                    [line.messages, line.bytes].map(|count| count.unwrap_or(0).min(MAX_COUNT)).into();
                let what = match line.opaque.as_deref() {
                    Some("c2s") => FramePayload::Opaque { dir: Dir::Req, messages, bytes },
                    Some("s2c") => FramePayload::Opaque { dir: Dir::Resp, messages, bytes },
                    _ => {
                        let word = line.cause.as_deref().unwrap_or_default();
                        let cause = GapCause::ALL.into_iter().find(|cause| cause.word() == word);
                        let dir = match line.of.as_deref() {
                            Some("c2s") => Some(Dir::Req),
                            Some("s2c") => Some(Dir::Resp),
                            _ => None,
                        };
                        FramePayload::Gap { dir, messages, bytes, cause: cause.unwrap_or_default() }
                    }
                };
                let stream = self.stream(at, number, line.method, catalog)?;
                self.put(at, stream, what);
                Ok(())
            }
            "status" => {
                let code = match &line.code {
                    Some(Value::Number(code)) => code.as_i64().and_then(|n| i32::try_from(n).ok()).map(Code),
                    Some(Value::String(name)) => Code::parse(name),
                    _ => None,
                };
                let code = code.ok_or(LineError::Status)?;
                let status = Some((code, line.message.unwrap_or_default()));
                let end = End { by: Some(Side::Server), status, ..End::default() };
                self.end(at, number, catalog.clean_end(end), catalog)
            }
            "close" => {
                let by = match line.by.as_deref() {
                    Some("client") => Some(Side::Client),
                    Some("server") => Some(Side::Server),
                    _ => None,
                };
                let end = End { by, reset: line.reset, note: line.note, status: None };
                self.end(at, number, catalog.clean_end(end), catalog)
            }
            _ => Err(LineError::Dir),
        }
    }

    /// Puts a gap for the message of a line that is too long, if the start of the line, `head`,
    /// tells its stream. Returns whether it does.
    pub(super) fn long_line(&mut self, head: &[u8], bytes: u64, catalog: &Catalog) -> bool {
        let key = [&b"\"raw\""[..], b"\"body\""].iter().filter_map(|key| memmem::find(head, key)).min();
        let Some(front) = key.and_then(|key| head.get(..key)) else { return false };
        let front = front.trim_ascii_end();
        let front = front.strip_suffix(b",").unwrap_or(front);
        let line = [front, b"}"].concat();
        let Ok(line) = serde_json::from_slice::<RawLine<'_>>(&line) else { return false };
        let dir = match line.dir.as_str() {
            "c2s" => Dir::Req,
            "s2c" => Dir::Resp,
            _ => return false,
        };
        let Ok(number) = line.number() else { return false };
        let stream =
            self.time(&line.t).and_then(|at| Ok((at, self.stream(at, number, line.method, catalog)?)));
        let Ok((at, stream)) = stream else { return false };
        let bytes = bytes / 4 * 3;
        let gap = FramePayload::Gap { dir: Some(dir), messages: 1, bytes, cause: GapCause::Size };
        self.put(at, stream, gap);
        true
    }

    /// Returns the line's time. Time never goes back: a late line gets the current time.
    fn time(&mut self, t: &Value) -> Result<Time, LineError> {
        let wrong = || LineError::Time;
        let at = match (t, self.origin) {
            (Value::Number(secs), zero) => {
                let secs = secs.as_f64().ok_or_else(wrong)?;
                let zero = match zero {
                    None if secs >= MIN_UNIX_SECONDS => {
                        let date = jiff::Timestamp::from_microsecond((secs * 1e6).round() as i64);
                        self.clock.epoch = Some(date.map_err(|_| wrong())?.as_nanosecond());
                        secs
                    }
                    // Seconds of an unknown clock stay as they are, comparable with the file's.
                    None => secs.min(0.0),
                    Some(TimeOrigin::Seconds(zero)) => zero,
                    Some(TimeOrigin::Date(_) | TimeOrigin::Untimed) => return Err(wrong()),
                };
                self.origin = Some(TimeOrigin::Seconds(zero));
                let nanos = if zero == 0.0 { secs * 1e9 } else { ((secs - zero) * 1e6).round() * 1e3 };
                Time(nanos.round().max(0.0) as u64)
            }
            (Value::String(text), zero) => {
                let date: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
                let zero = match zero {
                    None => date,
                    Some(TimeOrigin::Date(zero)) => zero,
                    Some(TimeOrigin::Seconds(_) | TimeOrigin::Untimed) => return Err(wrong()),
                };
                self.origin = Some(TimeOrigin::Date(zero));
                self.clock.epoch = Some(zero.as_nanosecond());
                Time(u64::try_from(date.as_nanosecond() - zero.as_nanosecond()).unwrap_or(0))
            }
            (Value::Null, None | Some(TimeOrigin::Untimed)) => {
                self.origin = Some(TimeOrigin::Untimed);
                self.clock.untimed = true;
                Time::ZERO
            }
            _ => return Err(wrong()),
        };
        self.now = self.now.max(at);
        Ok(self.now)
    }

    fn put(&mut self, at: Time, stream: StreamId, what: FramePayload) {
        self.frames.put(at, stream, what);
    }

    /// Opens a new stream.
    fn begin(&mut self, at: Time, key: StreamKey, open: Open) -> StreamId {
        self.stream_count += 1;
        let id = StreamId(self.stream_count);
        let (method, opened) = (open.method.clone(), self.frames.next_number());
        self.streams.insert(key, RawStream { id, opened, method, has_type: false, ended: None });
        self.put(at, id, FramePayload::Open(Box::new(open)));
        id
    }

    fn open(
        &mut self,
        at: Time,
        number: String,
        line: RawLine<'_>,
        catalog: &Catalog,
    ) -> Result<(), LineError> {
        let method = line.method.ok_or(LineError::NoMethod)?;
        let key = key(number, &method);
        if self.streams.contains_key(&key) {
            return Err(LineError::AlreadyOpen(key.0));
        }
        let mut metadata = Vec::new();
        for (name, value) in line.metadata.unwrap_or_default() {
            let values = match value {
                Value::Array(values) => values,
                one => vec![one],
            };
            for value in values {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                metadata.push((name.clone(), text));
            }
        }
        let node_hint = match (&line.node_hint, self.json) {
            (Some(node), Some(json)) => Some(json.encode(NODE, node).ok_or(LineError::NodeHint)?),
            (Some(_), None) => {
                self.undecoded += 1;
                None
            }
            _ => None,
        };
        let (peer, server, partial) = (line.peer, line.server, line.partial);
        let open = Open { method, peer, server, metadata, node_hint, partial, ..Open::default() };
        self.begin(at, key, catalog.clean_open(open));
        Ok(())
    }

    /// Returns the key of a line. A line without a method, such as `close`, is about the stream of
    /// its number, or about the only track of polls with that number.
    fn key(&self, number: String, method: &str) -> StreamKey {
        let key = key(number, method);
        if key.1.is_some() || self.streams.contains_key(&key) {
            return key;
        }
        let mut tracks = self.streams.range(key.clone()..).take_while(|(other, _)| other.0 == key.0);
        match (tracks.next(), tracks.next()) {
            (Some((only, _)), None) => only.clone(),
            _ => key,
        }
    }

    /// Returns the stream of a line other than `open`; a stream without an `open` is partial.
    fn stream(
        &mut self,
        at: Time,
        number: String,
        method: Option<String>,
        catalog: &Catalog,
    ) -> Result<StreamId, LineError> {
        let key = self.key(number, method.as_deref().unwrap_or_default());
        let stated = method.as_deref().filter(|path| !path.is_empty());
        match (self.streams.get_mut(&key), stated) {
            (Some(stream), _) if stream.ended.is_some() => return Err(LineError::Ended(key.0)),
            // The first line of the stream did not state the method.
            (Some(stream), Some(stated)) if stream.method.is_empty() => {
                if let Some(FramePayload::Open(open)) = self.frames.get_mut(stream.opened) {
                    let stated = Open { method: stated.to_owned(), ..Open::default() };
                    open.method = catalog.clean_open(stated).method;
                    stream.method.clone_from(&open.method);
                    return Ok(stream.id);
                }
                // The opening was passed on without the method: what follows is another stream.
            }
            (Some(stream), _) => return Ok(stream.id),
            (None, _) => {}
        }
        let partial = key.1.is_none();
        let open = Open { method: method.unwrap_or_default(), partial, ..Open::default() };
        Ok(self.begin(at, key, catalog.clean_open(open)))
    }

    fn intercepted(
        &mut self,
        at: Time,
        number: String,
        line: RawLine<'_>,
        catalog: &mut Catalog,
    ) -> Result<(), LineError> {
        // Later writers may know more kinds.
        let word = line.interference.as_deref().unwrap_or_default();
        let Some(interference) = Interference::parse(word) else { return Ok(()) };
        let dir = |word: Option<&str>| if word == Some("s2c") { Dir::Resp } else { Dir::Req };
        let text = |text: Option<String>| Arc::from(text.unwrap_or_default());
        let message =
            |text: Option<RawText<'_>>| text.and_then(|RawText(text)| base64::decode(&text)).map(Bytes::from);
        let dir_of = dir(line.of.as_deref());
        let what = Intervention {
            facts: InterventionFacts {
                interference,
                dir: dir_of,
                is_delta: line.delta,
                type_url: line.type_url.as_deref().unwrap_or_default().into(),
                version: text(line.version),
                nonce: text(line.nonce),
                by: text(line.by),
            },
            original: message(line.original),
            sent: message(line.sent),
            sent_dir: dir(line.sent_as.as_deref()),
        };
        let stream = self.stream(at, number, line.method, catalog)?;
        self.put(at, stream, FramePayload::Intercepted(Box::new(what.kept(catalog))));
        Ok(())
    }

    fn message(
        &mut self,
        at: Time,
        number: String,
        line: RawLine<'_>,
        dir: Dir,
        catalog: &mut Catalog,
    ) -> Result<(), LineError> {
        let known = self.streams.get(&(number.clone(), None)).map(|stream| stream.method.clone());
        let (known, stated) =
            (known.filter(|path| !path.is_empty()), line.method.filter(|path| !path.is_empty()));
        // A stream has one method, whatever later lines state; the tracks of polls have their own.
        let is_track = stated.as_ref().is_some_and(|path| key(number.clone(), path).1.is_some());
        let path = if is_track { stated } else { known.or(stated) }.ok_or(LineError::NoMethod)?;
        let method = Method::of_path(&path);
        let shape = method.as_ref().map(|method| MessageShape::of(method, dir));
        // A message on a REST path of an unknown name is of xDS if the poll states a type.
        let needs_type =
            method.as_ref().is_some_and(|method| method.variant == Variant::Rest && method.kind.is_none());
        let raw = match line.raw {
            Some(RawText(raw)) => Some(read_raw(&raw, shape, dir, catalog)?),
            None => None,
        };
        let key = self.key(number.clone(), &path);
        let stream = self.stream(at, number, Some(path), catalog)?;
        let what = match (raw, line.body, line.http_status) {
            (Some(what), _, _) => what,
            // "Not modified" carries no message.
            (None, None, Some(304)) => FramePayload::Opaque { dir, messages: 0, bytes: 0 },
            (None, body, Some(_)) if needs_type && !self.is_typed(&key, false) => {
                let bytes = body.map_or(0, |body| body.to_string().len() as u64);
                FramePayload::Opaque { dir, messages: 1, bytes }
            }
            (None, body, Some(status)) if dir == Dir::Resp && !matches!(status, 200 | 304) => {
                let body = body.map(|body| body.as_str().map_or_else(|| body.to_string(), str::to_owned));
                let end = end_of_status(status, body.unwrap_or_default().as_bytes());
                self.put(at, stream, FramePayload::End(Box::new(catalog.clean_end(end))));
                // The next poll of the track begins another one.
                self.streams.remove(&key);
                return Ok(());
            }
            (None, Some(body), _) if needs_type && !self.is_typed(&key, states_type(&body)) => {
                FramePayload::Opaque { dir, messages: 1, bytes: body.to_string().len() as u64 }
            }
            (None, Some(body), _) => match self.json.zip(shape) {
                Some((json, shape)) => {
                    let bytes = encode_body(body, shape, json)?;
                    content(Message::try_parse(shape, &bytes, catalog), shape.dir())
                }
                None => {
                    self.undecoded += 1;
                    return Ok(());
                }
            },
            (None, None, _) => return Err(LineError::NoContent),
        };
        let what = match what {
            FramePayload::Message(message)
                if needs_type && !self.is_typed(&key, !message.type_url().is_empty()) =>
            {
                FramePayload::Opaque { dir, messages: 1, bytes: message.size }
            }
            what => what,
        };
        self.put(at, stream, what);
        Ok(())
    }

    /// Whether a message of a track states its type, or an earlier one has done so.
    fn is_typed(&mut self, key: &StreamKey, states_type: bool) -> bool {
        let Some(stream) = self.streams.get_mut(key) else { return states_type };
        stream.has_type |= states_type;
        stream.has_type
    }

    /// Ends a stream. A status and the `close` behind it are one end.
    fn end(&mut self, at: Time, number: String, end: End, catalog: &Catalog) -> Result<(), LineError> {
        let key = self.key(number.clone(), "");
        let ended = self.streams.get(&key).and_then(|stream| stream.ended);
        if let Some(FramePayload::End(first)) = ended.and_then(|ended| self.frames.get_mut(ended)) {
            first.by = end.by.or(first.by);
            first.reset = end.reset.or(first.reset);
            first.note = end.note.or(first.note.take());
            first.status = first.status.take().or(end.status);
            return Ok(());
        }
        let stream = self.stream(at, number, None, catalog)?;
        let ended = self.frames.next_number();
        self.put(at, stream, FramePayload::End(Box::new(end)));
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.ended = Some(ended);
            self.ended.push_back(key);
        }
        self.forget_ended();
        Ok(())
    }

    /// Forgets the streams that ended first.
    fn forget_ended(&mut self) {
        if self.ended.len() > MAX_ENDED_STREAMS
            && let Some(key) = self.ended.pop_front()
            && self.streams.get(&key).is_some_and(|stream| stream.ended.is_some())
        {
            self.streams.remove(&key);
        }
    }
}

/// Decodes a message in base64, piece by piece.
fn read_raw(
    raw: &str,
    shape: Option<MessageShape>,
    dir: Dir,
    catalog: &mut Catalog,
) -> Result<FramePayload, LineError> {
    let mut bytes = 0;
    let mut builder = shape.map(MessageBuilder::new);
    let decoded = base64::decode_pieces(raw, |piece| {
        bytes += piece.len() as u64;
        if let Some(builder) = &mut builder {
            builder.push(piece, catalog);
        }
    });
    if !decoded {
        return Err(LineError::Base64);
    }
    Ok(match builder {
        Some(builder) => content(builder.finish(catalog), dir),
        // Count what is not xDS (docs/protocol.md#a-19).
        None => FramePayload::Opaque { dir, messages: 1, bytes },
    })
}

fn content(message: Result<Message, Oversized>, dir: Dir) -> FramePayload {
    match message {
        Ok(message) => FramePayload::Message(Arc::new(message)),
        Err(Oversized { cause, bytes }) => FramePayload::Gap { dir: Some(dir), messages: 1, bytes, cause },
    }
}

/// Whether the body of a message states its type.
fn states_type(body: &Value) -> bool {
    let parsed = body.as_str().and_then(|text| read_json(text.as_bytes()).ok());
    rest::states_type(parsed.as_ref().unwrap_or(body))
}

/// Encodes the body of a message, which is JSON text in a string, or JSON itself.
fn encode_body(body: Value, shape: MessageShape, json: &dyn JsonCodec) -> Result<Vec<u8>, LineError> {
    let body = match body.as_str() {
        Some(text) => read_json(text.as_bytes()).map_err(LineError::BodyText)?,
        None => body,
    };
    let message = format!("envoy.service.discovery.v3.{}", shape.message());
    json.encode(&message, &body).ok_or(LineError::Body(message))
}

/// REST polls of one client share a number; the path tells their tracks apart.
fn key(number: String, method: &str) -> StreamKey {
    let rest = Method::of_path(method).is_some_and(|method| method.variant == Variant::Rest);
    (number, rest.then(|| method.to_owned()))
}
