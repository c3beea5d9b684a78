use crate::wire::{GapCause, Oversized};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::line_error::LineError;
use super::{JsonCodec, NODE, base64};
use crate::schema::read_json;
use crate::sources::record::loaded::Loaded;
use crate::wire::content::{Catalog, MemoryBodies, Redact};
use crate::wire::event::{Clock, Code, Dir, Method, Side, StreamId, Time, Variant};
use crate::wire::http1::end_of_status;
use crate::wire::{End, Frame, FramePayload, Message, MessageShape, Open};

/// Longest line: the largest field there is, in base64, and the rest of its line.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// Lines that are reported individually; more are only counted.
const MAX_REPORTED_LINES: usize = 20;
/// Smallest number of seconds taken for Unix time instead of an uptime.
const MIN_UNIX_SECONDS: f64 = 1e9;

/// Optional conversions while reading.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Redacts secrets before anything is stored.
    pub redact: Option<Arc<dyn Redact>>,
    /// Decodes `node_hint` and `body`. Without it, both are skipped with a notice.
    pub json: Option<&'a dyn JsonCodec>,
    /// The key of the content hashes.
    pub seed: u64,
}

/// One line. Unknown keys are ignored.
#[derive(Deserialize)]
struct RawLine {
    dir: String,
    t: Value,
    stream: Value,
    method: Option<String>,
    raw: Option<String>,
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
}

/// A `stream` of the file: its number and, for REST polls, the path of the track.
type StreamKey = (String, Option<String>);

struct RawStream {
    id: StreamId,
    /// The index of the stream's opening among the frames.
    opened: usize,
    method: String,
    /// The index of the stream's end among the frames.
    ended: Option<usize>,
}

struct RawReader<'a> {
    options: &'a Options<'a>,
    catalog: Catalog,
    frames: Vec<Frame>,
    notices: Vec<String>,
    skipped_lines: usize,
    streams: BTreeMap<StreamKey, RawStream>,
    stream_count: u32,
    clock: Clock,
    /// The origin of the file's times, known after the first line.
    origin: Option<TimeOrigin>,
    now: Time,
    undecoded: u64,
}

#[derive(Clone, Copy)]
enum TimeOrigin {
    Date(jiff::Timestamp),
    Seconds(f64),
}

/// Reads raw JSONL. Bad lines are skipped and reported in the notices.
///
/// # Errors
///
/// The input can't be read.
pub fn read(input: impl BufRead) -> io::Result<Loaded> {
    read_with(input, &Options::default())
}

/// Reads raw JSONL with [`Options`].
///
/// # Errors
///
/// The input can't be read.
pub fn read_with(mut input: impl BufRead, options: &Options<'_>) -> io::Result<Loaded> {
    let catalog = Catalog::new(options.seed, options.redact.clone(), Box::new(MemoryBodies::default()));
    let mut reader = RawReader {
        options,
        catalog,
        frames: Vec::new(),
        notices: Vec::new(),
        skipped_lines: 0,
        streams: BTreeMap::new(),
        stream_count: 0,
        clock: Clock::default(),
        origin: None,
        now: Time::ZERO,
        undecoded: 0,
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE_BYTES {
            input.skip_until(b'\n')?;
            reader.report(number, &LineError::TooLong);
        } else if let Err(error) = reader.line(line.trim_ascii()) {
            reader.report(number, &error);
        }
    }
    Ok(reader.finish())
}

impl RawReader<'_> {
    fn report(&mut self, number: u64, error: &LineError) {
        self.skipped_lines += 1;
        if self.skipped_lines <= MAX_REPORTED_LINES {
            self.notices.push(format!("line {number} skipped: {error}"));
        }
    }

    fn line(&mut self, text: &[u8]) -> Result<(), LineError> {
        if text.is_empty() {
            return Ok(());
        }
        let line: RawLine = read_json(text)?;
        let at = self.time(&line.t)?;
        let number = match &line.stream {
            Value::Number(number) => number.to_string(),
            other => return Err(LineError::StreamNumber(other.clone())),
        };
        match line.dir.as_str() {
            "open" => self.open(at, number, line),
            "c2s" => self.message(at, number, line, Dir::Req),
            "s2c" => self.message(at, number, line, Dir::Resp),
            "gap" => {
                let (messages, bytes) = (line.messages.unwrap_or(0), line.bytes.unwrap_or(0));
                let what = match line.opaque.as_deref() {
                    Some("c2s") => FramePayload::Opaque { dir: Dir::Req, messages, bytes },
                    Some("s2c") => FramePayload::Opaque { dir: Dir::Resp, messages, bytes },
                    _ => {
                        let word = line.cause.as_deref().unwrap_or_default();
                        let cause = GapCause::ALL.into_iter().find(|cause| cause.word() == word);
                        FramePayload::Gap { messages, bytes, cause: cause.unwrap_or_default() }
                    }
                };
                let stream = self.stream(at, number, line.method)?;
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
                self.end(at, number, End { by: Some(Side::Server), status, ..End::default() })
            }
            "close" => {
                let by = match line.by.as_deref() {
                    Some("client") => Some(Side::Client),
                    Some("server") => Some(Side::Server),
                    _ => None,
                };
                self.end(at, number, End { by, reset: line.reset, note: line.note, status: None })
            }
            other => Err(LineError::Dir(other.to_owned())),
        }
    }

    /// Returns the line's time. Time never goes back: a late line gets the current time.
    fn time(&mut self, t: &Value) -> Result<Time, LineError> {
        let wrong = || LineError::Time(t.clone());
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
                    Some(TimeOrigin::Date(_)) => return Err(wrong()),
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
                    Some(TimeOrigin::Seconds(_)) => return Err(wrong()),
                };
                self.origin = Some(TimeOrigin::Date(zero));
                self.clock.epoch = Some(zero.as_nanosecond());
                Time(u64::try_from(date.as_nanosecond() - zero.as_nanosecond()).unwrap_or(0))
            }
            _ => return Err(wrong()),
        };
        self.now = self.now.max(at);
        Ok(self.now)
    }

    fn put(&mut self, at: Time, stream: StreamId, what: FramePayload) {
        self.frames.push(Frame { at, stream, what });
    }

    /// Opens a new stream.
    fn begin(&mut self, at: Time, key: StreamKey, open: Open) -> StreamId {
        self.stream_count += 1;
        let id = StreamId(self.stream_count);
        let (method, opened) = (open.method.clone(), self.frames.len());
        self.streams.insert(key, RawStream { id, opened, method, ended: None });
        self.put(at, id, FramePayload::Open(Box::new(open)));
        id
    }

    fn open(&mut self, at: Time, number: String, line: RawLine) -> Result<(), LineError> {
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
        let node_hint = match (&line.node_hint, self.options.json) {
            (Some(node), Some(json)) => Some(json.encode(NODE, node).ok_or(LineError::NodeHint)?),
            (Some(_), None) => {
                self.undecoded += 1;
                None
            }
            _ => None,
        };
        let (peer, server, partial) = (line.peer, line.server, line.partial);
        let open = Open { method, peer, server, metadata, node_hint, partial, ..Open::default() };
        self.begin(at, key, self.catalog.clean_open(open));
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
    fn stream(&mut self, at: Time, number: String, method: Option<String>) -> Result<StreamId, LineError> {
        let key = self.key(number, method.as_deref().unwrap_or_default());
        match self.streams.get_mut(&key) {
            Some(stream) if stream.ended.is_some() => Err(LineError::Ended(key.0)),
            Some(stream) => {
                if let (true, Some(method)) =
                    (stream.method.is_empty(), method.filter(|path| !path.is_empty()))
                    && let Some(FramePayload::Open(open)) =
                        self.frames.get_mut(stream.opened).map(|frame| &mut frame.what)
                {
                    // The first line of the stream did not state the method.
                    stream.method.clone_from(&method);
                    open.method = method;
                }
                Ok(stream.id)
            }
            None => {
                let partial = key.1.is_none();
                let open = Open { method: method.unwrap_or_default(), partial, ..Open::default() };
                Ok(self.begin(at, key, open))
            }
        }
    }

    fn message(&mut self, at: Time, number: String, line: RawLine, dir: Dir) -> Result<(), LineError> {
        let known = self.streams.get(&(number.clone(), None)).map(|stream| stream.method.clone());
        let (known, stated) =
            (known.filter(|path| !path.is_empty()), line.method.filter(|path| !path.is_empty()));
        // A stream has one method, whatever later lines state; the tracks of polls have their own.
        let is_track = stated.as_ref().is_some_and(|path| key(number.clone(), path).1.is_some());
        let path = if is_track { stated } else { known.or(stated) }.ok_or(LineError::NoMethod)?;
        let bytes = match line.raw.as_deref().map(base64::decode) {
            Some(Some(bytes)) => Some(bytes),
            Some(None) => return Err(LineError::Base64),
            None => None,
        };
        let stream = self.stream(at, number.clone(), Some(path.clone()))?;
        let shape = Method::of_path(&path).map(|method| MessageShape::of(&method, dir));
        let bytes = match (bytes, line.body, line.http_status) {
            (Some(bytes), _, _) => bytes,
            // "Not modified" carries no message.
            (None, None, Some(304)) => {
                self.put(at, stream, FramePayload::Opaque { dir, messages: 0, bytes: 0 });
                return Ok(());
            }
            (None, body, Some(status)) if dir == Dir::Resp && !matches!(status, 200 | 304) => {
                let body = body.map(|body| body.as_str().map_or_else(|| body.to_string(), str::to_owned));
                let end = end_of_status(status, body.unwrap_or_default().as_bytes());
                let end = self.catalog.clean_end(end);
                self.put(at, stream, FramePayload::End(Box::new(end)));
                // The next poll of the track begins another one.
                let key = self.key(number, &path);
                self.streams.remove(&key);
                return Ok(());
            }
            (None, Some(body), _) => match (self.options.json, shape) {
                (Some(json), Some(shape)) => {
                    // The body is JSON text in a string, or JSON itself.
                    let body = match body.as_str() {
                        Some(text) => read_json(text.as_bytes()).map_err(LineError::BodyText)?,
                        None => body,
                    };
                    let message = format!("envoy.service.discovery.v3.{}", shape.message());
                    json.encode(&message, &body).ok_or(LineError::Body(message))?
                }
                _ => {
                    self.undecoded += 1;
                    return Ok(());
                }
            },
            (None, None, _) => return Err(LineError::NoContent),
        };
        let what = match shape {
            Some(shape) => match Message::try_parse(shape, &bytes, &mut self.catalog) {
                Ok(message) => FramePayload::Message(Arc::new(message)),
                Err(Oversized { cause, bytes }) => FramePayload::Gap { messages: 1, bytes, cause },
            },
            // Count what is not xDS (docs/protocol.md#a-19).
            None => FramePayload::Opaque { dir, messages: 1, bytes: bytes.len() as u64 },
        };
        self.put(at, stream, what);
        Ok(())
    }

    /// Ends a stream. A status and the `close` behind it are one end.
    fn end(&mut self, at: Time, number: String, end: End) -> Result<(), LineError> {
        let end = self.catalog.clean_end(end);
        let key = self.key(number.clone(), "");
        let ended = self.streams.get(&key).and_then(|stream| stream.ended);
        if let Some(FramePayload::End(first)) =
            ended.and_then(|at| self.frames.get_mut(at)).map(|f| &mut f.what)
        {
            first.by = end.by.or(first.by);
            first.reset = end.reset.or(first.reset);
            first.note = end.note.or(first.note.take());
            first.status = first.status.take().or(end.status);
            return Ok(());
        }
        let stream = self.stream(at, number, None)?;
        self.put(at, stream, FramePayload::End(Box::new(end)));
        if let Some(stream) = self.streams.get_mut(&key) {
            stream.ended = Some(self.frames.len() - 1);
        }
        Ok(())
    }

    fn finish(mut self) -> Loaded {
        if self.skipped_lines > MAX_REPORTED_LINES {
            self.notices.push(format!("{} more lines skipped", self.skipped_lines - MAX_REPORTED_LINES));
        }
        if self.undecoded > 0 {
            self.notices.push(format!(
                "{} JSON bodies or nodes skipped: descriptors are needed to decode them",
                self.undecoded
            ));
        }
        Loaded {
            catalog: self.catalog,
            clock: self.clock,
            frames: self.frames,
            end: self.now,
            notices: self.notices,
            secrets: false,
        }
    }
}

/// REST polls of one client share a number; the path tells their tracks apart.
fn key(number: String, method: &str) -> StreamKey {
    let rest = Method::of_path(method).is_some_and(|method| method.variant == Variant::Rest);
    (number, rest.then(|| method.to_owned()))
}
