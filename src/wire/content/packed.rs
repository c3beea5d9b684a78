use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use zstd::bulk::Compressor;

/// Bytes of a block, the unit of compression. A longer byte string is a block of its own.
const BLOCK_BYTES: usize = 256 << 10;
/// Bytes of decompressed blocks in the cache. One block alone may have more, until the next byte
/// string is added.
const MAX_CACHED_BYTES: usize = 2 << 20;

/// Byte strings in memory, numbered in order of arrival, compressed except for the newest blocks.
pub struct Packed {
    /// Bytes of the newest closed blocks that stay uncompressed, because recent content is read
    /// most.
    fresh: usize,
    places: VecDeque<BlockOffset>,
    /// Number of the first byte string in `places`; earlier ones were dropped.
    first: u32,
    sealed: VecDeque<Sealed>,
    /// Blocks that were dropped before the sealed ones.
    forgotten: u32,
    /// Closed blocks after the sealed ones, not compressed.
    raw: VecDeque<Bytes>,
    /// Bytes of the blocks in `raw`.
    raw_bytes: usize,
    open: Vec<u8>,
    hot: RefCell<Vec<(u32, Bytes)>>,
    /// Created once, because its tables are as large as a block.
    packer: Option<Compressor<'static>>,
    /// Bytes of all closed blocks.
    size: usize,
}

#[derive(Clone, Copy)]
struct BlockOffset {
    block: u32,
    at: u32,
    len: u32,
}

struct Sealed {
    packed: Box<[u8]>,
    /// Bytes before compression.
    len: usize,
    /// Number after the last byte string of the block.
    end: u32,
}

impl Packed {
    /// Creates an empty store that leaves this many of the newest bytes uncompressed.
    pub fn new(fresh: usize) -> Packed {
        Packed {
            fresh,
            places: VecDeque::new(),
            first: 0,
            sealed: VecDeque::new(),
            forgotten: 0,
            raw: VecDeque::new(),
            raw_bytes: 0,
            open: Vec::new(),
            hot: RefCell::default(),
            packer: None,
            size: 0,
        }
    }

    /// Returns the number of the first byte string that was not dropped.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Returns the number of byte strings so far, with those that were dropped.
    pub fn len(&self) -> u32 {
        self.first + self.places.len() as u32
    }

    /// Whether no byte string was added so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory in use.
    pub fn size(&self) -> usize {
        self.size + self.open.capacity() + self.places.len() * size_of::<BlockOffset>()
    }

    /// Appends a byte string.
    pub fn put(&mut self, bytes: &[u8]) {
        self.hot.get_mut().retain(|(_, block)| block.len() <= MAX_CACHED_BYTES);
        if !self.open.is_empty() && self.open.len() + bytes.len() > BLOCK_BYTES {
            self.close();
        }
        self.places.push_back(BlockOffset {
            block: self.open_block(),
            at: self.open.len() as u32,
            len: bytes.len() as u32,
        });
        self.open.extend_from_slice(bytes);
        if self.open.len() >= BLOCK_BYTES {
            self.close();
        }
    }

    /// Returns a byte string; `None` if it was dropped or never added.
    pub fn get(&self, index: u32) -> Option<Bytes> {
        let place = self.places.get(index.checked_sub(self.first)? as usize)?;
        let range = place.at as usize..(place.at + place.len) as usize;
        let after = place.block.checked_sub(self.forgotten + self.sealed.len() as u32);
        let block = match after.map(|after| self.raw.get(after as usize)) {
            None => self.unpacked(place.block)?,
            Some(Some(block)) => block.clone(),
            Some(None) => return Some(Bytes::copy_from_slice(self.open.get(range)?)),
        };
        (range.end <= block.len()).then(|| block.slice(range))
    }

    /// Drops the oldest block if all of its byte strings have lower numbers than `index`. Returns
    /// whether the block was dropped.
    pub fn forget_before(&mut self, index: u32) -> bool {
        self.sealed.front().is_some_and(|oldest| oldest.end <= index) && self.forget()
    }

    /// Drops the oldest compressed block. Returns false if there is none.
    pub fn forget(&mut self) -> bool {
        let Some(oldest) = self.sealed.pop_front() else { return false };
        self.hot.borrow_mut().retain(|(number, _)| *number != self.forgotten);
        self.size -= oldest.packed.len();
        self.forgotten += 1;
        self.places.drain(..(oldest.end - self.first) as usize);
        self.first = oldest.end;
        true
    }

    /// Returns the number of the open block.
    fn open_block(&self) -> u32 {
        self.forgotten + (self.sealed.len() + self.raw.len()) as u32
    }

    /// Decompresses a block, unless it was among the last ones used.
    fn unpacked(&self, number: u32) -> Option<Bytes> {
        let mut hot = self.hot.borrow_mut();
        if let Some(at) = hot.iter().position(|(n, _)| *n == number) {
            let found = hot.remove(at);
            let block = found.1.clone();
            hot.push(found);
            return Some(block);
        }
        let sealed = self.sealed.get(number.checked_sub(self.forgotten)? as usize)?;
        let block = Bytes::from(zstd::bulk::decompress(&sealed.packed, sealed.len).ok()?);
        while !hot.is_empty()
            && hot.iter().map(|(_, block)| block.len()).sum::<usize>() + block.len() > MAX_CACHED_BYTES
        {
            hot.remove(0);
        }
        hot.push((number, block.clone()));
        Some(block)
    }

    /// Closes the full open block, and compresses the oldest blocks that are no longer among the
    /// newest.
    fn close(&mut self) {
        let full = std::mem::replace(&mut self.open, Vec::with_capacity(BLOCK_BYTES));
        self.size += full.len();
        self.raw_bytes += full.len();
        self.raw.push_back(full.into());
        while self.raw_bytes > self.fresh
            && let Some(oldest) = self.raw.front()
            && let Some(packed) = pack(&mut self.packer, oldest)
        {
            let (number, len) = (self.forgotten + self.sealed.len() as u32, oldest.len());
            let end = self.first + self.places.partition_point(|place| place.block <= number) as u32;
            self.size = self.size + packed.len() - len;
            self.sealed.push_back(Sealed { packed: packed.into(), len, end });
            self.raw_bytes -= len;
            self.raw.pop_front();
        }
    }
}

/// Compresses a block; `None` if memory ran out, and the block stays uncompressed.
fn pack(packer: &mut Option<Compressor<'static>>, block: &[u8]) -> Option<Vec<u8>> {
    if packer.is_none() {
        *packer = Compressor::new(1).ok();
    }
    packer.as_mut()?.compress(block).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(i: usize) -> Vec<u8> {
        vec![(i % 251) as u8; 1 + (i * 37) % 3000]
    }

    #[test]
    fn returns_bytes_from_every_kind_of_block() {
        let mut packed = Packed::new(32 * BLOCK_BYTES);
        (0..8000).for_each(|i| packed.put(&body(i)));
        assert!(packed.sealed.len() > 2 && packed.raw.len() == 32, "several blocks are sealed");
        for i in (0..8000).rev() {
            assert_eq!(packed.get(i as u32).as_deref(), Some(body(i).as_slice()), "{i}");
        }
        assert_eq!(packed.get(8000), None);
    }

    #[test]
    fn long_byte_strings_are_compressed_at_once() {
        let mut packed = Packed::new(32 * BLOCK_BYTES);
        let long = |i: u8| vec![i; 15 << 20];
        (0..9).for_each(|i| packed.put(&long(i)));
        packed.put(b"short");
        assert!(packed.size() < 1 << 20, "{}", packed.size());
        assert!((0..9).all(|i| packed.get(i.into()).as_deref() == Some(long(i).as_slice())));
        assert_eq!(packed.get(9).as_deref(), Some(b"short".as_slice()));
        let cached =
            |packed: &Packed| packed.hot.borrow().iter().map(|(_, block)| block.len()).sum::<usize>();
        assert!(cached(&packed) <= 15 << 20, "{}", cached(&packed));
        packed.put(b"next");
        assert_eq!(cached(&packed), 0);
    }

    #[test]
    fn forget_releases_oldest_blocks() {
        let mut packed = Packed::new(2 * BLOCK_BYTES);
        (0..8000).for_each(|i| packed.put(&body(i)));
        let (all, held) = (packed.size(), packed.sealed.iter().map(|sealed| sealed.packed.len()));
        let (held, blocks) = (held.sum::<usize>(), packed.sealed.len());
        let mut first = 0;
        for left in (0..blocks).rev() {
            assert_eq!(packed.get(first).as_deref(), Some(body(first as usize).as_slice()));
            assert!(packed.forget() && packed.first() > first && packed.sealed.len() == left);
            assert_eq!(packed.get(first), None);
            first = packed.first();
        }
        assert!(!packed.forget(), "what is not compressed stays");
        assert_eq!(first as usize + packed.places.len(), 8000);
        assert_eq!(packed.size(), all - held - first as usize * size_of::<BlockOffset>());
        for i in first..8000 {
            assert_eq!(packed.get(i).as_deref(), Some(body(i as usize).as_slice()), "{i}");
        }
        (8000..9000).for_each(|i| packed.put(&body(i)));
        for i in packed.first()..9000 {
            assert_eq!(packed.get(i).as_deref(), Some(body(i as usize).as_slice()), "{i}");
        }
    }
}
