use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use zstd::bulk::Compressor;

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
    sealed: Vec<Sealed>,
    /// The blocks that follow the sealed ones.
    raw: VecDeque<Bytes>,
    open: Vec<u8>,
    hot: RefCell<Vec<(u32, Bytes)>>,
    /// Its tables are as large as a block: they are made once.
    packer: Option<Compressor<'static>>,
}

struct Sealed {
    packed: Box<[u8]>,
    /// Bytes before they were compressed.
    len: usize,
}

impl MemoryBodies {
    fn block(&self, number: u32) -> Option<Bytes> {
        let mut hot = self.hot.borrow_mut();
        if let Some(at) = hot.iter().position(|(n, _)| *n == number) {
            let found = hot.remove(at);
            let block = found.1.clone();
            hot.push(found);
            return Some(block);
        }
        let sealed = self.sealed.get(number as usize)?;
        let block = Bytes::from(zstd::bulk::decompress(&sealed.packed, sealed.len).ok()?);
        if hot.len() == HOT {
            hot.remove(0);
        }
        hot.push((number, block.clone()));
        Some(block)
    }

    /// The open block is full: it is one of the newest, and the oldest of those is sealed.
    fn close(&mut self) {
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(BLOCK));
        self.raw.push_back(full.into());
        if self.raw.len() > RAW
            && let Some(oldest) = self.raw.front()
            && let Some(packed) = pack(&mut self.packer, oldest)
        {
            self.sealed.push(Sealed { packed: packed.into(), len: oldest.len() });
            self.raw.pop_front();
        }
    }
}

/// `None`: there is no memory for it, and the block stays as it is.
fn pack(packer: &mut Option<Compressor<'static>>, block: &[u8]) -> Option<Vec<u8>> {
    if packer.is_none() {
        *packer = Compressor::new(1).ok();
    }
    packer.as_mut()?.compress(block).ok()
}

impl Bodies for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        if !self.open.is_empty() && self.open.len() + bytes.len() > BLOCK {
            self.close();
        }
        let at = self.open.len() as u32;
        self.places.push(Place {
            block: (self.sealed.len() + self.raw.len()) as u32,
            at,
            len: bytes.len() as u32,
        });
        self.open.extend_from_slice(bytes);
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        let place = self.places.get(index as usize)?;
        let range = place.at as usize..(place.at + place.len) as usize;
        let block = match (place.block as usize).checked_sub(self.sealed.len()) {
            None => self.block(place.block)?,
            Some(after) => match self.raw.get(after) {
                Some(block) => block.clone(),
                None => return Some(Bytes::copy_from_slice(self.open.get(range)?)),
            },
        };
        (range.end <= block.len()).then(|| block.slice(range))
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
