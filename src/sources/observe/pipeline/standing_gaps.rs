//! Streams of a connection of which bytes may be missing.

use std::collections::BTreeSet;

use xdscope_wire::event::Dir;

/// The streams that had no event since bytes were missing that may be theirs.
///
/// When more bytes are missing, these streams need no second gap: a peer with thousands of open
/// streams would cost thousands of gaps for each loss.
#[derive(Default)]
pub(super) struct StandingGaps([BTreeSet<u32>; 2]);

impl StandingGaps {
    /// Adds a gap of a stream. Returns whether the stream had an event since the gap before.
    pub(super) fn add(&mut self, stream: u32, dir: Dir) -> bool {
        self.0[dir as usize].insert(stream)
    }

    /// Returns the number of streams with a gap in a direction.
    pub(super) fn len(&self, dir: Dir) -> usize {
        self.0[dir as usize].len()
    }

    /// Notes an event of a stream.
    pub(super) fn note_event(&mut self, stream: u32) {
        self.0.iter_mut().filter(|streams| !streams.is_empty()).for_each(|streams| {
            streams.remove(&stream);
        });
    }
}
