use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;

use super::buffers::{Buffers, ROOM};
use super::{ConnId, Copies, Counters, Happened};
use crate::event::Dir;

/// Whoever has connections tells what happens on them.
#[derive(Clone)]
pub(in crate::net) struct Watch {
    pub(in crate::net) copies: Option<Arc<Copies>>,
    pub(in crate::net) counters: Arc<Counters>,
    pub(super) buffers: Buffers,
}

impl Watch {
    pub(in crate::net) fn tell(&self, conn: ConnId, what: Happened) {
        if let Some(copies) = &self.copies {
            copies.push(conn, copies.now(), what);
        }
    }

    /// These bytes passed, one slice after the other: they are counted and copied.
    pub(in crate::net) fn passed(&self, conn: ConnId, dir: Dir, slices: &[&[u8]]) {
        let size: usize = slices.iter().map(|slice| slice.len()).sum();
        let counter = if dir == Dir::Req { &self.counters.bytes_in } else { &self.counters.bytes_out };
        counter.fetch_add(size as u64, Ordering::Relaxed);
        let Some(copies) = self.copies.as_ref().filter(|_| size > 0) else { return };
        let now = copies.now();
        let copy = |slices: &[&[u8]]| {
            let put = |buffer: &mut BytesMut| slices.iter().for_each(|slice| buffer.extend_from_slice(slice));
            let ((), bytes) = self.buffers.fill(put);
            copies.push(conn, now, Happened::Bytes { dir, bytes });
        };
        // No more at a time than a buffer is sure to have room for.
        if size <= ROOM {
            return copy(slices);
        }
        slices.iter().flat_map(|slice| slice.chunks(ROOM)).for_each(|chunk| copy(&[chunk]));
    }
}
