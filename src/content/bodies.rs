use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;

/// Where the bytes of blobs lie: in memory while live, in the file for a recording.
pub trait Bodies: Send {
    /// Keeps the body of the next blob; bodies come in the order of their ids, without gaps.
    fn put(&mut self, bytes: &[u8]);
    /// The body of blob number `index`; `None` if it is lost (a damaged recording).
    fn get(&self, index: u32) -> Option<Bytes>;
}

/// Blocks of this size are compressed together.
const BLOCK: usize = 256 << 10;
/// Decompressed blocks kept at hand.
const HOT: usize = 8;

#[derive(Clone, Copy)]
struct Place {
    block: u32,
    at: u32,
    len: u32,
}

/// Bodies in memory, compressed in blocks: 100,000 clusters (39 MB) take a few megabytes.
#[derive(Default)]
pub struct MemoryBodies {
    places: Vec<Place>,
    sealed: Vec<Box<[u8]>>,
    open: Vec<u8>,
    hot: RefCell<Vec<(u32, Arc<Vec<u8>>)>>,
}

impl MemoryBodies {
    fn block(&self, number: u32) -> Option<Arc<Vec<u8>>> {
        let mut hot = self.hot.borrow_mut();
        if let Some(at) = hot.iter().position(|(n, _)| *n == number) {
            let found = hot.remove(at);
            let block = found.1.clone();
            hot.push(found);
            return Some(block);
        }
        let block = Arc::new(zstd::stream::decode_all(&**self.sealed.get(number as usize)?).ok()?);
        if hot.len() == HOT {
            hot.remove(0);
        }
        hot.push((number, block.clone()));
        Some(block)
    }

    fn seal(&mut self) {
        if let Ok(packed) = zstd::bulk::compress(&self.open, 1) {
            self.sealed.push(packed.into_boxed_slice());
            self.open.clear();
        }
    }
}

impl Bodies for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        let at = self.open.len() as u32;
        self.places.push(Place { block: self.sealed.len() as u32, at, len: bytes.len() as u32 });
        self.open.extend_from_slice(bytes);
        if self.open.len() >= BLOCK {
            self.seal();
        }
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        let place = self.places.get(index as usize)?;
        let range = place.at as usize..(place.at + place.len) as usize;
        if place.block as usize == self.sealed.len() {
            return Some(Bytes::copy_from_slice(self.open.get(range)?));
        }
        Some(Bytes::copy_from_slice(self.block(place.block)?.get(range)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_back_from_open_and_sealed_blocks() {
        let mut bodies = MemoryBodies::default();
        let body = |i: usize| vec![(i % 251) as u8; 1 + (i * 37) % 3000];
        for i in 0..1000 {
            bodies.put(&body(i));
        }
        assert!(bodies.sealed.len() > 2, "several blocks are sealed");
        for i in (0..1000).rev() {
            assert_eq!(bodies.get(i as u32).as_deref(), Some(body(i).as_slice()), "{i}");
        }
        assert_eq!(bodies.get(1000), None);
    }
}
