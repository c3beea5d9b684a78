use std::io;

use zstd::zstd_safe::{
    self, CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, zstd_sys::ZSTD_EndDirective,
};

use super::block::{self, BlockKind};
use super::encoder::{RecordSink, Records};
use super::output::Output;

/// Uncompressed bytes of a block. [`BlockSink::flush`] also ends a block.
const BLOCK_BYTES: usize = 128 << 10;
/// Uncompressed bytes of a recording's last blocks. A short recording that is cut off must not lose
/// everything.
const LAST_BLOCK_BYTES: usize = 16 << 10;
/// Bytes of memory that the writer keeps for the next block.
const MAX_IDLE_BYTES: usize = 8 * BLOCK_BYTES;
/// Uncompressed bytes of a segment. Reading one body means decompressing its segment.
const SEGMENT_RAW_BYTES: usize = 2 << 20;
/// Compressed bytes of a segment, plus at most a block: the most that one damaged byte can cost.
const SEGMENT_PACKED_BYTES: usize = 192 << 10;
/// zstd level. Level 3 compresses small messages up to 20% worse, level 5 by 5%; only new content
/// takes time.
const COMPRESSION_LEVEL: i32 = 6;
/// zstd level of a segment that begins with at least [`BULK_BYTES`] of new content from one push.
const BULK_COMPRESSION_LEVEL: i32 = 1;
const BULK_BYTES: usize = BLOCK_BYTES / 2;

/// Writes records to a file, in compressed blocks that make up segments.
pub(super) struct BlockSink {
    out: Box<dyn Output>,
    /// The length of the output.
    written: u64,
    /// The offset behind the last compressed block. Loose blocks follow.
    settled_end: u64,
    /// How many of the first bytes of the waiting records are in loose blocks.
    loose_len: usize,
    segment: Option<SegmentSize>,
    compressor: Compressor,
}

/// The size of the current segment.
#[derive(Default)]
struct SegmentSize {
    is_bulk: bool,
    raw: usize,
    packed: usize,
}

/// Compresses the blocks of a segment as one zstd stream.
///
/// Its tables take megabytes, so they are kept from segment to segment.
struct Compressor(CCtx<'static>);

impl Compressor {
    fn begin(&mut self, level: i32) -> io::Result<()> {
        self.0.reset(ResetDirective::SessionOnly).map_err(failed)?;
        self.0.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        Ok(())
    }

    /// Compresses all of `raw`, so that a reader can decompress up to here.
    fn pack(&mut self, raw: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(raw.len()) + ZSTD_HEADER_BYTES);
        let (mut from, mut to) = (InBuffer::around(raw), OutBuffer::around(&mut packed));
        let flush = ZSTD_EndDirective::ZSTD_e_flush;
        match self.0.compress_stream2(&mut to, &mut from, flush).map_err(failed)? {
            0 => Ok(packed),
            left => Err(io::Error::other(format!("zstd: {left} bytes too many"))),
        }
    }
}

/// Most bytes of the zstd frame header.
const ZSTD_HEADER_BYTES: usize = 18;

fn failed(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

impl BlockSink {
    /// Writes the header to an output.
    pub(super) fn new(out: Box<dyn Output>, header: &[u8]) -> io::Result<BlockSink> {
        let mut sink = BlockSink {
            out,
            written: 0,
            settled_end: 0,
            loose_len: 0,
            segment: None,
            compressor: Compressor(CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?),
        };
        sink.put(header)?;
        sink.settled_end = sink.written;
        Ok(sink)
    }

    /// Returns the length of the output.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Goes on in another output, which has a header of this length.
    pub(super) fn go_on(&mut self, out: Box<dyn Output>, header_len: u64) {
        (self.out, self.segment, self.loose_len) = (out, None, 0);
        (self.written, self.settled_end) = (header_len, header_len);
    }

    /// Writes all records, those of less than a block as a loose block, if the output rewrites.
    pub(super) fn flush(&mut self, records: &mut Records) -> io::Result<()> {
        if self.out.rewrites() && records.bytes.len() < BLOCK_BYTES {
            let result = self.put_loose(&records.bytes);
            return result.inspect_err(|_| self.abandon());
        }
        self.close(records)
    }

    /// Writes all records in compressed blocks.
    pub(super) fn close(&mut self, records: &mut Records) -> io::Result<()> {
        self.pack(records, BLOCK_BYTES)?;
        self.out.flush()
    }

    /// Writes the last records of the recording.
    pub(super) fn finish(&mut self, records: &mut Records) -> io::Result<()> {
        self.pack(records, LAST_BLOCK_BYTES)?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append(self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes behind the end of the output. Cuts off a part that was written before an error.
    fn append(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let result = self.out.write_at(at, bytes);
        if result.is_err() {
            // A reader skips what remains if this fails too.
            let _ = self.out.cut(self.written);
        }
        result
    }

    /// Writes a loose block of the records that no loose block holds yet.
    fn put_loose(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        let new = records.get(self.loose_len..).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        let block = block::encode(BlockKind::Loose, segment.raw == 0 && self.loose_len == 0, new, new.len());
        self.put(&block)?;
        self.loose_len = records.len();
        Ok(())
    }

    /// Replaces the loose blocks by compressed ones.
    ///
    /// The compressed blocks are first written behind the loose ones, as one moving block, so that
    /// one of the two is complete whenever the writer is killed.
    fn replace_loose(&mut self, blocks: &[u8]) -> io::Result<()> {
        let home = self.settled_end;
        let end = home + blocks.len() as u64;
        let moving = block::encode(BlockKind::Moving(home), true, blocks, blocks.len());
        self.append(self.written.max(end), &moving)?;
        self.out.write_at(home, blocks)?;
        self.out.cut(end)?;
        self.written = end;
        self.loose_len = 0;
        Ok(())
    }

    /// Ends the segment, which part of the output lacks.
    fn abandon(&mut self) {
        (self.segment, self.loose_len) = (None, 0);
        // Part of a block may have been written.
        self.written = self.out.end().unwrap_or(self.written);
        self.settled_end = self.written;
    }

    /// Compresses and writes all records, in blocks of this size.
    fn pack(&mut self, records: &mut Records, size: usize) -> io::Result<()> {
        let is_bulk = is_bulk(records);
        let bytes = records.take();
        let result = self.try_pack(&bytes, size, is_bulk);
        // A large content leaves no memory behind.
        records.reuse(bytes, MAX_IDLE_BYTES);
        result.inspect_err(|_| self.abandon())
    }

    fn try_pack(&mut self, records: &[u8], size: usize, is_bulk: bool) -> io::Result<()> {
        // Blocks that replace loose ones, and how much of the loose ones they cover.
        let (mut blocks, mut covered) = (Vec::new(), 0);
        for chunk in records.chunks(size) {
            let Some(segment) = &mut self.segment else { return Ok(()) };
            let first = segment.raw == 0;
            if first {
                segment.is_bulk = is_bulk;
                self.compressor.begin(if is_bulk { BULK_COMPRESSION_LEVEL } else { COMPRESSION_LEVEL })?;
            }
            let packed = self.compressor.pack(chunk)?;
            segment.raw += chunk.len();
            segment.packed += packed.len();
            let block = block::encode(BlockKind::Packed, first, &packed, chunk.len());
            if self.loose_len == 0 {
                self.put(&block)?;
            } else {
                blocks.extend_from_slice(&block);
                covered += chunk.len();
                if covered < self.loose_len {
                    continue;
                }
                self.replace_loose(&blocks)?;
            }
            self.settled_end = self.written;
        }
        Ok(())
    }
}

/// Returns whether a large push is being written.
fn is_bulk(records: &Records) -> bool {
    records.unframed_len() >= BULK_BYTES
}

impl RecordSink for BlockSink {
    fn make_room(&mut self, records: &mut Records) -> io::Result<bool> {
        let waiting = records.bytes.len();
        if let Some(segment) = &self.segment {
            // Bulk content starts its own segment, at its own compression level.
            let begins_bulk = is_bulk(records) && !segment.is_bulk && segment.raw > 0;
            let has_room = segment.packed < SEGMENT_PACKED_BYTES && segment.raw + waiting < SEGMENT_RAW_BYTES;
            if has_room && !begins_bulk {
                if waiting >= BLOCK_BYTES {
                    self.pack(records, BLOCK_BYTES)?;
                }
                return Ok(false);
            }
        }
        self.pack(records, BLOCK_BYTES)?;
        self.segment = Some(SegmentSize::default());
        Ok(true)
    }
}
