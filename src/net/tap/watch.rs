use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffers::Buffers;
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

    /// These bytes passed: they are counted and copied.
    pub(in crate::net) fn passed<'a>(
        &self,
        conn: ConnId,
        dir: Dir,
        slices: impl Iterator<Item = &'a [u8]> + Clone,
    ) {
        let size: usize = slices.clone().map(<[u8]>::len).sum();
        let counter = if dir == Dir::Req { &self.counters.bytes_in } else { &self.counters.bytes_out };
        counter.fetch_add(size as u64, Ordering::Relaxed);
        let Some(copies) = self.copies.as_ref().filter(|_| size > 0) else { return };
        let ((), bytes) =
            self.buffers.fill(|buffer| slices.for_each(|slice| buffer.extend_from_slice(slice)));
        copies.push(conn, copies.now(), Happened::Bytes { dir, bytes });
    }
}
