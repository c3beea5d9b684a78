use std::collections::VecDeque;

use bytes::{Buf, Bytes};

use super::super::frames::FrameHead;
use super::super::index;
use super::blocks::ReadBlock;
use crate::event::Dir;

/// Bytes of a stream and direction that are buffered before its sender must wait.
const MAX_BUFFERED_BYTES: usize = 1 << 20;

/// Memory of a frame that is kept, apart from its bytes.
pub(super) const HELD_FRAME_BYTES: usize = 64;

/// Bytes of the gRPC prefix of a message.
pub(super) const PREFIX_BYTES: usize = 5;

/// The state of a stream whose frames do not simply pass.
pub(super) enum StreamState {
    /// The first request decides whether the stream is armed.
    Undecided(Box<Undecided>),
    Armed(Box<[ArmedHalf; 2]>),
    /// The response has ended, the request has not: frames of the client are left out, but its end.
    Ending,
    /// The splicer has ended the stream: all frames are left out.
    Closed,
}

impl StreamState {
    /// Whether only late frames of the stream may follow.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self, StreamState::Ending | StreamState::Closed)
    }
}

/// Frames of an undecided stream, in both directions.
#[derive(Default)]
pub(super) struct Undecided {
    pub(super) held: [Vec<(FrameHead, Bytes)>; 2],
    pub(super) bytes: usize,
    pub(super) first: GrpcAssembler,
    pub(super) encodings: [Option<String>; 2],
    pub(super) has_response_headers: bool,
}

impl Undecided {
    /// Keeps a frame. Copies the frame, because a slice would keep the buffer of a whole read.
    pub(super) fn hold(&mut self, dir: Dir, head: FrameHead, frame: &[u8]) {
        self.bytes += frame.len() + HELD_FRAME_BYTES;
        self.held[index(dir)].push((head, Bytes::copy_from_slice(frame)));
    }
}

/// One direction of an armed stream.
#[derive(Default)]
pub(super) struct ArmedHalf {
    pub(super) incoming: GrpcAssembler,
    /// Bytes to send.
    pending: VecDeque<Bytes>,
    pending_bytes: usize,
    /// Messages that the caller has not settled, and their bytes.
    unsettled: usize,
    unsettled_bytes: usize,
    /// Bytes of DATA that the receiver accepts on the stream.
    pub(super) window: i64,
    /// Window of the sender on the stream once all that is owed is returned, in bytes.
    pub(super) sender_window: i64,
    /// Window of the stream to return to the sender, in bytes.
    owed: u32,
    /// The sender has ended the direction.
    pub(super) end: Option<HalfEnd>,
    /// The receiver knows that the direction has ended.
    pub(super) is_ended: bool,
    pub(super) encoding: Option<String>,
    /// The receiver has the header block before the messages.
    pub(super) has_headers: bool,
    /// Reset of a server that has ended the response: sent after the end.
    pub(super) reset: Option<Bytes>,
}

/// The end of a direction, after all messages.
pub(super) enum HalfEnd {
    Data,
    Trailers(ReadBlock),
}

impl ArmedHalf {
    fn buffered(&self) -> usize {
        self.incoming.buffered() + self.pending_bytes + self.unsettled_bytes
    }

    /// Counts a message that the caller decides about.
    pub(super) fn hand_over(&mut self, bytes: usize) {
        self.unsettled += 1;
        self.unsettled_bytes += bytes + PREFIX_BYTES;
    }

    /// Counts a message that the caller has decided about.
    pub(super) fn settle(&mut self, bytes: usize) {
        self.unsettled = self.unsettled.saturating_sub(1);
        self.unsettled_bytes = self.unsettled_bytes.saturating_sub(bytes + PREFIX_BYTES);
    }

    /// Notes a change of the window of new streams, by the receiver's settings.
    pub(super) fn resize(&mut self, change: i64) {
        self.window += change;
        self.sender_window += change;
    }

    /// Notes window that the receiver opens. A sender that has none, because streams begin
    /// without, is given the same.
    pub(super) fn widen(&mut self, bytes: u32) {
        self.window += i64::from(bytes);
        if self.sender_window <= 0 {
            self.sender_window += i64::from(bytes);
            self.owed += bytes;
        }
    }

    pub(super) fn queue(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.pending_bytes += bytes.len();
            self.pending.push_back(bytes);
        }
    }

    /// Counts bytes that the sender was charged for. They are returned by
    /// [`ArmedHalf::take_credit`].
    pub(super) fn owe(&mut self, bytes: usize) {
        self.owed += bytes as u32;
    }

    /// Returns the window to return to the sender now: none while much is buffered, unless a
    /// message is incomplete.
    pub(super) fn take_credit(&mut self) -> u32 {
        let is_full = self.buffered() > MAX_BUFFERED_BYTES && !self.incoming.is_open();
        if is_full || self.end.is_some() { 0 } else { std::mem::take(&mut self.owed) }
    }

    /// Discards what waits, because the receiver wants nothing more.
    pub(super) fn abandon(&mut self) {
        self.pending.clear();
        self.pending_bytes = 0;
        self.is_ended = true;
    }

    /// Returns whether nothing waits to be sent or to be settled.
    pub(super) fn is_drained(&self) -> bool {
        self.pending.is_empty() && self.unsettled == 0
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes up to `max` bytes to send, without copying.
    pub(super) fn take_pending(&mut self, max: usize) -> Bytes {
        let Some(first) = self.pending.front_mut() else { return Bytes::new() };
        let len = first.len().min(max);
        let taken = first.split_to(len);
        if !first.has_remaining() {
            self.pending.pop_front();
        }
        self.pending_bytes -= taken.len();
        taken
    }

    /// Bytes in memory that wait for the caller or for window.
    pub(super) fn held_bytes(&self) -> usize {
        self.buffered()
    }
}

/// Joins the bytes of gRPC messages.
#[derive(Default)]
pub(super) struct GrpcAssembler {
    prefix: [u8; PREFIX_BYTES],
    have: usize,
    body: Vec<u8>,
    len: usize,
}

/// A complete gRPC message.
pub(super) struct Assembled {
    pub(super) is_compressed: bool,
    pub(super) bytes: Vec<u8>,
}

/// A message that is longer than an armed stream may send, with its length on the wire.
pub(super) struct TooLong {
    pub(super) bytes: usize,
}

impl GrpcAssembler {
    /// Reads bytes up to the end of a message, and advances `bytes`. Refuses a message of more than
    /// `max` bytes, now and whenever it is called again.
    pub(super) fn next(&mut self, bytes: &mut &[u8], max: usize) -> Result<Option<Assembled>, TooLong> {
        if self.have < PREFIX_BYTES {
            let (head, rest) = bytes.split_at(bytes.len().min(PREFIX_BYTES - self.have));
            self.prefix[self.have..self.have + head.len()].copy_from_slice(head);
            self.have += head.len();
            *bytes = rest;
            if self.have < PREFIX_BYTES {
                return Ok(None);
            }
            let [_, a, b, c, d] = self.prefix;
            self.len = u32::from_be_bytes([a, b, c, d]) as usize;
        }
        if self.len > max {
            return Err(TooLong { bytes: self.len });
        }
        let (part, rest) = bytes.split_at(bytes.len().min(self.len - self.body.len()));
        self.body.extend_from_slice(part);
        *bytes = rest;
        if self.body.len() < self.len {
            return Ok(None);
        }
        self.have = 0;
        let mut bytes = std::mem::take(&mut self.body);
        // The message may wait for long, with twice its bytes allocated.
        bytes.shrink_to_fit();
        Ok(Some(Assembled { is_compressed: self.prefix[0] & 1 != 0, bytes }))
    }

    /// Returns the least length of the current message with its prefix, before it is complete.
    pub(super) fn expected(&self) -> usize {
        if self.have == PREFIX_BYTES { PREFIX_BYTES + self.len } else { PREFIX_BYTES }
    }

    pub(super) fn is_open(&self) -> bool {
        self.have > 0
    }

    fn buffered(&self) -> usize {
        self.have + self.body.len()
    }

    /// Takes the bytes of an incomplete message.
    pub(super) fn take_rest(&mut self) -> Bytes {
        let mut rest = self.prefix[..self.have].to_vec();
        rest.append(&mut self.body);
        self.have = 0;
        rest.into()
    }
}
