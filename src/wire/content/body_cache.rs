use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;

use bytes::Bytes;

use super::BodyStore;
use crate::event::DenseHash;

/// Bytes of bodies in one generation at least, with what each costs in addition to its content.
const GENERATION_BYTES: usize = 4 << 20;
/// Bytes that a body costs in addition to its content: the allocation and the entry of the map.
const ENTRY_BYTES: usize = 128;
/// Larger bodies are not cached, because each would displace too many others.
const MAX_BODY_BYTES: usize = GENERATION_BYTES / 16;
/// Memory of the smallest cache. Budgets for facts leave room for it.
const MIN_CACHE_BYTES: usize = 2 * GENERATION_BYTES;

/// Bodies that were read recently.
///
/// Bodies lie in compressed blocks, and the previous content of a changed resource may lie in any
/// of them: without this cache each small change would decompress a block.
#[derive(Default)]
pub(super) struct BodyCache(RefCell<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<u32, Bytes, DenseHash>,
    old: HashMap<u32, Bytes, DenseHash>,
    /// Bytes of the young generation.
    bytes: usize,
    /// Bytes of the old generation.
    old_bytes: usize,
    /// Bytes of one generation; [`GENERATION_BYTES`] if that is more.
    limit: usize,
}

impl Generations {
    /// Adds a body that is not in the young generation.
    fn insert(&mut self, id: u32, body: Bytes) {
        let bytes = body.len() + ENTRY_BYTES;
        if self.bytes + bytes > self.limit.max(GENERATION_BYTES) {
            self.old = mem::take(&mut self.young);
            self.old_bytes = mem::take(&mut self.bytes);
        }
        self.bytes += bytes;
        self.young.insert(id, body);
    }

    /// Returns a body from the cache, else from the store.
    fn find_or_read(&mut self, id: u32, bodies: &dyn BodyStore) -> Option<Bytes> {
        if let Some(body) = self.young.get(&id).or_else(|| self.old.get(&id)) {
            return Some(body.clone());
        }
        let body = bodies.get(id)?;
        if body.len() > MAX_BODY_BYTES {
            return Some(body);
        }
        // A slice would keep the block alive.
        let body = Bytes::copy_from_slice(&body);
        self.insert(id, body.clone());
        Some(body)
    }
}

impl BodyCache {
    /// Returns the body of a blob, from the cache or else from `bodies`. The body becomes one of
    /// the young ones.
    pub(super) fn get(&self, id: u32, bodies: &dyn BodyStore) -> Option<Bytes> {
        let mut all = self.0.borrow_mut();
        if let Some(body) = all.old.remove(&id) {
            all.insert(id, body);
        }
        all.find_or_read(id, bodies)
    }

    /// Returns the body of a blob that will hardly be read again: it does not become young.
    pub(super) fn get_once(&self, id: u32, bodies: &dyn BodyStore) -> Option<Bytes> {
        self.0.borrow_mut().find_or_read(id, bodies)
    }

    /// Changes the bytes of the cache. Less than [`MIN_CACHE_BYTES`] has no effect.
    pub(super) fn set_limit(&mut self, bytes: usize) {
        self.0.get_mut().limit = bytes / 2;
    }

    /// Adds the body of a blob that was never read.
    pub(super) fn put(&mut self, id: u32, body: &[u8]) {
        if body.len() <= MAX_BODY_BYTES {
            self.0.get_mut().insert(id, Bytes::copy_from_slice(body));
        }
    }

    /// Drops the bodies that `is_used` does not accept.
    pub(super) fn retain(&mut self, is_used: impl Fn(u32) -> bool) {
        let all = self.0.get_mut();
        let bytes = |bodies: &HashMap<u32, Bytes, DenseHash>| {
            bodies.values().map(|body| body.len() + ENTRY_BYTES).sum::<usize>()
        };
        for bodies in [&mut all.young, &mut all.old] {
            bodies.retain(|id, _| is_used(*id));
        }
        (all.bytes, all.old_bytes) = (bytes(&all.young), bytes(&all.old));
    }

    /// Returns the memory beyond that of the smallest cache, in bytes.
    pub(super) fn memory(&self) -> usize {
        let all = self.0.borrow();
        (all.bytes + all.old_bytes).saturating_sub(MIN_CACHE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Bodies of one length, and the number of reads.
    struct Counted(usize, Cell<usize>);

    impl BodyStore for Counted {
        fn put(&mut self, _: &[u8]) {}

        fn get(&self, index: u32) -> Option<Bytes> {
            self.1.set(self.1.get() + 1);
            (index < 1000).then(|| vec![index as u8; self.0].into())
        }
    }

    #[test]
    fn caches_bodies_that_are_read_again() {
        let (recent, bodies) = (BodyCache::default(), Counted(MAX_BODY_BYTES, Cell::default()));
        let get = |id: u32| {
            let body = recent.get(id, &bodies);
            assert_eq!(body, bodies.get(id), "{id}");
            bodies.1.set(bodies.1.get() - 1);
        };
        for id in 0..16 {
            get(id);
        }
        assert_eq!(bodies.1.take(), 16);
        // Reading the first body makes it young again before its generation is dropped.
        get(16);
        get(0);
        (17..50).for_each(get);
        bodies.1.take();
        get(0);
        assert_eq!(bodies.1.take(), 1, "it is two generations old now");
        get(0);
        get(49);
        assert_eq!(bodies.1.take(), 0);
        get(1000);
        assert_eq!(bodies.1.take(), 1);
        // A body that is read once stays old, and leaves with its generation.
        (60..76).for_each(get);
        (76..80).for_each(get);
        assert!(recent.get_once(60, &bodies).is_some());
        (80..96).for_each(get);
        bodies.1.take();
        assert!(recent.get_once(60, &bodies).is_some() && bodies.1.take() == 1);
        let held = recent.0.borrow();
        let bytes = |of: &HashMap<u32, Bytes, _>| of.values().map(Bytes::len).sum::<usize>();
        assert!(bytes(&held.young) <= GENERATION_BYTES && bytes(&held.old) <= GENERATION_BYTES);
    }

    #[test]
    fn larger_limit_caches_more_bodies() {
        let (mut recent, bodies) = (BodyCache::default(), Counted(MAX_BODY_BYTES, Cell::default()));
        recent.set_limit(8 * MIN_CACHE_BYTES);
        let body = vec![0; MAX_BODY_BYTES];
        (0..100).for_each(|id| recent.put(id, &body));
        (0..100).for_each(|id| assert!(recent.get(id, &bodies).is_some(), "{id}"));
        assert_eq!(bodies.1.take(), 0, "none is read");
        let cached = 100 * (MAX_BODY_BYTES + ENTRY_BYTES);
        assert_eq!(recent.memory(), cached - MIN_CACHE_BYTES);
        recent.retain(|id| id < 50);
        assert_eq!(recent.memory(), cached / 2 - MIN_CACHE_BYTES);
        assert!(recent.get(50, &bodies).is_some() && bodies.1.take() == 1, "a dropped one is read");
    }

    #[test]
    fn does_not_cache_large_bodies() {
        let (recent, bodies) = (BodyCache::default(), Counted(MAX_BODY_BYTES + 1, Cell::default()));
        assert!(recent.get(1, &bodies).is_some() && recent.get(1, &bodies).is_some());
        assert_eq!(bodies.1.get(), 2);
    }
}
