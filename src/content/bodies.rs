use std::cell::RefCell;
use std::collections::VecDeque;
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

/// The newest blocks stay as they are: what just came is what is looked at.
const RAW: usize = 32;

/// Bodies in memory, compressed in blocks but for the newest 8 MB: 100,000 clusters (39 MB) take a few megabytes more.
#[derive(Default)]
pub struct MemoryBodies {
    places: Vec<Place>,
    sealed: Vec<Box<[u8]>>,
    /// The blocks that follow the sealed ones.
    raw: VecDeque<Vec<u8>>,
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

    /// The open block is full: it is one of the newest, and the oldest of those is sealed.
    fn close(&mut self) {
        self.raw.push_back(std::mem::take(&mut self.open));
        if self.raw.len() > RAW
            && let Some(Ok(packed)) = self.raw.front().map(|oldest| zstd::bulk::compress(oldest, 1))
        {
            self.sealed.push(packed.into_boxed_slice());
            self.raw.pop_front();
        }
    }
}

impl Bodies for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        let at = self.open.len() as u32;
        self.places.push(Place {
            block: (self.sealed.len() + self.raw.len()) as u32,
            at,
            len: bytes.len() as u32,
        });
        self.open.extend_from_slice(bytes);
        if self.open.len() >= BLOCK {
            self.close();
        }
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        let place = self.places.get(index as usize)?;
        let range = place.at as usize..(place.at + place.len) as usize;
        if let Some(after) = (place.block as usize).checked_sub(self.sealed.len()) {
            let block = self.raw.get(after).unwrap_or(&self.open);
            return Some(Bytes::copy_from_slice(block.get(range)?));
        }
        Some(Bytes::copy_from_slice(self.block(place.block)?.get(range)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_come_back_from_open_and_sealed_and_other_blocks() {
        let mut bodies = MemoryBodies::default();
        let body = |i: usize| vec![(i % 251) as u8; 1 + (i * 37) % 3000];
        for i in 0..8000 {
            bodies.put(&body(i));
        }
        assert!(bodies.sealed.len() > 2 && bodies.raw.len() == RAW, "several blocks are sealed");
        for i in (0..8000).rev() {
            assert_eq!(bodies.get(i as u32).as_deref(), Some(body(i).as_slice()), "{i}");
        }
        assert_eq!(bodies.get(8000), None);
    }
}
