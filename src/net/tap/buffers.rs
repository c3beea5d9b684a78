use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::{Bytes, BytesMut};

use crate::net::lock;

/// Bytes of a buffer. Large, because each read of a busy connection costs two system calls.
const BUFFER_BYTES: usize = 256 << 10;

/// A buffer with less room than this counts as full.
const MIN_FREE_BYTES: usize = 16 << 10;

/// Bytes of buffers that are touched before there is traffic: more than a usual push. An idle tap
/// must not hold what only a large push needs.
const WARM_BYTES: usize = 8 << 20;

/// Buffers without copies that are kept although others take all memory.
const MIN_EMPTY_BUFFERS: usize = 2;

/// The read buffers of all connections.
///
/// All reads fill one buffer, chunk after chunk: an idle connection holds no buffer, and a queue of
/// small chunks takes no more memory than their bytes.
#[derive(Clone, Debug)]
pub(super) struct Buffers(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    current: BytesMut,
    /// Full buffers, oldest first.
    full: VecDeque<BytesMut>,
    /// Buffers without copies. The last one emptied is reused first, while it is in the processor's
    /// cache.
    empty: Vec<BytesMut>,
    /// How many buffers are kept, to be reused when all copies of their bytes are gone. Touching
    /// fresh pages would cost the traffic more than copying into them.
    kept: usize,
}

impl Buffers {
    /// Creates buffers that keep this many bytes.
    pub(super) fn new(bytes: usize) -> Buffers {
        // A buffer without memory would wait forever among the full ones.
        let current = BytesMut::with_capacity(BUFFER_BYTES);
        let kept = bytes / BUFFER_BYTES;
        Buffers(Arc::new(Mutex::new(Inner { current, full: VecDeque::new(), empty: Vec::new(), kept })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }

    /// Allocates the memory of the first buffers and touches it, before there is traffic.
    pub(super) fn warm(&self) {
        let mut inner = self.lock();
        let warm = inner.kept.min(WARM_BYTES / BUFFER_BYTES);
        while inner.empty.len() < warm {
            let mut buffer = BytesMut::with_capacity(BUFFER_BYTES);
            // Zeroed pages would stay untouched.
            buffer.resize(BUFFER_BYTES, 1);
            // Leaves a handle without bytes, like a buffer whose copies are gone.
            drop(buffer.split());
            inner.empty.push(buffer);
        }
    }

    /// Lets `fill` append to a buffer with room. Returns its result and the bytes appended.
    pub(super) fn fill<T>(&self, fill: impl FnOnce(&mut BytesMut) -> T) -> (T, Bytes) {
        let mut inner = self.lock();
        if inner.current.capacity() < MIN_FREE_BYTES {
            inner.next();
        }
        let result = fill(&mut inner.current);
        let bytes = inner.current.split().freeze();
        (result, bytes)
    }
}

impl Inner {
    fn next(&mut self) {
        if self.full.len() + self.empty.len() > self.kept {
            self.reclaim();
            // Buffers with copies are needed anyway, so only those without are given back.
            let kept = self.kept.saturating_sub(self.full.len());
            self.empty.truncate(kept.max(MIN_EMPTY_BUFFERS));
        }
        if self.current.try_reclaim(BUFFER_BYTES) {
            return;
        }
        if self.empty.is_empty() {
            self.reclaim();
        }
        let next = self.empty.pop().unwrap_or_else(|| BytesMut::with_capacity(BUFFER_BYTES));
        self.full.push_back(std::mem::replace(&mut self.current, next));
    }

    /// Empties the full buffers whose copies are gone. Copies that went to the spool are gone
    /// before older ones that wait in memory.
    fn reclaim(&mut self) {
        for _ in 0..self.full.len() {
            let Some(mut buffer) = self.full.pop_front() else { return };
            if buffer.try_reclaim(BUFFER_BYTES) {
                self.empty.push(buffer);
            } else {
                self.full.push_back(buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: usize = 20;

    fn new() -> Buffers {
        Buffers::new(KEPT * BUFFER_BYTES)
    }

    fn put(buffers: &Buffers, size: usize) -> Bytes {
        buffers.fill(|buffer| buffer.extend_from_slice(&vec![7; size])).1
    }

    #[test]
    fn places_chunks_side_by_side_in_one_buffer() {
        let buffers = new();
        let (first, second) = (put(&buffers, 100), put(&buffers, 50));
        assert_eq!((first.len(), second.len()), (100, 50));
        assert_eq!(first.as_ptr().wrapping_add(100), second.as_ptr());
    }

    #[test]
    fn reuses_a_buffer_only_after_its_bytes_are_dropped() {
        let buffers = new();
        let held: Vec<Bytes> = (0..5).map(|_| put(&buffers, BUFFER_BYTES)).collect();
        let places: Vec<_> = held.iter().map(|bytes| bytes.as_ptr()).collect();
        assert!((1..5).all(|i| !places[..i].contains(&places[i])), "held bytes are not written over");
        assert!(held.iter().all(|bytes| bytes.iter().all(|byte| *byte == 7)));
        drop(held);
        let again = put(&buffers, BUFFER_BYTES);
        assert!(places.contains(&again.as_ptr()));
    }

    #[test]
    fn reuses_a_buffer_although_older_bytes_are_held() {
        let buffers = new();
        let mut held: Vec<Bytes> = (0..5).map(|_| put(&buffers, BUFFER_BYTES)).collect();
        let gone = held.remove(3).as_ptr();
        let again: Vec<_> = (0..2).map(|_| put(&buffers, BUFFER_BYTES)).collect();
        assert!(again.iter().any(|bytes| bytes.as_ptr() == gone));
        assert!(held.iter().all(|bytes| bytes.iter().all(|byte| *byte == 7)));
    }

    #[test]
    fn keeps_a_bounded_number_of_buffers() {
        let buffers = new();
        let held: Vec<Bytes> = (0..KEPT + 10).map(|_| put(&buffers, BUFFER_BYTES)).collect();
        assert_eq!(buffers.lock().full.len(), held.len() - 1, "buffers with copies, without the current one");
        drop(held);
        (0..2).for_each(|_| drop(put(&buffers, BUFFER_BYTES)));
        let inner = buffers.lock();
        assert_eq!(inner.full.len() + inner.empty.len(), KEPT, "buffers without copies are given back");
    }

    #[test]
    fn fills_warm_buffers_first() {
        let buffers = new();
        buffers.warm();
        let ends: Vec<_> = buffers.lock().empty.iter().map(|buffer| buffer.as_ptr()).collect();
        assert_eq!(ends.len(), KEPT);
        let first = put(&buffers, BUFFER_BYTES);
        let held: Vec<Bytes> = (0..KEPT).map(|_| put(&buffers, BUFFER_BYTES)).collect();
        assert!(
            !ends.contains(&first.as_ptr().wrapping_add(BUFFER_BYTES)),
            "it is the one that was there without"
        );
        assert!(held.iter().all(|bytes| ends.contains(&bytes.as_ptr().wrapping_add(BUFFER_BYTES))));
    }
}
