use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

/// One buffer. Large, because each read of a busy connection costs two system calls.
const SIZE: usize = 256 << 10;

/// A buffer with less room left is done.
const ROOM: usize = 16 << 10;

/// Buffers that are kept, to be filled again when all copies of their bytes are gone. Together they hold a push of
/// 39 MB: touching fresh pages would cost the traffic more than the copy into them.
const KEPT: usize = (48 << 20) / SIZE;

/// The read buffers of all connections. One is filled at a time, chunk after chunk, whoever reads: an idle
/// connection holds none, and a queue of small chunks takes no more room than their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    current: BytesMut,
    /// Full ones, the oldest first: their copies go in that order.
    full: VecDeque<BytesMut>,
    /// Ones without copies. The last one emptied is filled first, while the processor's cache still knows it.
    empty: Vec<BytesMut>,
}

impl Buffers {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it is held; if something did, a buffer is as good as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the memory and touches it, before there is traffic.
    pub(super) fn warm(&self) {
        let mut inner = self.lock();
        while inner.empty.len() < KEPT {
            let mut buffer = BytesMut::with_capacity(SIZE);
            // Not with zeros: zeroed pages come from the system untouched.
            buffer.resize(SIZE, 1);
            // What stays is a handle without bytes, as of a buffer whose copies are gone.
            drop(buffer.split());
            inner.empty.push(buffer);
        }
    }

    /// Lets `fill` append to a buffer with room, and takes what it appended.
    pub(super) fn fill<T>(&self, fill: impl FnOnce(&mut BytesMut) -> T) -> (T, Bytes) {
        let mut inner = self.lock();
        if inner.current.capacity() < ROOM {
            inner.next();
        }
        let result = fill(&mut inner.current);
        let bytes = inner.current.split().freeze();
        (result, bytes)
    }
}

impl Default for Inner {
    fn default() -> Self {
        // Never one without memory: among the full ones it would wait for ever to be emptied.
        Inner { current: BytesMut::with_capacity(SIZE), full: VecDeque::new(), empty: Vec::new() }
    }
}

impl Inner {
    fn next(&mut self) {
        if self.current.try_reclaim(SIZE) {
            return;
        }
        while self.full.front_mut().is_some_and(|oldest| oldest.try_reclaim(SIZE)) {
            self.empty.extend(self.full.pop_front());
        }
        let next = self.empty.pop().unwrap_or_else(|| BytesMut::with_capacity(SIZE));
        self.full.push_back(std::mem::replace(&mut self.current, next));
        if self.full.len() + self.empty.len() > KEPT {
            self.full.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(buffers: &Buffers, size: usize) -> Bytes {
        buffers.fill(|buffer| buffer.extend_from_slice(&vec![7; size])).1
    }

    #[test]
    fn chunks_stand_side_by_side_in_one_buffer() {
        let buffers = Buffers::default();
        let (first, second) = (put(&buffers, 100), put(&buffers, 50));
        assert_eq!((first.len(), second.len()), (100, 50));
        assert_eq!(first.as_ptr().wrapping_add(100), second.as_ptr());
    }

    #[test]
    fn a_buffer_is_filled_again_when_its_bytes_are_gone_and_not_before() {
        let buffers = Buffers::default();
        let held: Vec<Bytes> = (0..5).map(|_| put(&buffers, SIZE)).collect();
        let places: Vec<_> = held.iter().map(|bytes| bytes.as_ptr()).collect();
        assert!((1..5).all(|i| !places[..i].contains(&places[i])), "held bytes are not written over");
        assert!(held.iter().all(|bytes| bytes.iter().all(|byte| *byte == 7)));
        drop(held);
        let again = put(&buffers, SIZE);
        assert!(places.contains(&again.as_ptr()));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers = Buffers::default();
        let held: Vec<Bytes> = (0..KEPT + 10).map(|_| put(&buffers, SIZE)).collect();
        assert_eq!(held.len(), KEPT + 10);
        assert_eq!(buffers.lock().full.len(), KEPT);
    }

    #[test]
    fn warm_buffers_are_the_ones_that_are_filled() {
        let buffers = Buffers::default();
        buffers.warm();
        let ends: Vec<_> = buffers.lock().empty.iter().map(|buffer| buffer.as_ptr()).collect();
        assert_eq!(ends.len(), KEPT);
        let first = put(&buffers, SIZE);
        let held: Vec<Bytes> = (0..KEPT).map(|_| put(&buffers, SIZE)).collect();
        assert!(!ends.contains(&first.as_ptr().wrapping_add(SIZE)), "it is the one that was there without");
        assert!(held.iter().all(|bytes| ends.contains(&bytes.as_ptr().wrapping_add(SIZE))));
    }
}
