use std::io::Read;

use super::block::{Block, Blocks, Next};
use super::bodies::{Source, Unpacker};
use super::reader::{Reader, Then};
use super::{Header, Loaded, RecordReadError};
use crate::wire::Frame;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Time};

/// Bytes that may wait for what becomes of them: loose blocks are never that many.
const UNSETTLED: usize = 4 << 20;

/// Reads a recording from its first byte on. `source` is the same bytes, for reading bodies later.
pub(super) fn read(input: impl Read, source: Box<dyn Source>) -> Result<Loaded, RecordReadError> {
    let (mut catalog, mut reading) = Reading::new(input, source)?;
    let mut frames = Vec::new();
    while reading.next(&mut catalog, &mut frames)? {}
    let clock = reading.clock();
    let secrets = reading.header.keep_secrets;
    let (end, notices) = reading.finish();
    Ok(Loaded { catalog, clock, frames, end, notices, secrets })
}

/// A recording that is read from its beginning on, some frames at a time.
pub struct Reading<R> {
    header: Header,
    blocks: Blocks<R>,
    reader: Reader,
    unpacker: Option<Unpacker>,
    /// The blocks of the segment that is being unpacked.
    segment: Option<Vec<Block>>,
    /// Offset behind the last packed block.
    settled: u64,
    /// What stands behind it: loose blocks and damage, for which a packed block may stand further on.
    unsettled: Vec<Next>,
    ended: bool,
}

impl<R: Read> Reading<R> {
    /// Reads the header. `source` is the same bytes, for reading bodies later; the catalog reads them from there.
    pub(super) fn new(mut input: R, source: Box<dyn Source>) -> Result<(Catalog, Self), RecordReadError> {
        let (header, settled) = Header::read(&mut input)?;
        let reader = Reader::new(source);
        let catalog = Catalog::new(header.seed, None, Box::new(reader.bodies.clone()));
        let blocks = Blocks::new(input, settled);
        let (unpacker, segment, unsettled) = (Unpacker::new(), None, Vec::new());
        Ok((catalog, Reading { header, blocks, reader, unpacker, segment, settled, unsettled, ended: false }))
    }

    pub fn clock(&self) -> Clock {
        self.header.clock
    }

    /// Bytes of the file that were read, of those that are packed.
    pub fn position(&self) -> u64 {
        self.settled
    }

    /// Appends the next frames to `out`, and their content to the catalog that came with this. False at the end: there
    /// were none any more.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, RecordReadError> {
        loop {
            self.reader.go_on(catalog);
            if !self.reader.frames.is_empty() {
                out.append(&mut self.reader.frames);
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            self.take_block()?;
        }
    }

    fn take_block(&mut self) -> Result<(), RecordReadError> {
        let next = if self.reader.full { Next::End } else { self.blocks.next()? };
        match next {
            Next::Block(block, packed) if !block.loose => {
                self.take_unsettled();
                self.settled = block.at + u64::from(block.packed);
                self.block(block, &packed);
            }
            Next::Moving { home, at, blocks } => self.moving(home, at, &blocks)?,
            Next::End => {
                self.take_unsettled();
                self.end_segment();
                self.ended = true;
            }
            next => {
                self.unsettled.push(next);
                let bytes = self.unsettled.iter().map(|next| match next {
                    Next::Block(_, packed) => packed.len(),
                    _ => 0,
                });
                if bytes.sum::<usize>() > UNSETTLED {
                    self.take_unsettled();
                }
            }
        }
        Ok(())
    }

    /// Their writer was stopped before the blocks were all in their place, or before these copies were cut off.
    fn moving(&mut self, home: u64, at: u64, copies: &[u8]) -> Result<(), RecordReadError> {
        let begun = self.unsettled.first().and_then(place) == Some(home);
        let there = home..=home.saturating_add(copies.len() as u64);
        if !begun && !there.contains(&self.settled) {
            self.take_unsettled();
            self.reader.then(Then::Damage { at, bytes: copies.len() as u64 });
            return Ok(());
        }
        self.unsettled.clear();
        let (settled, mut home) = (self.settled, home);
        let mut blocks = Blocks::new(copies, at);
        while let Next::Block(block, packed) = blocks.next()? {
            if begun || home >= settled {
                self.block(block, &packed);
            }
            home += block.len();
        }
        Ok(())
    }

    /// Where the clock stops, and what a person must know: damage, a truncated tail.
    pub fn finish(self) -> (Time, Vec<String>) {
        self.reader.finish(&self.header)
    }

    /// Nothing takes the place of what is unsettled.
    fn take_unsettled(&mut self) {
        for next in std::mem::take(&mut self.unsettled) {
            match next {
                Next::Block(block, packed) => self.block(block, &packed),
                Next::Damage { at, bytes } => {
                    self.end_segment();
                    self.reader.then(Then::Damage { at, bytes });
                }
                Next::Cut { at, bytes } => {
                    self.end_segment();
                    self.reader.cut = Some((at, bytes));
                }
                Next::Moving { .. } | Next::End => {}
            }
        }
    }

    fn block(&mut self, block: Block, packed: &[u8]) {
        if block.first {
            self.end_segment();
            let begun =
                self.unpacker.as_mut().and_then(|unpacker| unpacker.begin(self.reader.bodies.spare()));
            self.segment = begun.map(|()| Vec::new());
        }
        let unpacked = self.segment.as_mut().zip(self.unpacker.as_mut()).and_then(|(blocks, unpacker)| {
            unpacker.add(packed, &block)?;
            blocks.push(block);
            Some(())
        });
        if unpacked.is_none() {
            // It goes on with something that is lost.
            self.end_segment();
            self.reader.then(Then::Damage { at: block.at, bytes: packed.len() as u64 });
        }
    }

    fn end_segment(&mut self) {
        if let Some((blocks, unpacker)) = self.segment.take().zip(self.unpacker.as_mut()) {
            self.reader.then(Then::Segment(std::mem::take(&mut unpacker.raw), blocks));
        }
    }
}

/// Where the block or the damage began.
fn place(next: &Next) -> Option<u64> {
    match next {
        Next::Block(block, _) => Some(block.start()),
        Next::Damage { at, .. } | Next::Cut { at, .. } => Some(*at),
        Next::Moving { .. } | Next::End => None,
    }
}
