use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;

use bytes::Bytes;

use super::BodyStore;
use crate::event::DenseHash;

/// Bytes of bodies in one generation, with what each costs beside its content.
const GENERATION_BYTES: usize = 4 << 20;
/// Bytes that a body costs beside its content: the allocation and the entry of the map.
const ENTRY_BYTES: usize = 128;
/// Larger bodies are not cached, because each would displace too many others.
const MAX_BODY_BYTES: usize = GENERATION_BYTES / 16;

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
}

impl BodyCache {
    /// Returns the body of a blob, from the cache or else from `bodies`.
    pub(super) fn get(&self, id: u32, bodies: &dyn BodyStore) -> Option<Bytes> {
        let mut all = self.0.borrow_mut();
        if let Some(body) = all.young.get(&id) {
            return Some(body.clone());
        }
        let body = match all.old.remove(&id) {
            Some(body) => body,
            None => {
                let body = bodies.get(id)?;
                if body.len() > MAX_BODY_BYTES {
                    return Some(body);
                }
                // A slice would keep the block alive.
                Bytes::copy_from_slice(&body)
            }
        };
        if all.bytes + body.len() + ENTRY_BYTES > GENERATION_BYTES {
            all.old = mem::take(&mut all.young);
            all.bytes = 0;
        }
        all.bytes += body.len() + ENTRY_BYTES;
        all.young.insert(id, body.clone());
        Some(body)
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
        let held = recent.0.borrow();
        let bytes = |of: &HashMap<u32, Bytes, _>| of.values().map(Bytes::len).sum::<usize>();
        assert!(bytes(&held.young) <= GENERATION_BYTES && bytes(&held.old) <= GENERATION_BYTES);
    }

    #[test]
    fn does_not_cache_large_bodies() {
        let (recent, bodies) = (BodyCache::default(), Counted(MAX_BODY_BYTES + 1, Cell::default()));
        assert!(recent.get(1, &bodies).is_some() && recent.get(1, &bodies).is_some());
        assert_eq!(bodies.1.get(), 2);
    }
}
