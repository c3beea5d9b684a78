//! Copies that have left the queue and are not decoded yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::net::lock;
use crate::net::tap::CopyQueue;
use xdscope_sources::observe::{ConnId, TapCopy};

use super::part::Part;
use super::spool::Spool;

/// The parts that have left the queue and are not decoded yet, oldest first.
///
/// Two threads take copies from the queue: the decoder between any two parts, and a thread that
/// spools them while the decoder is busy with a long part. The lock keeps their order.
pub(crate) struct PendingParts {
    pub(crate) copies: Arc<CopyQueue>,
    pub(crate) spool: Option<Arc<Spool>>,
    state: Mutex<PendingState>,
}

#[derive(Default)]
struct PendingState {
    parts: VecDeque<Part>,
    /// Memory for the copies that are taken next.
    batch: Vec<TapCopy>,
}

impl PendingParts {
    pub(crate) fn new(copies: Arc<CopyQueue>, spool: Option<Arc<Spool>>) -> PendingParts {
        PendingParts { copies, spool, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, PendingState> {
        lock(&self.state)
    }

    /// Appends the copies in the queue. Returns false when the queue has ended and is empty.
    pub(crate) fn fill(&self) -> bool {
        let mut state = self.lock();
        let is_open = self.copies.drain_ready(&mut state.batch);
        self.append(&mut state);
        is_open
    }

    /// Appends the copies in the queue whenever copies take nearly all memory, until the queue
    /// ends.
    pub(crate) fn fill_when_nearly_full(&self) {
        while self.copies.wait_until_nearly_full() {
            let mut state = self.lock();
            self.copies.take_for_drainer(&mut state.batch);
            self.append(&mut state);
        }
    }

    /// Copies that would fill the memory go to the spool. That costs one more reading.
    fn append(&self, state: &mut PendingState) {
        let PendingState { parts, batch } = state;
        Part::split(batch, |mut part| {
            if let Some(spool) = &self.spool
                && self.copies.held() > self.copies.spool_above()
            {
                part.spool(spool, &self.copies);
            }
            parts.push_back(part);
        });
    }

    /// Takes the oldest part.
    pub(crate) fn pop(&self) -> Option<Part> {
        self.lock().parts.pop_front()
    }

    /// Returns the connections with the fewest pending bytes, up to `max` bytes together.
    pub(crate) fn smallest_connections(&self, max: u64) -> BTreeSet<ConnId> {
        let mut sizes = BTreeMap::new();
        self.lock().parts.iter().for_each(|part| part.add_sizes(&mut sizes));
        let mut by_size: Vec<(u64, ConnId)> = sizes.into_iter().map(|(conn, size)| (size, conn)).collect();
        by_size.sort_unstable();
        let mut sum = 0_u64;
        let fits = |(size, _): &(u64, ConnId)| {
            sum = sum.saturating_add(*size);
            sum <= max
        };
        by_size.into_iter().take_while(fits).map(|(_, conn)| conn).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().parts.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::app::recording::spool::SpoolReader;
    use xdscope_sources::observe::TapEvent;
    use xdscope_wire::event::Dir;

    const LIMIT: usize = 1 << 20;
    const CHUNK: usize = 64 << 10;
    /// More than the limit several times.
    const CHUNKS: usize = 64;

    fn new() -> (PendingParts, Arc<Spool>) {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 1 << 30).unwrap());
        (PendingParts::new(Arc::new(CopyQueue::new(LIMIT)), Some(spool.clone())), spool)
    }

    #[test]
    fn copies_that_stay_in_memory_count() {
        let (pending, _) = new();
        let copies = &pending.copies;
        let skimmed = || TapEvent::Skimmed { dir: Dir::Req, kept: vec![0; CHUNK], parts: Vec::new() };
        let opened = || TapEvent::Opened { peer: "a".to_owned(), server: "b".to_owned() };
        for _ in 0..CHUNKS {
            copies.push(ConnId(1), copies.now(), opened());
            copies.push(ConnId(1), copies.now(), skimmed());
            pending.fill();
        }
        // The first parts fit into memory.
        let in_memory = copies.spool_above() + CHUNK + CHUNKS * opened().memory();
        assert!(copies.held() <= in_memory, "{} of {in_memory}", copies.held());
        let mut parts = std::iter::from_fn(|| pending.pop()).collect::<Vec<_>>();
        parts.retain(|part| part.spooled().is_some());
        assert!(parts.len() > CHUNKS / 2, "{} parts in the spool", parts.len());
        assert!(parts.iter().all(|part| part.spooled() == Some(skimmed().memory())));
    }

    #[test]
    fn small_connections_stay_known_after_the_deadline() {
        let (pending, spool) = new();
        let copies = &pending.copies;
        let push = |conn, size| {
            let event = TapEvent::Bytes { dir: Dir::Req, bytes: vec![0; size].into() };
            copies.push(ConnId(conn), copies.now(), event);
            pending.fill();
        };
        (0..20).for_each(|_| push(1, CHUNK));
        push(2, 100);
        (0..20).for_each(|_| push(1, CHUNK));
        push(3, 10);
        push(1, CHUNK);
        let kept = pending.smallest_connections(CHUNK as u64);
        assert_eq!(kept, BTreeSet::from([ConnId(2), ConnId(3)]));
        let (mut reader, mut known, mut lost, mut spooled) = (SpoolReader::new(spool), Vec::new(), 0, 0);
        while let Some(part) = pending.pop() {
            spooled += usize::from(part.spooled().is_some());
            for copy in part.into_losses(Some(&mut reader), copies, &kept) {
                match copy.event {
                    TapEvent::Bytes { bytes, .. } => known.push((copy.conn.0, bytes.len())),
                    TapEvent::Lost { bytes, .. } => lost += bytes as usize,
                    event => panic!("{event:?}"),
                }
            }
        }
        assert!(spooled > 3, "{spooled} parts are in the spool");
        assert_eq!((known, lost), (vec![(2, 100), (3, 10)], 41 * CHUNK));
    }

    #[test]
    fn spools_in_order_while_nobody_records() {
        let (pending, spool) = new();
        let copies = &pending.copies;
        let deadline = Instant::now() + Duration::from_secs(60);
        std::thread::scope(|scope| {
            scope.spawn(|| pending.fill_when_nearly_full());
            for n in 0..CHUNKS {
                let event = TapEvent::Bytes { dir: Dir::Resp, bytes: vec![n as u8; CHUNK].into() };
                copies.push(ConnId(1), copies.now(), event);
                while copies.queued() + copies.held() > LIMIT - 2 * CHUNK {
                    assert!(Instant::now() < deadline, "nobody takes the copies");
                    std::thread::yield_now();
                }
            }
            copies.close();
        });
        pending.fill();
        let (mut reader, mut chunks) = (SpoolReader::new(spool), Vec::new());
        while let Some(part) = pending.pop() {
            chunks.extend(part.into_copies(Some(&mut reader), copies).into_iter().map(
                |copy| match copy.event {
                    TapEvent::Bytes { bytes, .. } => (bytes[0] as usize, bytes.len()),
                    event => panic!("{event:?}"),
                },
            ));
        }
        assert_eq!(chunks, (0..CHUNKS).map(|n| (n, CHUNK)).collect::<Vec<_>>());
    }
}
