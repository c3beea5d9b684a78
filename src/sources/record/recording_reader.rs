use std::io::{self, Read, Seek};

use super::block::{Block, BlockScanner, ScannedItem};
use super::bodies::{BodySource, Decompressor, FileBodies};
use super::error::RecordReadError;
use super::header::Header;
use super::loaded::Loaded;
use super::segment_reader::{FileRegion, SegmentReader};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Clock, Time};

/// Bytes of loose blocks to buffer until the compressed block is found. Writers keep fewer.
pub(super) const MAX_UNSETTLED_BYTES: usize = 4 << 20;

/// Reads a complete recording. `source` holds the same bytes, for reading bodies later.
pub(super) fn read(input: impl Read, source: Box<dyn BodySource>) -> Result<Loaded, RecordReadError> {
    let (catalog, reading) = RecordingReader::new(input, source)?;
    reading.read_all(catalog)
}

/// A file of a session that has several.
pub struct RecordingPart<R> {
    name: String,
    input: R,
    source: Box<dyn BodySource>,
}

impl<R: Read> RecordingPart<R> {
    /// Names a file. `source` holds the same bytes as `input`.
    pub fn new(name: String, input: R, source: impl Read + Seek + Send + 'static) -> RecordingPart<R> {
        RecordingPart { name, input, source: Box::new(source) }
    }
}

/// Returns the files of a session that follow the first one, in order; an error names the file.
type NextParts<R> = Box<dyn FnMut() -> Option<Result<RecordingPart<R>, (String, io::Error)>> + Send>;

/// A recording that is read in order, some frames at a time.
pub struct RecordingReader<R> {
    header: Header,
    blocks: BlockScanner<R>,
    reader: SegmentReader,
    /// The bodies in the file, shared with reader and catalog.
    bodies: FileBodies,
    unpacker: Option<Decompressor>,
    /// The blocks of the segment being decompressed.
    segment: Option<Vec<Block>>,
    /// The offset behind the last compressed block.
    settled_end: u64,
    /// Loose blocks and damage behind that offset, which a later compressed block may replace.
    unsettled: Vec<ScannedItem>,
    /// Memory of `unsettled` in bytes.
    unsettled_bytes: usize,
    is_finished: bool,
    /// The files that follow, and the size of those that were read.
    following: Option<NextParts<R>>,
    earlier_bytes: u64,
}

impl<R: Read> RecordingReader<R> {
    /// Reads the header. The returned catalog reads bodies from `source`, which holds the same
    /// bytes.
    ///
    /// # Errors
    ///
    /// The header can't be read, is damaged, or is of a newer format version.
    pub fn new(
        mut input: R,
        source: impl Read + Seek + Send + 'static,
    ) -> Result<(Catalog, Self), RecordReadError> {
        let (header, settled) = Header::read(&mut input)?;
        let bodies = FileBodies::new(Box::new(source));
        let reader = SegmentReader::new(bodies.clone());
        let catalog = Catalog::new(header.seed, None, Box::new(bodies.clone()));
        let blocks = BlockScanner::new(input, settled);
        let (unpacker, segment, unsettled) = (Decompressor::new(), None, Vec::new());
        Ok((
            catalog,
            RecordingReader {
                header,
                blocks,
                reader,
                bodies,
                unpacker,
                segment,
                settled_end: settled,
                unsettled,
                unsettled_bytes: 0,
                is_finished: false,
                following: None,
                earlier_bytes: 0,
            },
        ))
    }

    /// Adds the files that follow this one, which is called `name`.
    pub fn followed_by(
        mut self,
        name: String,
        parts: impl FnMut() -> Option<Result<RecordingPart<R>, (String, io::Error)>> + Send + 'static,
    ) -> Self {
        self.reader.set_name(name);
        self.following = Some(Box::new(parts));
        self
    }

    /// Goes on with the next file. Returns false if there is none.
    fn begin_part(&mut self) -> bool {
        while let Some(part) = self.following.as_mut().and_then(|next| next()) {
            let (name, error) = match part {
                Ok(RecordingPart { name, mut input, source }) => match Header::read(&mut input) {
                    Ok((_, settled)) => {
                        self.reader.begin_file(name, source);
                        self.blocks = BlockScanner::new(input, settled);
                        self.earlier_bytes += std::mem::replace(&mut self.settled_end, settled);
                        self.is_finished = false;
                        return true;
                    }
                    Err(error) => (name, error.to_string()),
                },
                Err((name, error)) => (name, error.to_string()),
            };
            self.reader.skip_file(&name, &error);
        }
        false
    }

    /// Reads the whole recording.
    ///
    /// # Errors
    ///
    /// The input can't be read.
    pub fn read_all(mut self, mut catalog: Catalog) -> Result<Loaded, RecordReadError> {
        let mut frames = Vec::new();
        while self.next(&mut catalog, &mut frames)? {}
        let (clock, secrets) = (self.clock(), self.header.keep_secrets);
        let (end, notices) = self.finish();
        Ok(Loaded { catalog, clock, frames, end, notices, secrets })
    }

    /// Returns the meaning of the times in the recording.
    pub fn clock(&self) -> Clock {
        self.header.clock
    }

    /// Whether the recording was made with `--keep-secrets`.
    pub fn has_secrets(&self) -> bool {
        self.header.keep_secrets
    }

    /// Returns how many bytes of compressed blocks are read.
    pub fn position(&self) -> u64 {
        self.earlier_bytes + self.settled_end
    }

    /// Appends the next frames to `out`, and their content to the catalog that came with the
    /// reader.
    ///
    /// Returns false at the end of the recording.
    ///
    /// # Errors
    ///
    /// The input can't be read.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, RecordReadError> {
        loop {
            self.reader.read_some(catalog);
            if !self.reader.frames.is_empty() {
                out.append(&mut self.reader.frames);
                return Ok(true);
            }
            if !self.is_finished {
                self.scan_block()?;
            } else if !self.begin_part() {
                return Ok(false);
            }
        }
    }

    /// Marks the contents as used to which the reader refers.
    pub fn mark(&self, used: &mut UsedContent) {
        self.reader.mark(used);
    }

    /// Forgets contents that the catalog has dropped. Those to which later messages refer are read
    /// from the file again, under new ids.
    pub fn forget(&mut self, used: &UsedContent) {
        self.reader.forget(used);
    }

    fn scan_block(&mut self) -> Result<(), RecordReadError> {
        let next = if self.reader.has_too_much_content { ScannedItem::End } else { self.blocks.next()? };
        match next {
            ScannedItem::Block(block, packed) if !block.is_loose => {
                self.take_unsettled();
                self.settled_end = block.offset + u64::from(block.packed_len);
                self.take_content(block, &packed);
            }
            ScannedItem::Moving { destination: home, at, blocks } => self.take_moving(home, at, &blocks)?,
            ScannedItem::End => {
                self.take_unsettled();
                self.end_segment();
                self.is_finished = true;
            }
            next => {
                // Loose blocks in front of another segment stay: their writer gave the segment up.
                if let ScannedItem::Block(block, _) = &next
                    && block.starts_segment
                    && !self.unsettled.is_empty()
                {
                    self.take_unsettled();
                    self.settled_end = block.start();
                }
                let content = if let ScannedItem::Block(_, packed) = &next { packed.len() } else { 0 };
                self.unsettled_bytes += size_of::<ScannedItem>() + content;
                self.unsettled.push(next);
                if self.unsettled_bytes > MAX_UNSETTLED_BYTES {
                    self.take_unsettled();
                }
            }
        }
        Ok(())
    }

    /// Takes blocks whose writer stopped before they were in place, or before this copy was cut
    /// off.
    fn take_moving(&mut self, home: u64, at: u64, copies: &[u8]) -> Result<(), RecordReadError> {
        let begun = self.unsettled.first().and_then(start_offset) == Some(home);
        let there = home..=home.saturating_add(copies.len() as u64);
        if !begun && !there.contains(&self.settled_end) {
            self.take_unsettled();
            self.reader.push_region(FileRegion::Damage { at, bytes: copies.len() as u64 });
            return Ok(());
        }
        self.unsettled.clear();
        self.unsettled_bytes = 0;
        let (settled, mut home) = (self.settled_end, home);
        let mut blocks = BlockScanner::new(copies, at);
        while let ScannedItem::Block(block, packed) = blocks.next()? {
            if begun || home >= settled {
                self.take_content(block, &packed);
            }
            home += block.len();
        }
        Ok(())
    }

    /// Returns the time at which the recording ends, and messages to the user about damage.
    pub fn finish(self) -> (Time, Vec<String>) {
        self.reader.finish(&self.header)
    }

    /// Reads the unsettled blocks, because nothing replaces them.
    fn take_unsettled(&mut self) {
        self.unsettled_bytes = 0;
        for next in std::mem::take(&mut self.unsettled) {
            match next {
                ScannedItem::Block(block, packed) => self.take_content(block, &packed),
                ScannedItem::Damage { at, bytes } => {
                    self.end_segment();
                    self.reader.push_region(FileRegion::Damage { at, bytes });
                }
                ScannedItem::Cut { at, bytes } => {
                    self.end_segment();
                    self.reader.cut = Some((at, bytes));
                }
                ScannedItem::Moving { .. } | ScannedItem::End => {}
            }
        }
    }

    fn take_content(&mut self, block: Block, packed: &[u8]) {
        if block.starts_segment {
            self.end_segment();
            let begun = self.unpacker.as_mut().and_then(|unpacker| unpacker.begin(self.bodies.take_spare()));
            self.segment = begun.map(|()| Vec::new());
        }
        let unpacked = self.segment.as_mut().zip(self.unpacker.as_mut()).and_then(|(blocks, unpacker)| {
            unpacker.add(packed, &block)?;
            blocks.push(block);
            Some(())
        });
        if unpacked.is_none() {
            // The block continues a segment that is lost.
            self.end_segment();
            self.reader.push_region(FileRegion::Damage { at: block.offset, bytes: packed.len() as u64 });
        }
    }

    fn end_segment(&mut self) {
        if let Some((blocks, unpacker)) = self.segment.take().zip(self.unpacker.as_mut()) {
            self.reader.push_region(FileRegion::Segment(std::mem::take(&mut unpacker.raw), blocks));
        }
    }
}

/// Returns the offset at which the block or the damage begins.
fn start_offset(next: &ScannedItem) -> Option<u64> {
    match next {
        ScannedItem::Block(block, _) => Some(block.start()),
        ScannedItem::Damage { at, .. } | ScannedItem::Cut { at, .. } => Some(*at),
        ScannedItem::Moving { .. } | ScannedItem::End => None,
    }
}
