//! A passive observer of one HTTP/2 connection.
//!
//! Fed with copies of the bytes that passed, it reports the streams and messages in them. It never
//! writes or delays anything. A connection that cannot be followed becomes opaque, with the reason;
//! the traffic is not affected. The limits are far above what peers accept.

mod changes;
mod error;
mod event;
mod frames;
pub(crate) mod headers;
mod literal;
mod reset;
mod skim;
mod splice;

pub use changes::Changes;
pub use event::Event;
pub use headers::{Head, Trailers};
pub use reset::{go_away_code, go_away_words, reset_words};
pub use skim::{SkimmedPart, Skimmer};
pub use splice::{HeaderSplicer, SpliceError, SpliceEvent, SplicedMessage, Splicer};

use crate::UnpackBudget;
use std::collections::BTreeMap;

use crate::event::{Code, Dir, Side};

use super::grpc::{Messages, Piece};
use super::{End, MAX_MESSAGE_BYTES};
use error::Http2Error;
use frames::{FrameHead, FramePart, Frames, Missed};
use headers::{Block, Headers};

/// The connection preface of every HTTP/2 client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Longest header block or other frame that is held, in bytes. DATA is never held.
const MAX_BLOCK_BYTES: usize = 1 << 20;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The state of one connection.
pub struct ConnectionObserver {
    halves: [Half; 2],
    streams: BTreeMap<u32, Box<StreamState>>,
    /// Bytes of the client preface that were seen; `None` once the preface is complete.
    preface: Option<usize>,
    opaque: bool,
    /// Streams may exist whose beginning was not seen: the observation began in the middle, or part
    /// of the copy is missing.
    midway: bool,
    /// All connections together have too many streams.
    is_crowded: bool,
    /// Streams that were not followed.
    omitted_streams: u64,
    /// The highest number of a stream that the client has opened.
    last_opened: u32,
    /// Limits the decompressors that are open at once.
    unpacking: UnpackBudget,
}

/// Streams of a connection that are followed at once.
pub const MAX_OPEN_STREAMS: usize = 2048;

/// Streams of a connection that are followed although all connections have too many. A client of
/// xDS has one for each type at most.
pub const MAX_CROWDED_STREAMS: usize = 16;

struct Half {
    frames: Frames,
    headers: Headers,
}

struct StreamState {
    messages: [Messages; 2],
    grpc: bool,
    /// The client has ended its direction.
    half_closed: bool,
    status: Option<Trailers>,
    /// The start of the body of a response that is not gRPC, as that of a proxy.
    other_body: Option<Vec<u8>>,
}

impl StreamState {
    /// Reports a response whose rest has not come.
    fn report_cut(&self, number: u32, out: &mut dyn FnMut(Event<'_>)) {
        if let Some(bytes) = self.messages[index(Dir::Resp)].unfinished() {
            out(Event::Cut { stream: number, bytes });
        }
    }

    /// Returns the status, with the body of a response that is not gRPC.
    fn into_status(self) -> Option<(Code, String)> {
        let (code, mut text) = self.status?.status?;
        let body = self.other_body.unwrap_or_default();
        let words: Vec<_> = String::from_utf8_lossy(&body).split_whitespace().map(str::to_owned).collect();
        if !words.is_empty() {
            text.push_str(&format!(": {}", words.join(" ")));
        }
        Some((code, text))
    }
}

/// Bytes of a body that is not gRPC that are quoted.
const MAX_QUOTED_BYTES: usize = 200;

fn index(dir: Dir) -> usize {
    match dir {
        Dir::Req => 0,
        Dir::Resp => 1,
    }
}

impl Default for ConnectionObserver {
    fn default() -> Self {
        let half = || Half { frames: Frames::new(MAX_BLOCK_BYTES), headers: Headers::default() };
        ConnectionObserver {
            halves: [half(), half()],
            streams: BTreeMap::new(),
            preface: Some(0),
            opaque: false,
            midway: false,
            is_crowded: false,
            omitted_streams: 0,
            last_opened: 0,
            unpacking: UnpackBudget::default(),
        }
    }
}

impl ConnectionObserver {
    /// Creates an observer that starts in the middle of a connection, with unknown header tables.
    pub fn midway() -> Self {
        let half = || Half { frames: Frames::seeking(MAX_BLOCK_BYTES), headers: Headers::midway() };
        let halves = [half(), half()];
        ConnectionObserver { halves, preface: None, midway: true, ..ConnectionObserver::default() }
    }

    /// Skips missing bytes of one direction.
    ///
    /// If the bytes lie within a message, only the message is lost; otherwise the next frame is
    /// searched for by its form.
    pub fn miss(&mut self, dir: Dir, bytes: u64, out: &mut dyn FnMut(Event<'_>)) {
        if self.opaque {
            return;
        }
        if dir == Dir::Req && self.preface.take().is_some() {
            (self.midway, self.halves[index(dir)].frames) = (true, Frames::seeking(MAX_BLOCK_BYTES));
        }
        let half = &mut self.halves[index(dir)];
        match half.frames.miss(bytes) {
            Missed::Nothing => {}
            Missed::Data { head, ends } => {
                let number = head.stream;
                let Some(stream) = self.streams.get_mut(&number) else { return };
                let missed = stream.messages[index(dir)].miss(bytes);
                let (messages, is_over) = (missed.is_new.into(), missed.is_over);
                out(Event::Missing { stream: Some(number), dir, messages, bytes, is_over });
                if ends && head.flags & END_STREAM != 0 {
                    self.end_stream(dir, number, out);
                }
            }
            Missed::Frames => {
                half.headers = Headers::midway();
                self.midway = true;
                self.streams.values_mut().for_each(|stream| stream.messages[index(dir)].seek());
                out(Event::Missing { stream: None, dir, messages: 0, bytes, is_over: true });
            }
        }
    }

    /// Reads the next bytes of one direction, in the order in which they passed.
    pub fn feed(&mut self, dir: Dir, mut bytes: &[u8], out: &mut dyn FnMut(Event<'_>)) {
        if dir == Dir::Req
            && let (Some(seen), false) = (self.preface, self.opaque)
        {
            let want = &PREFACE[seen..];
            let len = want.len().min(bytes.len());
            if bytes[..len] != want[..len] {
                return self.give_up(guess(&PREFACE[..seen], bytes), out);
            }
            self.preface = Some(seen + len).filter(|seen| *seen < PREFACE.len());
            bytes = &bytes[len..];
        }
        while !self.opaque {
            let half = &mut self.halves[index(dir)];
            match half.frames.next(&mut bytes) {
                Ok(Some(part)) => self.part(dir, part, out),
                Ok(None) => return,
                Err(error) => self.give_up(error.to_string(), out),
            }
        }
    }

    /// Ends the connection and its open streams.
    pub fn close(&mut self, by: Option<Side>, note: Option<&str>, out: &mut dyn FnMut(Event<'_>)) {
        for (number, stream) in std::mem::take(&mut self.streams) {
            if by.is_some() {
                stream.report_cut(number, out);
            }
            let status = stream.status.and_then(|trailers| trailers.status);
            let note = note.map_or("the connection was closed".to_owned(), str::to_owned);
            out(Event::End { stream: number, end: End { by, status, reset: None, note: Some(note) } });
        }
    }

    /// Whether the connection cannot be read any further.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Memory of what is not complete, in bytes: frames, header blocks, compressed messages.
    pub fn held_bytes(&self) -> usize {
        let halves = self.halves.iter().map(|half| half.frames.held_bytes() + half.headers.held_bytes());
        halves.sum::<usize>() + self.unpacking.used()
    }

    /// Stops reading the connection, for this reason.
    pub fn give_up(&mut self, why: String, out: &mut dyn FnMut(Event<'_>)) {
        self.opaque = true;
        self.halves = ConnectionObserver::default().halves;
        self.close(None, Some(&why), out);
        out(Event::Opaque { why });
    }

    /// Handles a part of a DATA frame, or another frame.
    fn part(&mut self, dir: Dir, part: FramePart<'_>, out: &mut dyn FnMut(Event<'_>)) {
        match part {
            FramePart::Data { head, bytes, first, last } => {
                self.begun(head.stream, out);
                if self.is_unopened(head.stream) {
                    return out(Event::Unopened { dir, bytes, is_last: last });
                }
                if first && let Some(stream) = self.streams.get_mut(&head.stream) {
                    stream.messages[index(dir)].begins(head.len as u64, bytes);
                }
                self.data(dir, head, bytes, last, out);
            }
            FramePart::Frame { head, payload } => {
                if let Err(error) = self.frame(dir, head, &payload, out) {
                    self.give_up(error.to_string(), out);
                }
            }
        }
    }

    /// Notes whether all connections together have too many streams: then a connection with several
    /// ones gets no more.
    pub fn set_crowded(&mut self, is_crowded: bool) {
        self.is_crowded = is_crowded;
    }

    fn is_full(&self) -> bool {
        let max = if self.is_crowded { MAX_CROWDED_STREAMS } else { MAX_OPEN_STREAMS };
        self.streams.len() >= max
    }

    /// Counts a stream that is not followed, and reports the number now and then.
    fn omit_stream(&mut self, out: &mut dyn FnMut(Event<'_>)) {
        self.omitted_streams += 1;
        if self.omitted_streams.is_power_of_two() {
            out(Event::NotFollowed { streams: self.omitted_streams - self.omitted_streams / 2 });
        }
    }

    /// Whether the client has not opened a stream, as far as all bytes of the connection were seen.
    /// Receivers must refuse frames on such streams (RFC 9113, 5.1), and some ignore them.
    fn is_unopened(&self, number: u32) -> bool {
        !self.midway && (number.is_multiple_of(2) || number > self.last_opened)
    }

    /// Notes a stream whose beginning may not have been seen.
    fn begun(&mut self, number: u32, out: &mut dyn FnMut(Event<'_>)) {
        if self.midway && number % 2 == 1 && !self.streams.contains_key(&number) {
            if self.is_full() {
                return self.omit_stream(out);
            }
            let messages = || Messages::new(true, None).within(self.unpacking.clone());
            let mut messages = [messages(), messages()];
            messages.iter_mut().for_each(Messages::seek);
            let stream =
                StreamState { messages, grpc: true, half_closed: false, status: None, other_body: None };
            self.streams.insert(number, Box::new(stream));
            out(Event::Begun { stream: number });
        }
    }

    /// Adds bytes to the message of a stream.
    fn data(&mut self, dir: Dir, head: FrameHead, bytes: &[u8], last: bool, out: &mut dyn FnMut(Event<'_>)) {
        let number = head.stream;
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if let (Some(body), Dir::Resp) = (&mut stream.other_body, dir) {
            let room = MAX_QUOTED_BYTES.saturating_sub(body.len());
            body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            if last && head.flags & END_STREAM != 0 {
                self.end_stream(dir, number, out);
            }
            return;
        }
        stream.messages[index(dir)].push(bytes, MAX_MESSAGE_BYTES as u64, &mut |piece| match piece {
            Piece::Bytes(bytes) => out(Event::Data { stream: number, dir, bytes }),
            Piece::End => out(Event::Message { stream: number, dir }),
            Piece::Lost { bytes, cause, why } => {
                out(Event::Lost { stream: number, dir, bytes, cause, why });
            }
        });
        if last && head.flags & END_STREAM != 0 {
            self.end_stream(dir, number, out);
        }
    }

    /// Handles a complete frame other than DATA.
    fn frame(
        &mut self,
        dir: Dir,
        head: FrameHead,
        payload: &[u8],
        out: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), Http2Error> {
        let half = &mut self.halves[index(dir)];
        if half.headers.is_open() && head.kind != CONTINUATION {
            return Err(Http2Error::InterruptedHeaderBlock);
        }
        let is_of_stream = head.kind == RST_STREAM || (head.kind == HEADERS && dir == Dir::Resp);
        if is_of_stream && self.is_unopened(head.stream) {
            out(Event::Unopened { dir, bytes: payload, is_last: true });
        }
        let half = &mut self.halves[index(dir)];
        match head.kind {
            HEADERS => {
                let block = unpadded(payload, head.flags).ok_or(Http2Error::HeadersPadding)?;
                let skip = if head.flags & PRIORITY != 0 { 5 } else { 0 };
                let block = block.get(skip..).ok_or(Http2Error::ShortHeaders)?;
                half.headers.begin(head.stream, head.flags & END_STREAM != 0);
                half.headers.push(block, MAX_BLOCK_BYTES)?;
            }
            PUSH_PROMISE => {
                let block = unpadded(payload, head.flags).ok_or(Http2Error::PushPromisePadding)?;
                half.headers.begin_push(head.stream);
                half.headers.push(block.get(4..).ok_or(Http2Error::ShortPushPromise)?, MAX_BLOCK_BYTES)?;
            }
            CONTINUATION if half.headers.is_open() => half.headers.push(payload, MAX_BLOCK_BYTES)?,
            CONTINUATION => return Err(Http2Error::UnexpectedContinuation),
            RST_STREAM => {
                let code = payload.try_into().map(u32::from_be_bytes).map_err(|_| Http2Error::ResetLength)?;
                self.reset(dir, head.stream, code, out);
                return Ok(());
            }
            GOAWAY => {
                let code = payload.get(4..8).ok_or(Http2Error::ShortGoAway)?;
                let code = u32::from_be_bytes(code.try_into().map_err(|_| Http2Error::ShortGoAway)?);
                let debug = String::from_utf8_lossy(&payload[8..]).into_owned();
                out(Event::GoAway { by: dir.sender(), code, debug });
                return Ok(());
            }
            PING if head.flags & ACK == 0 => {
                out(Event::Ping { dir });
                return Ok(());
            }
            PING => {
                out(Event::PingAnswer { dir });
                return Ok(());
            }
            // SETTINGS, WINDOW_UPDATE, PRIORITY and unknown frames are
            // irrelevant to messages. The size of the header table needs no SETTINGS: encoders
            // announce it in their blocks.
            _ => return Ok(()),
        }
        if head.flags & END_HEADERS != 0 {
            let half = &mut self.halves[index(dir)];
            let block = half.headers.finish()?;
            if !block.pushed {
                self.headers(dir, block, out);
            }
        }
        Ok(())
    }

    /// Handles a complete header block: an opening, a response or trailers.
    fn headers(
        &mut self,
        dir: Dir,
        Block { stream: number, ends, fields, omitted, .. }: Block,
        out: &mut dyn FnMut(Event<'_>),
    ) {
        let encoding =
            fields.iter().find(|(name, _)| name == "grpc-encoding").map(|(_, value)| value.clone());
        if self.midway && dir == Dir::Req && fields.is_empty() {
            // The head refers to table entries that were not seen.
            self.begun(number, out);
        }
        let is_full = self.is_full();
        if dir == Dir::Req {
            self.last_opened = self.last_opened.max(number);
        }
        match (dir, self.streams.get_mut(&number)) {
            (Dir::Req, None) if is_full => self.omit_stream(out),
            (Dir::Req, None) => {
                let head = Head { omitted, ..Head::new(fields) };
                let grpc = head.is_grpc();
                let messages = |encoding| Messages::new(grpc, encoding).within(self.unpacking.clone());
                let stream = StreamState {
                    messages: [messages(encoding.as_deref()), messages(None)],
                    grpc,
                    half_closed: false,
                    status: None,
                    other_body: None,
                };
                self.streams.insert(number, Box::new(stream));
                out(Event::Open { stream: number, head });
            }
            (Dir::Resp, Some(stream)) => {
                if ends {
                    let trailers = Trailers::new(fields);
                    if trailers.status.is_some() || stream.status.is_none() {
                        stream.status = Some(trailers);
                    }
                } else if stream.grpc {
                    match Trailers::of_other_protocol(&fields) {
                        Some(status) => {
                            stream.status = Some(status);
                            stream.other_body = Some(Vec::new());
                        }
                        None => stream.messages[index(dir)].set_encoding(encoding.as_deref()),
                    }
                }
            }
            _ => {}
        }
        if ends {
            self.end_stream(dir, number, out);
        }
    }

    /// Notes that one side has ended a stream.
    fn end_stream(&mut self, dir: Dir, number: u32, out: &mut dyn FnMut(Event<'_>)) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.messages[index(dir)].end() {
            out(Event::Message { stream: number, dir });
        }
        if dir == Dir::Req {
            stream.half_closed = true;
            return;
        }
        let half_closed = stream.half_closed;
        stream.report_cut(number, out);
        let status = self.streams.remove(&number).and_then(|stream| stream.into_status());
        let by = if half_closed { Side::Client } else { Side::Server };
        let end = End { by: Some(by), status, reset: None, note: None };
        out(Event::End { stream: number, end });
    }

    /// Ends a stream that one side has reset.
    fn reset(&mut self, dir: Dir, number: u32, code: u32, out: &mut dyn FnMut(Event<'_>)) {
        if let Some(stream) = self.streams.remove(&number) {
            stream.report_cut(number, out);
            let status = stream.into_status();
            let end = End { by: Some(dir.sender()), status, reset: Some(code), note: None };
            out(Event::End { stream: number, end });
        }
    }
}

/// Returns a payload without its padding.
fn unpadded(payload: &[u8], flags: u8) -> Option<&[u8]> {
    if flags & PADDED == 0 {
        return Some(payload);
    }
    let (pad, rest) = payload.split_first()?;
    rest.get(..rest.len().checked_sub(usize::from(*pad))?)
}

/// Guesses the protocol of a connection that is not HTTP/2 from its first bytes.
fn guess(seen: &[u8], bytes: &[u8]) -> String {
    let start = [seen, &bytes[..bytes.len().min(32)]].concat();
    let verbs = ["GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT "];
    let alike = |verb: &&str| start.starts_with(verb.as_bytes()) || verb.as_bytes().starts_with(&start);
    if start.first() == Some(&0x16) {
        "TLS".into()
    } else if verbs.iter().any(alike) {
        "HTTP/1.1".into()
    } else {
        "unknown protocol".into()
    }
}

#[cfg(test)]
pub(super) mod tests;
