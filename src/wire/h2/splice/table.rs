//! The streams of a connection that do not simply pass, with running totals.
//!
//! The relay asks after each read and write what waits and how much memory it takes: a walk over
//! all streams would make a flood of streams cost the square of their number.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

use super::super::index;
use super::stream::{ArmedHalf, StreamState};
use crate::event::Dir;

/// Streams that have ended of which late frames are left out. Those of older ones pass.
const MAX_ENDED: usize = 1_000;

/// Memory of a stream without its messages, in bytes.
const STREAM_BYTES: usize = 1 << 10;

/// Streams by number.
#[derive(Default)]
pub(super) struct StreamTable {
    streams: BTreeMap<u32, StreamState>,
    /// Streams that have ended, the oldest first.
    ended: VecDeque<u32>,
    totals: StreamTotals,
}

/// The sums over some streams, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamTotals {
    pub(super) halves: [HalfTotals; 2],
    /// The least lengths of incomplete first requests, in bytes.
    pub(super) expected: usize,
}

/// The sums of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HalfTotals {
    /// Streams with messages that wait for window.
    pub(super) pending: usize,
    /// Streams with messages that wait for the caller or for window.
    pub(super) waiting: usize,
    /// Bytes of messages in memory.
    pub(super) bytes: usize,
}

impl StreamTotals {
    fn of_stream(state: &StreamState) -> StreamTotals {
        match state {
            StreamState::Armed(halves) => {
                let [requests, responses] = &**halves;
                let halves = [HalfTotals::of_half(requests), HalfTotals::of_half(responses)];
                StreamTotals { halves, expected: 0 }
            }
            StreamState::Undecided(undecided) => {
                let mut totals = StreamTotals { expected: undecided.first.expected(), ..Default::default() };
                totals.halves[index(Dir::Req)].bytes = undecided.bytes;
                totals
            }
            StreamState::Ending | StreamState::Closed => StreamTotals::default(),
        }
    }

    fn add(&mut self, other: StreamTotals) {
        self.expected += other.expected;
        for (half, more) in self.halves.iter_mut().zip(other.halves) {
            half.pending += more.pending;
            half.waiting += more.waiting;
            half.bytes += more.bytes;
        }
    }

    fn subtract(&mut self, other: StreamTotals) {
        self.expected -= other.expected;
        for (half, less) in self.halves.iter_mut().zip(other.halves) {
            half.pending -= less.pending;
            half.waiting -= less.waiting;
            half.bytes -= less.bytes;
        }
    }
}

impl HalfTotals {
    fn of_half(half: &ArmedHalf) -> HalfTotals {
        HalfTotals {
            pending: usize::from(half.has_pending()),
            waiting: usize::from(!half.is_drained()),
            bytes: half.held_bytes(),
        }
    }
}

/// A stream that is changed. The totals follow when the borrow ends.
pub(super) struct StreamChange<'a> {
    state: &'a mut StreamState,
    totals: &'a mut StreamTotals,
}

impl Deref for StreamChange<'_> {
    type Target = StreamState;

    fn deref(&self) -> &StreamState {
        self.state
    }
}

impl DerefMut for StreamChange<'_> {
    fn deref_mut(&mut self) -> &mut StreamState {
        self.state
    }
}

impl Drop for StreamChange<'_> {
    fn drop(&mut self) {
        self.totals.add(StreamTotals::of_stream(self.state));
    }
}

impl StreamTable {
    pub(super) fn get(&self, stream: u32) -> Option<&StreamState> {
        self.streams.get(&stream)
    }

    /// Borrows a stream to change it.
    pub(super) fn change(&mut self, stream: u32) -> Option<StreamChange<'_>> {
        let state = self.streams.get_mut(&stream)?;
        self.totals.subtract(StreamTotals::of_stream(state));
        Some(StreamChange { state, totals: &mut self.totals })
    }

    /// Sets the state of a stream. Forgets the oldest of many streams that have ended.
    pub(super) fn insert(&mut self, stream: u32, state: StreamState) {
        let has_ended = state.has_ended();
        self.totals.add(StreamTotals::of_stream(&state));
        if let Some(before) = self.streams.insert(stream, state) {
            self.totals.subtract(StreamTotals::of_stream(&before));
        }
        if !has_ended {
            return;
        }
        self.ended.push_back(stream);
        if self.ended.len() > MAX_ENDED
            && let Some(oldest) = self.ended.pop_front()
            && self.streams.get(&oldest).is_some_and(StreamState::has_ended)
        {
            self.streams.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, stream: u32) -> Option<StreamState> {
        let state = self.streams.remove(&stream)?;
        self.totals.subtract(StreamTotals::of_stream(&state));
        Some(state)
    }

    /// Notes the header block before the messages of a direction.
    pub(super) fn note_headers(&mut self, stream: u32, dir: Dir, encoding: Option<String>) {
        match self.streams.get_mut(&stream) {
            Some(StreamState::Undecided(undecided)) => {
                undecided.encodings[index(dir)] = encoding;
                undecided.has_response_headers |= dir == Dir::Resp;
            }
            Some(StreamState::Armed(halves)) => {
                let half = &mut halves[index(dir)];
                (half.encoding, half.has_headers) = (encoding, true);
            }
            Some(StreamState::Ending | StreamState::Closed) | None => {}
        }
    }

    /// Returns the sums over all streams.
    pub(super) fn totals(&self) -> &StreamTotals {
        &self.totals
    }

    /// Returns the memory of all streams, in bytes.
    pub(super) fn memory(&self) -> usize {
        let messages: usize = self.totals.halves.iter().map(|half| half.bytes).sum();
        messages + self.streams.len() * STREAM_BYTES
    }

    /// Changes the windows of all armed streams in a direction.
    pub(super) fn resize(&mut self, dir: Dir, change: i64) {
        for stream in self.streams.values_mut() {
            if let StreamState::Armed(halves) = stream {
                halves[index(dir)].resize(change);
            }
        }
    }

    /// Returns the streams with messages that wait for window.
    pub(super) fn pending(&self, dir: Dir) -> Vec<u32> {
        if self.totals.halves[index(dir)].pending == 0 {
            return Vec::new();
        }
        let waiting = self.streams.iter().filter_map(|(stream, state)| match state {
            StreamState::Armed(halves) if halves[index(dir)].has_pending() => Some(*stream),
            _ => None,
        });
        waiting.collect()
    }

    /// Returns the undecided stream with the longest first request.
    pub(super) fn longest_request(&self) -> Option<u32> {
        let undecided = self.streams.iter().filter_map(|(stream, state)| match state {
            StreamState::Undecided(undecided) => Some((undecided.first.expected(), *stream)),
            _ => None,
        });
        undecided.max().map(|(_, stream)| stream)
    }
}

#[cfg(test)]
impl StreamTable {
    /// Checks the totals against a walk over all streams.
    pub(super) fn check_totals(&self) {
        let mut walked = StreamTotals::default();
        self.streams.values().for_each(|state| walked.add(StreamTotals::of_stream(state)));
        assert_eq!(self.totals, walked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_streams_that_have_ended_are_forgotten() {
        let mut table = StreamTable::default();
        table.insert(1, StreamState::Undecided(Box::default()));
        let last = 2 * MAX_ENDED as u32 + 5;
        (3..=last).step_by(2).for_each(|stream| table.insert(stream, StreamState::Closed));
        assert!(table.get(3).is_none() && table.get(5).is_none());
        assert!(table.get(1).is_some() && table.get(7).is_some() && table.get(last).is_some());
        assert_eq!(table.streams.len(), 1 + MAX_ENDED);
        table.check_totals();
    }
}
