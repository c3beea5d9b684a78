use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Json, NODE, base64};
use crate::schema::redact;
use crate::sources::record::Loaded;
use crate::wire::content::{Catalog, MemoryBodies, Redact};
use crate::wire::event::{Clock, Code, Dir, Method, Side, StreamId, Time, Variant};
use crate::wire::{End, Frame, FramePayload, Message, Open, Shape};

/// A longer line is no message: in base64 the largest field there is, and the rest of its line.
const MAX_LINE: u64 = 1 << 30;
/// Lines that are reported one by one; more are only counted.
const REPORTED: usize = 20;
/// Seconds that can't be those of a clock that began with its machine: they are Unix time.
const UNIX: f64 = 1e9;

/// What reading can do beyond bytes.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Takes secrets out before anything is kept.
    pub redact: Option<Arc<dyn Redact>>,
    /// Reads `node_hint` and `body`. Without it they are left out, with a notice.
    pub json: Option<&'a dyn Json>,
    /// Keys the content hashes.
    pub seed: u64,
}

/// One line. Unknown keys are ignored.
#[derive(Deserialize)]
struct Line {
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
}

/// A `stream` of the file: its number, and for REST polls the track.
type Key = (String, Option<String>);

struct Stream {
    id: StreamId,
    method: String,
    /// The place of its end in the frames.
    ended: Option<usize>,
}

struct Reader<'a> {
    options: &'a Options<'a>,
    catalog: Catalog,
    frames: Vec<Frame>,
    notices: Vec<String>,
    bad: usize,
    streams: HashMap<Key, Stream>,
    count: u32,
    clock: Clock,
    /// What the file's times are: dates, or seconds from this zero. Known after the first line.
    zero: Option<Zero>,
    now: Time,
    unread: u64,
}

#[derive(Clone, Copy)]
enum Zero {
    Date(jiff::Timestamp),
    Seconds(f64),
}

/// Reads raw JSONL. Never fails on content: a bad line is reported in the notices and skipped.
pub fn read(input: impl BufRead) -> io::Result<Loaded> {
    read_with(input, &Options::default())
}

/// Reads raw JSONL with what [`Options`] adds.
pub fn read_with(mut input: impl BufRead, options: &Options<'_>) -> io::Result<Loaded> {
    let catalog = Catalog::new(options.seed, options.redact.clone(), Box::new(MemoryBodies::default()));
    let mut reader = Reader {
        options,
        catalog,
        frames: Vec::new(),
        notices: Vec::new(),
        bad: 0,
        streams: HashMap::new(),
        count: 0,
        clock: Clock::default(),
        zero: None,
        now: Time::ZERO,
        unread: 0,
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if (&mut input).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE {
            input.skip_until(b'\n')?;
            reader.report(number, "it is too long");
        } else if let Err(why) = reader.line(line.trim_ascii()) {
            reader.report(number, &why);
        }
    }
    Ok(reader.finish())
}

impl Reader<'_> {
    fn report(&mut self, number: u64, why: &str) {
        self.bad += 1;
        if self.bad <= REPORTED {
            self.notices.push(format!("line {number} skipped: {why}"));
        }
    }

    fn line(&mut self, text: &[u8]) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let at = self.time(&line.t)?;
        let number = match &line.stream {
            Value::Number(number) => number.to_string(),
            other => return Err(format!("stream is {other}, not a number")),
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
                    _ => FramePayload::Gap { messages, bytes },
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
                let code = code.ok_or("code is no gRPC status, neither number nor name")?;
                let status = Some((code, self.catalog.clean_text(line.message.unwrap_or_default())));
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
            other => Err(format!("dir {other:?} is none of open, c2s, s2c, status, close, gap")),
        }
    }

    /// The line's time. Times don't go back: a line that is late stands where it stands.
    fn time(&mut self, t: &Value) -> Result<Time, String> {
        let wrong = || format!("t is {t}: neither seconds nor RFC 3339 text, or not what the first line has");
        let at = match (t, self.zero) {
            (Value::Number(secs), zero) => {
                let secs = secs.as_f64().ok_or_else(wrong)?;
                let zero = match zero {
                    None if secs >= UNIX => {
                        let date = jiff::Timestamp::from_microsecond((secs * 1e6).round() as i64);
                        self.clock.epoch = Some(date.map_err(|_| wrong())?.as_nanosecond());
                        secs
                    }
                    // Seconds from any zero stay as they are, so that they can be compared with the file's.
                    None => secs.min(0.0),
                    Some(Zero::Seconds(zero)) => zero,
                    Some(Zero::Date(_)) => return Err(wrong()),
                };
                self.zero = Some(Zero::Seconds(zero));
                let nanos = if zero == 0.0 { secs * 1e9 } else { ((secs - zero) * 1e6).round() * 1e3 };
                Time(nanos.round().max(0.0) as u64)
            }
            (Value::String(text), zero) => {
                let date: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
                let zero = match zero {
                    None => date,
                    Some(Zero::Date(zero)) => zero,
                    Some(Zero::Seconds(_)) => return Err(wrong()),
                };
                self.zero = Some(Zero::Date(zero));
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

    /// A new stream.
    fn begin(&mut self, at: Time, key: Key, open: Open) -> StreamId {
        self.count += 1;
        let id = StreamId(self.count);
        self.streams.insert(key, Stream { id, method: open.method.clone(), ended: None });
        self.put(at, id, FramePayload::Open(Box::new(open)));
        id
    }

    fn open(&mut self, at: Time, number: String, line: Line) -> Result<(), String> {
        let method = line.method.ok_or("an open needs a method")?;
        let key = key(number, &method);
        if self.streams.contains_key(&key) {
            return Err(format!("stream {} is there already", key.0));
        }
        let mut metadata = Vec::new();
        for (name, value) in line.metadata.unwrap_or_default() {
            let values = match value {
                Value::Array(values) => values,
                one => vec![one],
            };
            for value in values {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let clean = self
                    .options
                    .redact
                    .as_ref()
                    .and_then(|_| redact::metadata(&name.to_ascii_lowercase(), &text));
                metadata.push((name.clone(), clean.unwrap_or(text)));
            }
        }
        let node_hint = match (&line.node_hint, self.options.json) {
            (Some(node), Some(json)) => Some(json.encode(NODE, node).ok_or("node_hint is no node")?),
            (Some(_), None) => {
                self.unread += 1;
                None
            }
            _ => None,
        };
        let (peer, server, partial) = (line.peer, line.server, line.partial);
        self.begin(at, key, Open { method, peer, server, metadata, node_hint, partial, ..Open::default() });
        Ok(())
    }

    /// The stream of a line that is no open; begun before the file if the file did not open it.
    fn stream(&mut self, at: Time, number: String, method: Option<String>) -> Result<StreamId, String> {
        let key = key(number, method.as_deref().unwrap_or_default());
        match self.streams.get(&key) {
            Some(stream) if stream.ended.is_some() => Err(format!("stream {} has ended", key.0)),
            Some(stream) => Ok(stream.id),
            None => {
                let partial = key.1.is_none();
                let open = Open { method: method.unwrap_or_default(), partial, ..Open::default() };
                Ok(self.begin(at, key, open))
            }
        }
    }

    fn message(&mut self, at: Time, number: String, line: Line, dir: Dir) -> Result<(), String> {
        let known = self.streams.get(&(number.clone(), None)).map(|stream| stream.method.clone());
        let path =
            line.method.filter(|method| !method.is_empty()).or(known).ok_or("the method is missing")?;
        let bytes = match line.raw.as_deref().map(base64::decode) {
            Some(Some(bytes)) => Some(bytes),
            Some(None) => return Err("raw is not base64".into()),
            None => None,
        };
        let stream = self.stream(at, number, Some(path.clone()))?;
        let shape = Method::of_path(&path).map(|method| Shape::of(&method, dir));
        let bytes = match (bytes, line.body, line.http_status) {
            (Some(bytes), _, _) => bytes,
            // "Not modified" holds no message.
            (None, None, Some(304)) => {
                self.put(at, stream, FramePayload::Opaque { dir, messages: 0, bytes: 0 });
                return Ok(());
            }
            (None, Some(body), _) => match (self.options.json, shape) {
                (Some(json), Some(shape)) => {
                    // As text, or as it stands.
                    let body = match body.as_str() {
                        Some(text) => serde_json::from_str(text).map_err(|error| format!("body: {error}"))?,
                        None => body,
                    };
                    let message = format!("envoy.service.discovery.v3.{}", shape.message());
                    json.encode(&message, &body).ok_or_else(|| format!("body is no {message}"))?
                }
                _ => {
                    self.unread += 1;
                    return Ok(());
                }
            },
            (None, None, _) => return Err("raw is missing".into()),
        };
        let what = match shape {
            Some(shape) => FramePayload::Message(Arc::new(Message::parse(shape, &bytes, &mut self.catalog))),
            // Not xDS: counted, not kept (row A-19).
            None => FramePayload::Opaque { dir, messages: 1, bytes: bytes.len() as u64 },
        };
        self.put(at, stream, what);
        Ok(())
    }

    /// A status and the close that follows it are one end.
    fn end(&mut self, at: Time, number: String, end: End) -> Result<(), String> {
        let ended = self.streams.get(&(number.clone(), None)).and_then(|stream| stream.ended);
        if let Some(FramePayload::End(first)) =
            ended.and_then(|at| self.frames.get_mut(at)).map(|f| &mut f.what)
        {
            first.by = end.by.or(first.by);
            first.reset = end.reset.or(first.reset);
            first.note = end.note.or(first.note.take());
            first.status = first.status.take().or(end.status);
            return Ok(());
        }
        let stream = self.stream(at, number.clone(), None)?;
        self.put(at, stream, FramePayload::End(Box::new(end)));
        if let Some(stream) = self.streams.get_mut(&(number, None)) {
            stream.ended = Some(self.frames.len() - 1);
        }
        Ok(())
    }

    fn finish(mut self) -> Loaded {
        if self.bad > REPORTED {
            self.notices.push(format!("{} more lines skipped", self.bad - REPORTED));
        }
        if self.unread > 0 {
            self.notices
                .push(format!("{} JSON bodies or nodes are not read: no descriptors for them", self.unread));
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

/// REST polls of one client share a number; their tracks are told apart by the method.
fn key(number: String, method: &str) -> Key {
    let rest = Method::of_path(method).is_some_and(|method| method.variant == Variant::Rest);
    (number, rest.then(|| method.to_owned()))
}
