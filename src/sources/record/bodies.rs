use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::block::Block;
use crate::wire::content::Bodies;

/// Unpacked segments kept at hand, in bytes. One is kept whatever its size.
const HOT: usize = 8 << 20;
/// A segment that unpacks to more is hostile: it holds a mebibyte, or one body of the largest size.
const MAX_SEGMENT: usize = 768 << 20;

/// What bodies are read from.
pub(super) trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Where a body lies.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Segment {
        segment: u32,
        at: u32,
        len: u32,
    },
    /// In no file: interned after opening.
    Memory(u32),
    Lost,
}

/// Bodies in a recording, read when they are asked for. Clones share everything: the reader adds places while
/// the catalog asks for bodies.
#[derive(Clone)]
pub(super) struct FileBodies(Arc<Mutex<Inner>>);

struct Inner {
    source: Box<dyn Source>,
    segments: Vec<Vec<Block>>,
    places: Vec<Place>,
    memory: Vec<Bytes>,
    /// Unpacked segments, the one used last at the end.
    hot: Vec<(u32, Bytes)>,
    /// The last segment, if it ends in loose blocks: what is in their place may change while it is recorded.
    loose: Option<(u32, Bytes)>,
    /// The memory of a segment that is not kept any more, for the next one.
    spare: Vec<u8>,
}

/// Unpacks the blocks of one segment after another, each in order.
pub(super) struct Unpacker {
    decoder: Decoder<'static>,
    /// The segment so far.
    pub raw: Vec<u8>,
}

impl Unpacker {
    pub(super) fn new() -> Option<Unpacker> {
        Some(Unpacker { decoder: Decoder::new().ok()?, raw: Vec::new() })
    }

    /// Begins another segment in this memory. `None`: there is none.
    pub(super) fn begin(&mut self, raw: Vec<u8>) -> Option<()> {
        self.raw = raw;
        self.raw.clear();
        self.decoder.reinit().ok()
    }

    /// `None`: these bytes are not what was packed.
    pub(super) fn add(&mut self, packed: &[u8], block: &Block) -> Option<()> {
        let start = self.raw.len();
        let end = start + block.raw as usize;
        if end > MAX_SEGMENT {
            return None;
        }
        if block.loose {
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
    pub(super) fn new(source: Box<dyn Source>) -> FileBodies {
        let (segments, places, memory, hot) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let inner = Inner { source, segments, places, memory, hot, loose: None, spare: Vec::new() };
        FileBodies(Arc::new(Mutex::new(inner)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a segment, unpacked; returns its number.
    pub(super) fn segment(&self, blocks: Vec<Block>, raw: Bytes) -> u32 {
        self.with(|inner| {
            let number = inner.segments.len() as u32;
            match blocks.iter().any(|block| block.loose) {
                true => inner.loose = Some((number, raw)),
                false => inner.keep(number, raw),
            }
            inner.segments.push(blocks);
            number
        })
    }

    /// Memory for the next segment.
    pub(super) fn spare(&self) -> Vec<u8> {
        self.with(|inner| std::mem::take(&mut inner.spare))
    }

    /// The next blob's place.
    pub(super) fn place(&self, place: Place) {
        self.with(|inner| inner.places.push(place));
    }
}

impl Inner {
    fn keep(&mut self, number: u32, raw: Bytes) {
        self.hot.push((number, raw));
        while self.hot.len() > 1 && self.hot.iter().map(|(_, raw)| raw.len()).sum::<usize>() > HOT {
            let (_, raw) = self.hot.remove(0);
            if raw.is_unique() {
                self.spare = raw.into();
            }
        }
    }

    fn unpacked(&mut self, number: u32) -> Option<Bytes> {
        if let Some((_, raw)) = self.loose.as_ref().filter(|(n, _)| *n == number) {
            return Some(raw.clone());
        }
        // What lies together is asked for together.
        if let Some((_, raw)) = self.hot.last().filter(|(n, _)| *n == number) {
            return Some(raw.clone());
        }
        if let Some(at) = self.hot.iter().position(|(n, _)| *n == number) {
            let found = self.hot.remove(at);
            let raw = found.1.clone();
            self.hot.push(found);
            return Some(raw);
        }
        let mut unpacker = Unpacker::new()?;
        unpacker.raw = std::mem::take(&mut self.spare);
        unpacker.raw.clear();
        for block in self.segments.get(number as usize)? {
            let mut packed = vec![0; block.packed as usize];
            self.source.seek(SeekFrom::Start(block.at)).ok()?;
            self.source.read_exact(&mut packed).ok()?;
            unpacker.add(&packed, block)?;
        }
        let raw = Bytes::from(unpacker.raw);
        self.keep(number, raw.clone());
        Some(raw)
    }
}

impl Bodies for FileBodies {
    fn put(&mut self, bytes: &[u8]) {
        self.with(|inner| {
            inner.places.push(Place::Memory(inner.memory.len() as u32));
            inner.memory.push(Bytes::copy_from_slice(bytes));
        });
    }

    /// A body that can no longer be read, because the file has changed or is gone, is as good as lost.
    fn get(&self, index: u32) -> Option<Bytes> {
        self.with(|inner| match *inner.places.get(index as usize)? {
            Place::Segment { segment, at, len } => {
                let range = at as usize..at as usize + len as usize;
                let raw = inner.unpacked(segment)?;
                (range.end <= raw.len()).then(|| raw.slice(range))
            }
            Place::Memory(at) => inner.memory.get(at as usize).cloned(),
            Place::Lost => None,
        })
    }
}
