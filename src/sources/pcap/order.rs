use std::collections::BTreeMap;

use xdscope_wire::event::Time;

/// Bytes of one direction that may wait behind a gap.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// The memory of a waiting piece beyond its bytes.
const PIECE_OVERHEAD_BYTES: usize = 96;
/// Packets of the connection after which an acknowledged gap is given up: the missing bytes will
/// not be sent again, and are not merely out of order.
const MAX_PACKETS_BEHIND_GAP: u32 = 128;
const MAX_GAP_AGE: std::time::Duration = std::time::Duration::from_secs(1);

/// The output: bytes in order, or a gap.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamPiece<'a> {
    Bytes(&'a [u8]),
    /// The number of bytes that the capture lacks.
    Gap(u64),
}

enum WaitingPiece {
    Bytes(Vec<u8>),
    Missing(u64),
}

impl WaitingPiece {
    fn len(&self) -> u64 {
        match self {
            WaitingPiece::Bytes(bytes) => bytes.len() as u64,
            WaitingPiece::Missing(len) => *len,
        }
    }

    fn cost(&self) -> usize {
        match self {
            WaitingPiece::Bytes(bytes) => bytes.len() + PIECE_OVERHEAD_BYTES,
            WaitingPiece::Missing(_) => PIECE_OVERHEAD_BYTES,
        }
    }
}

/// The part of a TCP segment that belongs to the stream of bytes.
#[derive(Default)]
pub(super) struct StreamSegment<'a> {
    /// The sequence number of the first byte.
    pub(super) seq: u32,
    pub(super) bytes: &'a [u8],
    /// The number of bytes after `bytes` that were not captured.
    pub(super) missing: u32,
    /// Whether the stream ends after this segment.
    pub(super) fin: bool,
}

/// One direction of a connection, which puts TCP segments in order.
///
/// If bytes were sent twice, the first copy is used. Positions are sequence numbers without
/// wrap-around.
#[derive(Default)]
pub(super) struct StreamReassembler {
    /// The position of the next byte; `None` before the first segment.
    next: Option<u64>,
    /// Pieces that arrived early. They don't overlap.
    waiting: BTreeMap<u64, WaitingPiece>,
    waiting_bytes: usize,
    /// The position up to which the other side has acknowledged.
    acked: u64,
    /// The end of the stream, once announced by a FIN.
    end: Option<u64>,
    /// Since when the gap is acknowledged, and how many packets ago.
    gap: Option<(Time, u32)>,
}

/// The first position, large enough for earlier sequence numbers.
const FIRST_POSITION: u64 = 1 << 33;

impl StreamReassembler {
    /// Returns whether the position in the stream is known.
    pub(super) fn is_known(&self) -> bool {
        self.next.is_some()
    }

    /// Starts the stream at this sequence number.
    pub(super) fn begin(&mut self, seq: u32) {
        self.next = Some(FIRST_POSITION | u64::from(seq));
    }

    /// Returns whether the stream started at this number and no bytes have arrived.
    pub(super) fn begins_with(&self, seq: u32) -> bool {
        self.next == Some(FIRST_POSITION | u64::from(seq))
    }

    /// Returns whether the stream has arrived up to its end.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() && self.end == self.next
    }

    /// Returns the memory of waiting pieces, in bytes.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Returns the position with this sequence number that is nearest to `next`.
    fn position(next: u64, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(next as u32) as i32;
        next.wrapping_add_signed(i64::from(ahead))
    }

    /// Handles a segment.
    pub(super) fn take(&mut self, segment: StreamSegment<'_>, out: &mut dyn FnMut(StreamPiece<'_>)) {
        let StreamSegment { seq, bytes, missing, fin } = segment;
        let next = *self.next.get_or_insert(FIRST_POSITION | u64::from(seq));
        let place = StreamReassembler::position(next, seq);
        let len = bytes.len() as u64;
        if fin && self.end.is_none() {
            self.end = Some(place + len + u64::from(missing)).filter(|end| *end >= next);
        }
        if place == next && self.waiting.is_empty() {
            self.pass(bytes, missing, out);
            return;
        }
        self.hold(place, bytes);
        if missing > 0 {
            self.hold_missing(place + len, u64::from(missing));
        }
        self.drain(out);
        while self.waiting_bytes > MAX_WAITING_BYTES {
            self.give_up(out);
        }
    }

    /// Passes on bytes that are next in the stream.
    fn pass(&mut self, bytes: &[u8], missing: u32, out: &mut dyn FnMut(StreamPiece<'_>)) {
        let len = bytes.len() as u64 + u64::from(missing);
        self.next = self.next.map(|next| next + len);
        if !bytes.is_empty() {
            out(StreamPiece::Bytes(bytes));
        }
        if missing > 0 {
            out(StreamPiece::Gap(missing.into()));
        }
    }

    /// Keeps those of the bytes that have not arrived before.
    fn hold(&mut self, place: u64, bytes: &[u8]) {
        let (mut place, mut bytes) = (place, bytes);
        while !bytes.is_empty() {
            let (skip, room) = self.overlap_and_room(place);
            let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes = bytes.get(skip..).unwrap_or_default();
            place += skip as u64;
            if skip > 0 {
                continue;
            }
            let (now, rest) = bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
            self.keep(place, WaitingPiece::Bytes(now.to_vec()));
            place += now.len() as u64;
            bytes = rest;
        }
    }

    fn hold_missing(&mut self, place: u64, len: u64) {
        let (skip, room) = self.overlap_and_room(place);
        let len = len.saturating_sub(skip).min(room);
        if len > 0 && skip == 0 {
            self.keep(place, WaitingPiece::Missing(len));
        }
    }

    fn keep(&mut self, place: u64, piece: WaitingPiece) {
        self.waiting_bytes += piece.cost();
        self.waiting.insert(place, piece);
    }

    /// Returns how many bytes from `place` on have arrived and, if none, how many have not.
    fn overlap_and_room(&self, place: u64) -> (u64, u64) {
        let next = self.next.unwrap_or(0);
        let before = self.waiting.range(..=place).next_back();
        let taken = before.map_or(next, |(at, piece)| (at + piece.len()).max(next));
        let room = self.waiting.range(place..).next().map_or(u64::MAX, |(at, _)| at - place);
        (taken.saturating_sub(place), room)
    }

    /// Passes on waiting pieces whose turn has come.
    fn drain(&mut self, out: &mut dyn FnMut(StreamPiece<'_>)) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| Some(*entry.key()) == self.next) {
            let piece = entry.remove();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(piece.cost());
            match &piece {
                WaitingPiece::Bytes(bytes) => self.pass(bytes, 0, out),
                WaitingPiece::Missing(len) => {
                    self.next = self.next.map(|next| next + len);
                    out(StreamPiece::Gap(*len));
                }
            }
            self.gap = None;
        }
    }

    /// Handles an acknowledgment by the other side.
    pub(super) fn acknowledge(&mut self, seq: u32) {
        let Some(next) = self.next else { return };
        let place = StreamReassembler::position(next, seq);
        // The end of the stream takes a sequence number too.
        self.acked = self.acked.max(self.end.map_or(place, |end| place.min(end)));
    }

    /// Returns the position behind the first gap.
    fn first_gap_end(&self) -> Option<u64> {
        let next = self.next?;
        let behind = self.waiting.keys().next().copied();
        // If only one byte is acknowledged, that is an end which was not captured.
        behind.or(Some(self.acked).filter(|acked| *acked > next + 1))
    }

    /// Gives up the first gap if it has been acknowledged for long enough. Called for each packet.
    pub(super) fn check_gap(&mut self, at: Time, out: &mut dyn FnMut(StreamPiece<'_>)) {
        let Some(end) = self.first_gap_end().filter(|end| *end <= self.acked) else {
            self.gap = None;
            return;
        };
        let (since, packets) = self.gap.get_or_insert((at, 0));
        *packets += 1;
        if *packets > MAX_PACKETS_BEHIND_GAP || at.since(*since) > MAX_GAP_AGE {
            self.skip(end, out);
        }
    }

    /// Gives up the first gap.
    pub(super) fn give_up(&mut self, out: &mut dyn FnMut(StreamPiece<'_>)) {
        if let Some(end) = self.first_gap_end() {
            self.skip(end, out);
        }
    }

    /// Gives up all gaps, because nothing more arrives.
    pub(super) fn finish(&mut self, out: &mut dyn FnMut(StreamPiece<'_>)) {
        while let Some(end) = self.first_gap_end() {
            self.skip(end, out);
        }
    }

    fn skip(&mut self, end: u64, out: &mut dyn FnMut(StreamPiece<'_>)) {
        self.gap = None;
        let Some(next) = self.next.filter(|next| *next < end) else { return };
        self.next = Some(end);
        out(StreamPiece::Gap(end - next));
        self.drain(out);
    }
}
