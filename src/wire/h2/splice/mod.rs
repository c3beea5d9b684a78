//! Takes single messages out of an HTTP/2 connection and puts others in, between two peers.
//!
//! A [`Splicer`] is a state machine without I/O for both directions of a connection. Frames of
//! streams that are not armed pass as slices of the input. The messages of armed streams are handed
//! to the caller, who sends them, others or none. `docs/decisions/0020-armed-taps.md` has the
//! reasons.
//!
//! # Which streams are armed
//!
//! The caller watches a stream whose method may match ([`Splicer::watch`]). The stream waits until
//! its first request is complete, whose node decides: then the stream is armed ([`Splicer::arm`])
//! or passes, with its bytes ([`Splicer::pass`]).
//!
//! Senders of first requests that wait get no window back, and a connection begins with 65,535
//! bytes of window. All first requests that wait together may have that much; the one of an Envoy
//! has 61 kB. A stream beyond that is armed although it may not match, and so is a stream whose
//! window is smaller than the prefix of a message.
//!
//! # Flow control of armed streams
//!
//! Flow control ends here, on both sides:
//!
//! - The sender has its window back for bytes that are buffered, up to 1 MiB for each stream and
//!   direction, and beyond that until an open message is complete.
//! - DATA is written only while the windows of the receiver allow it, in frames of 16 KiB, which
//!   every peer accepts.
//! - A sender without any window gets as much as the receiver opens.
//!
//! # Flow control of the connection
//!
//! The sender has its window of the connection back at once. Bytes that are sent later are a debt:
//! as much of the receiver's WINDOW_UPDATE frames is kept from the sender. While there is debt, the
//! sender may have more window than the receiver. DATA of passing streams that exceeds the window
//! of the receiver waits then, in order, with the header blocks behind it.
//!
//! # Ends of streams
//!
//! - END_STREAM and trailers wait behind messages that the caller has not settled.
//! - RST_STREAM passes at once, and discards such messages. Only the reset of a server that has
//!   ended its response waits for the end of the response.
//! - After the splicer has ended a stream, frames of that stream are left out. DATA is credited to
//!   its sender, and header blocks are still decoded.
//!
//! # Connections that are not armed
//!
//! A [`HeaderSplicer`] changes the headers of requests with the same state machine. The state
//! machine then lets every frame pass that belongs to no header block, knows no stream, and counts
//! no window.
//!
//! # Connections that end
//!
//! Input that cannot be followed, such as a damaged frame or a server push, ends the connection
//! with a message: [`SpliceError`].

mod armed;
mod blocks;
mod frames;
mod half;
mod header_splicer;
mod stream;
mod table;
mod windows;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::frames::FrameHead;
use super::{Changes, DATA, Head, PADDED, PREFACE, PUSH_PROMISE, index};
use crate::event::{Dir, Side};
use blocks::{Blocks, MAX_BLOCK_BYTES};
use half::{DataFrame, Half, ParseState};
pub use header_splicer::HeaderSplicer;
use stream::{HELD_FRAME_BYTES, StreamState};
use table::StreamTable;

/// Longest frame of another kind than DATA that is read completely, in bytes.
const MAX_WHOLE_BYTES: usize = 2 * MAX_BLOCK_BYTES;

/// Memory of a stream with which responses are kept until its first request is complete.
const MAX_UNDECIDED_BYTES: usize = 40 << 10;

/// Memory of a stream with which other frames are kept until its first request is complete. More
/// than the window of a connection: only many short frames take as much.
const MAX_UNDECIDED_REQUEST_BYTES: usize = 128 << 10;

/// Frames, or parts of them, that are read before the caller may pause.
const MAX_STEPS: usize = 256;

/// Bytes of output after which the caller may pause.
const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// An event on a spliced connection. `stream` is the HTTP/2 stream number.
#[derive(Debug)]
pub enum SpliceEvent {
    /// A request began. Its stream passes unless the caller calls [`Splicer::arm`] or
    /// [`Splicer::watch`] at once.
    Opened {
        /// HTTP/2 stream number.
        stream: u32,
        /// The head of the request.
        head: Head,
    },
    /// The first message of a watched stream is complete. The caller calls [`Splicer::arm`] or
    /// [`Splicer::pass`].
    FirstRequest {
        /// The message, which is handed over again if the stream is armed.
        message: SplicedMessage,
    },
    /// A message of an armed stream is complete. The caller calls [`Splicer::settle`] after it has
    /// sent the message, another one or none.
    Message {
        /// The message.
        message: SplicedMessage,
    },
    /// A message of a watched or armed stream has more bytes than [`Splicer::new`] allows. The
    /// caller ends the stream.
    TooLong {
        /// HTTP/2 stream number.
        stream: u32,
        /// Length of the message on the wire, without the gRPC prefix.
        bytes: usize,
    },
    /// An armed stream has ended: its messages cannot be sent any more. Or a watched stream has
    /// ended, or passes because it has no first request.
    Ended {
        /// HTTP/2 stream number.
        stream: u32,
    },
    /// Many frames were read, or there is much output. The caller may do other things before it
    /// reads on.
    Paused,
}

/// A gRPC message on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplicedMessage {
    /// HTTP/2 stream number.
    pub stream: u32,
    /// Direction.
    pub dir: Dir,
    /// The encoding of compressed bytes, by name; `None` for bytes that are not compressed.
    pub encoding: Option<String>,
    /// The bytes, without the gRPC prefix.
    pub bytes: Bytes,
}

/// A connection that cannot be spliced. Nothing that follows can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {} {what}", .by.word())]
pub struct SpliceError {
    /// The side whose bytes cannot be followed.
    pub by: Side,
    /// The mistake, as the rest of a sentence.
    pub what: &'static str,
}

/// Whether a frame that was read passes unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Taken,
}

/// The way to read a frame.
enum Route {
    Pass,
    Data,
    Whole,
}

/// The state of one connection.
pub struct Splicer {
    halves: [Half; 2],
    /// Streams that do not simply pass.
    streams: StreamTable,
    /// The highest stream number of a request.
    last_stream: u32,
    /// The last stream that the client may expect an answer on, after [`Splicer::go_away`].
    going_away: Option<u32>,
    events: VecDeque<SpliceEvent>,
    /// Parts of the input that were read since the last pause.
    steps: usize,
    max_message_bytes: usize,
    /// Only header blocks are read: see [`HeaderSplicer`].
    only_headers: bool,
}

impl Splicer {
    /// Creates the state of a new connection.
    ///
    /// `changes` apply to the headers of each request. A message on an armed stream may have up to
    /// `max_message_bytes`.
    pub fn new(changes: Option<Arc<Changes>>, max_message_bytes: usize) -> Splicer {
        let requests = Half::new(ParseState::Preface(0), Blocks::new(changes));
        let responses = Half::new(ParseState::Head, Blocks::new(None));
        Splicer {
            halves: [requests, responses],
            streams: StreamTable::default(),
            last_stream: 0,
            going_away: None,
            events: VecDeque::new(),
            steps: 0,
            max_message_bytes,
            only_headers: false,
        }
    }

    /// Gives the next bytes of one direction, after all before them were read by
    /// [`Splicer::next_event`].
    pub fn push(&mut self, dir: Dir, bytes: Bytes) {
        self.halves[index(dir)].begin_input(bytes);
    }

    /// Reads bytes of one direction up to the next event. `None`: all bytes were read.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be followed.
    pub fn next_event(&mut self, dir: Dir) -> Result<Option<SpliceEvent>, SpliceError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if self.halves[index(dir)].rest().is_empty() {
                self.halves[index(dir)].finish_input();
                self.return_credit(dir);
                return Ok(None);
            }
            self.step(dir).map_err(|what| SpliceError { by: dir.sender(), what })?;
            self.steps += 1;
            let is_long = self.steps >= MAX_STEPS || self.has_much_output(dir);
            // Bytes that pass at the end of the input must get to the output first.
            if is_long && self.has_input(dir) {
                self.steps = 0;
                self.events.push_back(SpliceEvent::Paused);
            }
        }
    }

    /// Whether bytes of a direction were given and not read yet.
    pub fn has_input(&self, dir: Dir) -> bool {
        !self.halves[index(dir)].rest().is_empty()
    }

    /// Whether the output of a direction should be taken before more is read.
    pub fn has_much_output(&self, dir: Dir) -> bool {
        self.halves[index(dir)].output_bytes() >= MAX_OUTPUT_BYTES
    }

    /// Takes the bytes to write to the receiver of this direction, in order.
    pub fn take_output(&mut self, dir: Dir) -> Vec<Bytes> {
        self.halves[index(dir)].take_output()
    }

    /// Whether messages of a direction wait for window updates of the receiver.
    pub fn awaits_window(&self, dir: Dir) -> bool {
        self.halves[index(dir)].is_stalled() || self.streams.totals().halves[index(dir)].pending > 0
    }

    /// Whether messages of a direction wait for the caller or for window updates of the receiver.
    pub fn has_waiting(&self, dir: Dir) -> bool {
        self.halves[index(dir)].is_stalled() || self.streams.totals().halves[index(dir)].waiting > 0
    }

    /// Returns the bytes of messages of a direction in memory. Those of undecided streams count in
    /// the direction of requests.
    pub fn buffered(&self, dir: Dir) -> usize {
        self.streams.totals().halves[index(dir)].bytes
    }

    /// Returns the bytes in memory, with those of streams, and without those of input and output.
    pub fn memory(&self) -> usize {
        self.streams.memory() + self.halves.iter().map(Half::memory).sum::<usize>()
    }

    /// Reads one part of the input.
    fn step(&mut self, dir: Dir) -> Result<(), &'static str> {
        let half = &mut self.halves[index(dir)];
        let rest = half.rest().len();
        match &mut half.state {
            ParseState::Preface(seen) => {
                let want = &PREFACE[*seen..];
                let take = want.len().min(rest);
                if half.input[half.at..half.at + take] != want[..take] {
                    return Err("does not begin as HTTP/2 does");
                }
                *seen += take;
                if *seen == PREFACE.len() {
                    half.state = ParseState::Head;
                }
                half.pass(take);
            }
            ParseState::Passing(left) => {
                let take = rest.min(*left);
                *left -= take;
                let is_over = *left == 0;
                half.pass(take);
                if is_over {
                    half.frame_passed();
                }
            }
            ParseState::Head => return self.head(dir),
            ParseState::Data(frame) => {
                let frame = *frame;
                return self.data_part(dir, frame);
            }
            ParseState::Whole { head, raw } => {
                let (head, missing) = (*head, 9 + head.len - raw.len());
                let take = missing.min(rest);
                let part = half.take(take);
                let ParseState::Whole { raw, .. } = &mut half.state else { return Ok(()) };
                raw.extend_from_slice(&part);
                if take == missing {
                    let frame = Bytes::from(std::mem::take(raw));
                    half.state = ParseState::Head;
                    if self.whole(dir, head, &frame)? == Verdict::Pass {
                        self.halves[index(dir)].push_part(frame);
                        self.halves[index(dir)].frame_passed();
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads the head of a frame, and decides what happens to the frame.
    fn head(&mut self, dir: Dir) -> Result<(), &'static str> {
        let half = &mut self.halves[index(dir)];
        let is_contiguous = half.have == 0 && half.rest().len() >= 9;
        if is_contiguous {
            half.start.copy_from_slice(&half.input[half.at..half.at + 9]);
        } else {
            let take = half.rest().len().min(9 - half.have);
            let part = half.take(take);
            half.start[half.have..half.have + take].copy_from_slice(&part);
            half.have += take;
            if half.have < 9 {
                return Ok(());
            }
            half.have = 0;
        }
        let start = half.start;
        let head = FrameHead::parse(start);
        match self.route(dir, head)? {
            Route::Pass => {
                let half = &mut self.halves[index(dir)];
                if is_contiguous {
                    half.pass(9);
                } else {
                    half.push_part(Bytes::copy_from_slice(&start));
                }
                half.state = ParseState::Passing(head.len);
                if head.len == 0 {
                    half.frame_passed();
                }
            }
            Route::Data => {
                let half = &mut self.halves[index(dir)];
                if is_contiguous {
                    half.take(9);
                }
                let pad = (head.flags & PADDED == 0).then_some(0);
                let frame = DataFrame { head, left: head.len, pad };
                half.state = ParseState::Data(frame);
                if head.len == 0 {
                    return self.data_part(dir, frame);
                }
            }
            Route::Whole if head.kind != DATA && head.len > MAX_WHOLE_BYTES => {
                return Err("sends a frame that is too long");
            }
            Route::Whole => return self.begin_whole(dir, head, is_contiguous),
        }
        Ok(())
    }

    /// Handles a frame that is needed as a whole, or begins to collect its bytes.
    /// `is_contiguous`: the head has not been taken from the input.
    fn begin_whole(&mut self, dir: Dir, head: FrameHead, is_contiguous: bool) -> Result<(), &'static str> {
        let half = &mut self.halves[index(dir)];
        let len = 9 + head.len;
        if is_contiguous && half.rest().len() >= len {
            let frame = half.input.slice(half.at..half.at + len);
            let verdict = self.whole(dir, head, &frame)?;
            let half = &mut self.halves[index(dir)];
            match verdict {
                Verdict::Pass => {
                    half.pass(len);
                    half.frame_passed();
                }
                Verdict::Taken => drop(half.take(len)),
            }
            return Ok(());
        }
        if is_contiguous {
            half.take(9);
        }
        if head.len > 0 {
            half.state = ParseState::Whole { head, raw: half.start.to_vec() };
            return Ok(());
        }
        half.state = ParseState::Head;
        let frame = Bytes::copy_from_slice(&half.start);
        if self.whole(dir, head, &frame)? == Verdict::Pass {
            self.halves[index(dir)].push_part(frame);
            self.halves[index(dir)].frame_passed();
        }
        Ok(())
    }

    /// Decides how to read a frame.
    fn route(&mut self, dir: Dir, head: FrameHead) -> Result<Route, &'static str> {
        let half = &mut self.halves[index(dir)];
        if half.blocks.includes(head)? {
            return Ok(Route::Whole);
        }
        Ok(match head.kind {
            PUSH_PROMISE if dir == Dir::Req => return Err("announces a push, which only servers may"),
            PUSH_PROMISE => return Err("announces a push, which armed taps do not support"),
            _ if self.only_headers => Route::Pass,
            DATA => match self.streams.get(head.stream) {
                None if half.can_pass(head.len) => Route::Pass,
                None => Route::Whole,
                Some(StreamState::Undecided(undecided)) => {
                    let len = head.len + 9 + HELD_FRAME_BYTES;
                    let is_response = dir == Dir::Resp;
                    let max = if is_response { MAX_UNDECIDED_BYTES } else { MAX_UNDECIDED_REQUEST_BYTES };
                    if undecided.bytes + len > max {
                        self.arm(head.stream);
                        return Ok(Route::Data);
                    }
                    Route::Whole
                }
                Some(_) => Route::Data,
            },
            super::RST_STREAM | super::SETTINGS | super::GOAWAY | super::WINDOW_UPDATE => Route::Whole,
            _ => Route::Pass,
        })
    }
}

#[cfg(test)]
mod tests;
