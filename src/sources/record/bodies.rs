use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::block::Block;
use xdscope_wire::content::BodyStore;
use xdscope_wire::event::DenseHash;

/// Bytes of decompressed segments to keep. At least one segment is kept, of any size.
const MAX_CACHED_BYTES: usize = 8 << 20;
/// Bytes of a segment that are decompressed at least. Behind the bodies of an ordinary segment may
/// lie one large message, which is not decompressed for their sake.
const PREFIX_BYTES: usize = 4 << 20;
/// Largest decompressed segment, in bytes: about a mebibyte, or one message of the largest size.
/// Larger ones are hostile: 768 MB of zeros have 40 kB.
pub const MAX_SEGMENT_BYTES: usize = 96 << 20;

/// The bytes that bodies are read from.
pub(super) trait BodySource: Read + Seek + Send {}

impl<T: Read + Seek + Send> BodySource for T {}

/// The location of a body.
#[derive(Clone, Copy)]
pub(super) enum BodyLocation {
    Segment {
        segment: u32,
        at: u32,
        len: u32,
    },
    /// Interned after opening, so not in the file.
    Memory,
    Lost,
}

/// The bodies of a recording, read on demand.
///
/// Clones share their state: the reader adds locations while the catalog asks for bodies.
#[derive(Clone)]
pub(super) struct FileBodies(Arc<Mutex<Inner>>);

struct Inner {
    /// The files of the session, in order.
    sources: Vec<Box<dyn BodySource>>,
    /// The file and the blocks of each segment.
    segments: Vec<(usize, Vec<Block>)>,
    /// Locations that were kept when others were dropped.
    older: HashMap<u32, BodyLocation, DenseHash>,
    /// The number of the first blob in `newer`.
    first: u32,
    newer: Vec<BodyLocation>,
    /// Bodies that are not in the file, and their bytes.
    memory: HashMap<u32, Bytes, DenseHash>,
    memory_bytes: usize,
    /// Decompressed segments or their beginnings, the most recently used one last.
    cached: Vec<(u32, Bytes)>,
    /// The last segment, if it ends in loose blocks, which a live recorder may replace.
    loose: Option<(u32, Bytes)>,
    /// The buffer of an evicted segment, reused for the next one.
    spare: Vec<u8>,
}

/// Decompresses the blocks of one segment after another.
pub(super) struct Decompressor {
    decoder: Decoder<'static>,
    /// The segment so far.
    pub raw: Vec<u8>,
}

impl Decompressor {
    pub(super) fn new() -> Option<Decompressor> {
        Some(Decompressor { decoder: Decoder::new().ok()?, raw: Vec::new() })
    }

    /// Starts another segment in this buffer. Returns `None` if zstd has no memory.
    pub(super) fn begin(&mut self, raw: Vec<u8>) -> Option<()> {
        self.raw = raw;
        self.raw.clear();
        self.decoder.reinit().ok()
    }

    /// Appends a block. Returns `None` if the bytes do not decompress to the stated length.
    pub(super) fn add(&mut self, packed: &[u8], block: &Block) -> Option<()> {
        let start = self.raw.len();
        let end = start + block.raw_len as usize;
        if end > MAX_SEGMENT_BYTES {
            return None;
        }
        if block.is_loose {
            self.raw.extend_from_slice(packed);
            return Some(());
        }
        self.raw.reserve(end - start);
        let mut input = InBuffer::around(packed);
        while input.pos < packed.len() || self.raw.len() < end {
            let (read, written) = (input.pos, self.raw.len());
            let mut output = OutBuffer::around_pos(&mut self.raw, written);
            let done = self.decoder.run(&mut input, &mut output).is_ok();
            let stuck = input.pos == read && self.raw.len() == written;
            if !done || stuck || self.raw.len() > end {
                self.raw.truncate(start);
                return None;
            }
        }
        Some(())
    }
}

impl FileBodies {
    pub(super) fn new(source: Box<dyn BodySource>) -> FileBodies {
        let inner = Inner {
            sources: vec![source],
            segments: Vec::new(),
            older: HashMap::default(),
            first: 0,
            newer: Vec::new(),
            memory: HashMap::default(),
            memory_bytes: 0,
            cached: Vec::new(),
            loose: None,
            spare: Vec::new(),
        };
        FileBodies(Arc::new(Mutex::new(inner)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a decompressed segment and returns its number.
    pub(super) fn add_segment(&self, blocks: Vec<Block>, raw: Bytes) -> u32 {
        self.with(|inner| {
            let number = inner.segments.len() as u32;
            if blocks.iter().any(|block| block.is_loose) {
                inner.loose = Some((number, raw));
            } else {
                inner.cache(number, raw);
            }
            let file = inner.sources.len() - 1;
            inner.segments.push((file, blocks));
            number
        })
    }

    /// Adds the next file of the session. Later segments are in that file.
    pub(super) fn add_source(&self, source: Box<dyn BodySource>) {
        self.with(|inner| inner.sources.push(source));
    }

    /// Takes a buffer for the next segment.
    pub(super) fn take_spare(&self) -> Vec<u8> {
        self.with(|inner| std::mem::take(&mut inner.spare))
    }

    /// Adds the location of the next blob.
    pub(super) fn add_location(&self, place: BodyLocation) {
        self.with(|inner| inner.newer.push(place));
    }

    /// Returns the bytes of a segment; `None` if the file has changed or is gone.
    pub(super) fn segment(&self, number: u32) -> Option<Bytes> {
        self.with(|inner| inner.decompressed(number, usize::MAX))
    }
}

impl Inner {
    /// Returns the number of the next blob.
    fn end(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.newer.len()).unwrap_or(u32::MAX))
    }

    fn location(&self, index: u32) -> Option<BodyLocation> {
        match index.checked_sub(self.first) {
            Some(at) => self.newer.get(at as usize).copied(),
            None => self.older.get(&index).copied(),
        }
    }

    fn retain(&mut self, is_used: &dyn Fn(u32) -> bool) {
        let end = self.end();
        self.older.retain(|index, _| is_used(*index));
        let newer = (self.first..).zip(std::mem::take(&mut self.newer));
        self.older.extend(newer.filter(|(index, _)| is_used(*index)));
        self.older.shrink_to_fit();
        self.first = end;
        self.memory.retain(|index, _| is_used(*index));
        self.memory_bytes = self.memory.values().map(Bytes::len).sum();
    }

    /// Estimates the memory of locations and of bodies that are not in the file. The cache of
    /// segments has a size of its own.
    fn memory(&self) -> usize {
        let locations = self.newer.capacity() + self.older.capacity() * 2;
        let blocks: usize = self.segments.len() * size_of::<(usize, Vec<Block>)>() * 2;
        locations * size_of::<BodyLocation>() + blocks + self.memory_bytes + self.memory.len() * 48
    }

    fn cache(&mut self, number: u32, raw: Bytes) {
        self.cached.push((number, raw));
        while self.cached.len() > 1
            && self.cached.iter().map(|(_, raw)| raw.len()).sum::<usize>() > MAX_CACHED_BYTES
        {
            let (_, raw) = self.cached.remove(0);
            if raw.is_unique() && raw.len() <= MAX_CACHED_BYTES {
                self.spare = raw.into();
            }
        }
    }

    /// Returns the first `len` bytes of a segment at least, or all if it has fewer.
    fn decompressed(&mut self, number: u32, len: usize) -> Option<Bytes> {
        if let Some((_, raw)) = self.loose.as_ref().filter(|(n, _)| *n == number) {
            return Some(raw.clone());
        }
        let (file, blocks) = self.segments.get(number as usize)?;
        let whole: usize = blocks.iter().map(|block| block.raw_len as usize).sum();
        let len = len.min(whole);
        // Bodies of one segment are requested together.
        if let Some((_, raw)) = self.cached.last().filter(|(n, raw)| *n == number && raw.len() >= len) {
            return Some(raw.clone());
        }
        if let Some(at) = self.cached.iter().position(|(n, _)| *n == number) {
            let found = self.cached.remove(at);
            if found.1.len() >= len {
                let raw = found.1.clone();
                self.cached.push(found);
                return Some(raw);
            }
        }
        let mut unpacker = Decompressor::new()?;
        unpacker.raw = std::mem::take(&mut self.spare);
        unpacker.raw.clear();
        let source = self.sources.get_mut(*file)?;
        for block in blocks {
            if unpacker.raw.len() >= len.max(PREFIX_BYTES) {
                break;
            }
            let mut packed = vec![0; block.packed_len as usize];
            source.seek(SeekFrom::Start(block.offset)).ok()?;
            source.read_exact(&mut packed).ok()?;
            unpacker.add(&packed, block)?;
        }
        let raw = Bytes::from(unpacker.raw);
        self.cache(number, raw.clone());
        Some(raw)
    }
}

impl BodyStore for FileBodies {
    fn put(&mut self, bytes: &[u8]) {
        self.with(|inner| {
            inner.memory.insert(inner.end(), Bytes::copy_from_slice(bytes));
            inner.memory_bytes += bytes.len();
            inner.newer.push(BodyLocation::Memory);
        });
    }

    /// Returns the body, or `None` if the file has changed or is gone.
    fn get(&self, index: u32) -> Option<Bytes> {
        self.with(|inner| match inner.location(index)? {
            BodyLocation::Segment { segment, at, len } => {
                let range = at as usize..at as usize + len as usize;
                let raw = inner.decompressed(segment, range.end)?;
                (range.end <= raw.len()).then(|| raw.slice(range))
            }
            BodyLocation::Memory => inner.memory.get(&index).cloned(),
            BodyLocation::Lost => None,
        })
    }

    fn memory(&self) -> usize {
        self.with(|inner| inner.memory())
    }

    fn retain(&mut self, is_used: &dyn Fn(u32) -> bool) {
        self.with(|inner| inner.retain(is_used));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    const CHUNK_BYTES: usize = 1 << 20;

    /// Returns a segment of `chunks` blocks, compressed and not.
    fn segment(chunks: u8) -> (Vec<u8>, Vec<Block>, Vec<u8>) {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("a compressor");
        let (mut raw, mut blocks, mut at) = (Vec::new(), Vec::new(), 0);
        for i in 0..chunks {
            let chunk = vec![i; CHUNK_BYTES];
            encoder.write_all(&chunk).and_then(|()| encoder.flush()).expect("a block");
            raw.extend(chunk);
            let end = encoder.get_ref().len();
            blocks.push(Block {
                offset: at as u64,
                packed_len: (end - at) as u32,
                raw_len: CHUNK_BYTES as u32,
                starts_segment: i == 0,
                is_loose: false,
            });
            at = end;
        }
        (encoder.get_ref().clone(), blocks, raw)
    }

    #[test]
    fn large_message_is_not_decompressed_for_the_bodies_before_it() {
        let (packed, blocks, raw) = segment(20);
        let bodies = FileBodies::new(Box::new(Cursor::new(packed)));
        let number = bodies.add_segment(blocks, raw.into());
        for chunk in [0, 19, 5] {
            let at = chunk * CHUNK_BYTES as u32 + 7;
            bodies.add_location(BodyLocation::Segment { segment: number, at, len: 3 });
        }
        // Another segment takes its place in the cache.
        bodies.add_segment(Vec::new(), vec![0; 2 * CHUNK_BYTES].into());
        assert_eq!(bodies.get(0).as_deref(), Some(&[0, 0, 0][..]));
        let cached = bodies.with(|inner| inner.cached.last().map(|(number, raw)| (*number, raw.len())));
        assert_eq!(cached, Some((number, PREFIX_BYTES)));
        assert!(bodies.with(|inner| inner.spare.capacity() <= MAX_CACHED_BYTES), "no large buffer is kept");
        assert_eq!(bodies.get(1).as_deref(), Some(&[19, 19, 19][..]));
        assert_eq!(bodies.get(2).as_deref(), Some(&[5, 5, 5][..]));
        assert_eq!(bodies.segment(number).map(|raw| raw.len()), Some(20 * CHUNK_BYTES));
    }
}
