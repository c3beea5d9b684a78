use std::collections::BTreeMap;

use crate::wire::event::Time;

/// Bytes of one direction that may wait behind a hole. Beyond it what is missing is given up.
const WAITING: usize = 4 << 20;
/// What a piece that waits costs beyond its bytes.
const EACH: usize = 96;
/// Once the other side has acknowledged what is missing, it will not be sent again: so many packets later, or so much
/// time, it is not out of order any more either.
const PATIENCE: u32 = 128;
const SOON: std::time::Duration = std::time::Duration::from_secs(1);

/// What comes out, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Bytes(&'a [u8]),
    /// So many bytes are not in the capture.
    Gap(u64),
}

enum Held {
    Bytes(Vec<u8>),
    Missing(u64),
}

impl Held {
    fn len(&self) -> u64 {
        match self {
            Held::Bytes(bytes) => bytes.len() as u64,
            Held::Missing(len) => *len,
        }
    }

    fn cost(&self) -> usize {
        match self {
            Held::Bytes(bytes) => bytes.len() + EACH,
            Held::Missing(_) => EACH,
        }
    }
}

/// One direction of a connection: puts its segments in order. Of bytes that come twice the first copy is taken.
///
/// Places are sequence numbers without their wrap-around.
#[derive(Default)]
pub(super) struct Half {
    /// Where the next byte stands; `None` before the first segment.
    next: Option<u64>,
    /// What came ahead of its turn. No two overlap.
    waiting: BTreeMap<u64, Held>,
    held: usize,
    /// Up to where the other side has all.
    acked: u64,
    /// The end of the stream, once it was announced.
    end: Option<u64>,
    /// Since when the hole is acknowledged, and how many packets ago.
    hole: Option<(Time, u32)>,
}

/// The first place is beyond what sequence numbers before it can reach.
const FIRST: u64 = 1 << 33;

impl Half {
    /// Whether anything is known of it.
    pub(super) fn is_known(&self) -> bool {
        self.next.is_some()
    }

    /// The stream begins with this number.
    pub(super) fn begin(&mut self, seq: u32) {
        self.next = Some(FIRST | u64::from(seq));
    }

    /// Whether the stream began with this number and nothing has come yet.
    pub(super) fn begins_with(&self, seq: u32) -> bool {
        self.next == Some(FIRST | u64::from(seq))
    }

    /// All of it has come.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() && self.end == self.next
    }

    /// Bytes that wait.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// The number nearest to where the stream stands.
    fn place(next: u64, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(next as u32) as i32;
        next.wrapping_add_signed(i64::from(ahead))
    }

    /// Takes a segment.
    pub(super) fn take(
        &mut self,
        seq: u32,
        bytes: &[u8],
        missing: u32,
        fin: bool,
        out: &mut dyn FnMut(Piece<'_>),
    ) {
        let next = *self.next.get_or_insert(FIRST | u64::from(seq));
        let place = Half::place(next, seq);
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
        self.pour(out);
        while self.held > WAITING {
            self.give_up(out);
        }
    }

    /// Bytes that stand where the stream does.
    fn pass(&mut self, bytes: &[u8], missing: u32, out: &mut dyn FnMut(Piece<'_>)) {
        let len = bytes.len() as u64 + u64::from(missing);
        self.next = self.next.map(|next| next + len);
        if !bytes.is_empty() {
            out(Piece::Bytes(bytes));
        }
        if missing > 0 {
            out(Piece::Gap(missing.into()));
        }
    }

    /// Keeps what of the bytes is not there yet.
    fn hold(&mut self, place: u64, bytes: &[u8]) {
        let (mut place, mut bytes) = (place, bytes);
        while !bytes.is_empty() {
            let (skip, room) = self.free(place);
            let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes = bytes.get(skip..).unwrap_or_default();
            place += skip as u64;
            if skip > 0 {
                continue;
            }
            let (now, rest) = bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
            self.keep(place, Held::Bytes(now.to_vec()));
            place += now.len() as u64;
            bytes = rest;
        }
    }

    fn hold_missing(&mut self, place: u64, len: u64) {
        let (skip, room) = self.free(place);
        let len = len.saturating_sub(skip).min(room);
        if len > 0 && skip == 0 {
            self.keep(place, Held::Missing(len));
        }
    }

    fn keep(&mut self, place: u64, held: Held) {
        self.held += held.cost();
        self.waiting.insert(place, held);
    }

    /// How many bytes from there on have come already, and how many have not behind a place where that is none.
    fn free(&self, place: u64) -> (u64, u64) {
        let next = self.next.unwrap_or(0);
        let before = self.waiting.range(..=place).next_back();
        let taken = before.map_or(next, |(at, held)| (at + held.len()).max(next));
        let room = self.waiting.range(place..).next().map_or(u64::MAX, |(at, _)| at - place);
        (taken.saturating_sub(place), room)
    }

    /// What waits and is next.
    fn pour(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| Some(*entry.key()) == self.next) {
            let held = entry.remove();
            self.held = self.held.saturating_sub(held.cost());
            match &held {
                Held::Bytes(bytes) => self.pass(bytes, 0, out),
                Held::Missing(len) => {
                    self.next = self.next.map(|next| next + len);
                    out(Piece::Gap(*len));
                }
            }
            self.hole = None;
        }
    }

    /// The other side has all up to this number.
    pub(super) fn acked(&mut self, seq: u32) {
        let Some(next) = self.next else { return };
        let place = Half::place(next, seq);
        // The end of the stream takes a number too.
        self.acked = self.acked.max(self.end.map_or(place, |end| place.min(end)));
    }

    /// The first hole: where what follows it stands.
    fn hole(&self) -> Option<u64> {
        let next = self.next?;
        let behind = self.waiting.keys().next().copied();
        // One byte that is acknowledged and nothing behind it: an end that the capture lacks.
        behind.or(Some(self.acked).filter(|acked| *acked > next + 1))
    }

    /// A packet of the connection passed: is what is missing given up?
    pub(super) fn look(&mut self, at: Time, out: &mut dyn FnMut(Piece<'_>)) {
        let Some(end) = self.hole().filter(|end| *end <= self.acked) else {
            self.hole = None;
            return;
        };
        let (since, packets) = self.hole.get_or_insert((at, 0));
        *packets += 1;
        if *packets > PATIENCE || at.since(*since) > SOON {
            self.skip(end, out);
        }
    }

    /// What is missing before what waits will not come.
    pub(super) fn give_up(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        if let Some(end) = self.hole() {
            self.skip(end, out);
        }
    }

    /// The same of all that is missing: nothing more comes.
    pub(super) fn finish(&mut self, out: &mut dyn FnMut(Piece<'_>)) {
        while let Some(end) = self.hole() {
            self.skip(end, out);
        }
    }

    fn skip(&mut self, end: u64, out: &mut dyn FnMut(Piece<'_>)) {
        self.hole = None;
        let Some(next) = self.next.filter(|next| *next < end) else { return };
        self.next = Some(end);
        out(Piece::Gap(end - next));
        self.pour(out);
    }
}
