mod lists;
mod outage;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use zstd::zstd_safe::{
    self, CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, zstd_sys::ZSTD_EndDirective,
};

use super::blob_numbers::BlobNumbers;
use super::block::{self, BlockKind};
use super::encode;
use super::header::{Header, put_u64};
use super::missing::Missing;
use super::output::{Growing, Output, Rewritable, RewritableFile};
use lists::Lists;
use xdscope_wire::content::{BlobForm, BlobId, Catalog, UsedContent};
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, Open, Segment};

/// Uncompressed bytes of a block. [`Writer::flush`] also ends a block.
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

/// A writer of recordings. Frames written before a [`flush`](Writer::flush) survive a crash.
///
/// Frames that the output does not accept are counted. Gaps stand for them once the output accepts
/// frames again.
pub struct Writer {
    out: Box<dyn Output>,
    /// The length of the output.
    written: u64,
    /// The offset behind the last compressed block. Loose blocks follow.
    settled_end: u64,
    /// How many of the first bytes of `pending` are in loose blocks.
    loose_len: usize,
    /// The number in the file of each blob of the catalog.
    numbers: BlobNumbers,
    next_blob: u32,
    /// Open streams, repeated in each segment.
    open: HashMap<StreamId, Box<Open>>,
    frames: u64,
    messages: u64,
    /// The time of the last frame, in microseconds.
    now: u64,
    /// The time at which the recording ends.
    end: Time,
    /// Records that are not compressed yet.
    pending: Vec<u8>,
    /// The length of `pending` up to the last frame.
    framed_len: usize,
    segment: Option<SegmentState>,
    compressor: Compressor,
    missing: Missing,
    /// The newest node of each open stream, for [`Writer::rotate`].
    nodes: HashMap<StreamId, BlobId>,
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

/// The state that ends with a segment.
struct SegmentState {
    bulk: bool,
    raw: usize,
    packed: usize,
    /// The number of the first blob of the segment.
    blobs: u32,
    /// The stream of the last frame.
    stream: StreamId,
    reopened: HashSet<StreamId>,
    lists: Lists,
}

impl Writer {
    /// Writes the header to an output that can only grow.
    ///
    /// Every flush ends a block, so that frequent flushes make a larger file than
    /// [`in_file`](Writer::in_file).
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn new(out: impl Write + Send + 'static, header: Header) -> io::Result<Writer> {
        Writer::over(Box::new(Growing(out)), header)
    }

    /// Writes the header to an empty regular file.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn in_file(file: impl RewritableFile + 'static, header: Header) -> io::Result<Writer> {
        Writer::over(Box::new(Rewritable(file)), header)
    }

    pub(super) fn over(out: Box<dyn Output>, header: Header) -> io::Result<Writer> {
        let mut writer = Writer {
            out,
            written: 0,
            settled_end: 0,
            loose_len: 0,
            numbers: BlobNumbers::default(),
            next_blob: 0,
            open: HashMap::new(),
            frames: 0,
            messages: 0,
            now: 0,
            end: Time::ZERO,
            pending: Vec::new(),
            framed_len: 0,
            segment: None,
            compressor: Compressor(CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?),
            missing: Missing::default(),
            nodes: HashMap::new(),
        };
        writer.put(&header.encode())?;
        writer.settled_end = writer.written;
        Ok(writer)
    }

    /// Writes a frame, and in front of it the content that the file does not hold yet.
    ///
    /// # Errors
    ///
    /// The output can't be written. The frame is then lost; later frames are written as soon as the
    /// output accepts them again.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> io::Result<()> {
        let result = self.catch_up(frame.at).and_then(|()| self.put_frame(frame, Some(catalog)));
        if result.is_err() {
            self.skip(frame);
        }
        result
    }

    /// Encodes a frame. Only messages need the catalog.
    fn put_frame(&mut self, frame: &Frame, catalog: Option<&Catalog>) -> io::Result<()> {
        if let (FramePayload::Message(message), Some(catalog)) = (&frame.what, catalog) {
            self.blobs(message, catalog)?;
        }
        self.make_room()?;
        self.repeat_open(frame);
        let mut record = Vec::new();
        if let FramePayload::Intercepted(what) = &frame.what {
            put_u64(&mut record, 1, frame.stream.0.into());
            encode::intercepted(&mut record, what);
            put_u64(&mut record, 2, (frame.at.0 / 1000).saturating_sub(self.now));
            put_len_field(&mut self.pending, encode::INTERCEPTED, &record);
            self.framed_len = self.pending.len();
            return Ok(());
        }
        self.stream(&mut record, frame.stream);
        let number = match &frame.what {
            FramePayload::Open(open) => {
                encode::open(&mut record, open, true);
                self.open.insert(frame.stream, open.clone());
                encode::OPEN
            }
            FramePayload::Message(message) => {
                self.messages += 1;
                if let Some(node) = message.node().and_then(|node| node.blob) {
                    self.nodes.insert(frame.stream, node);
                }
                if let Some(catalog) = catalog {
                    self.message(&mut record, frame.stream, message, catalog);
                }
                encode::MESSAGE
            }
            FramePayload::Opaque { dir, messages, bytes } => {
                encode::opaque(&mut record, *dir, *messages, *bytes);
                encode::OPAQUE
            }
            FramePayload::Gap { dir, messages, bytes, cause } => {
                encode::gap(&mut record, *messages, *bytes);
                encode::gap_cause(&mut record, *cause);
                encode::gap_dir(&mut record, *dir);
                encode::GAP
            }
            FramePayload::Intercepted(_) => encode::INTERCEPTED,
            FramePayload::End(end) => {
                encode::end(&mut record, end);
                self.open.remove(&frame.stream);
                self.nodes.remove(&frame.stream);
                encode::END
            }
        };
        self.time(&mut record, frame.at);
        put_len_field(&mut self.pending, number, &record);
        self.framed_len = self.pending.len();
        self.frames += 1;
        self.missing.risk(frame);
        Ok(())
    }

    /// Marks the contents of the newest response of each stream and type, and the nodes, as used.
    pub fn mark(&self, used: &mut UsedContent) {
        let segments = self.segment.iter().flat_map(|segment| segment.lists.last.values());
        segments.for_each(|(_, list)| used.list(list));
        self.nodes.values().for_each(|node| used.blob(*node));
    }

    /// Forgets the numbers of contents that the catalog has dropped.
    pub fn forget(&mut self, used: &UsedContent) {
        self.numbers.retain(|id| used.has_blob(id));
    }

    /// Writes everything to the output. Call it at least once a second while frames arrive.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.catch_up(self.end)?;
        if self.out.rewrites() && self.pending.len() < BLOCK_BYTES {
            let result = self.put_loose();
            match &result {
                Ok(()) => self.missing.settle(),
                Err(_) => self.abandon_segment(),
            }
            return result;
        }
        self.pack()?;
        self.out.flush()
    }

    /// Returns the length of the output.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Moves the end of the recording to `now`. Timers run until there.
    pub fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    /// Marks the recording as complete.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.put_finish()
    }

    fn put_finish(&mut self) -> io::Result<()> {
        self.catch_up(self.end)?;
        self.make_room()?;
        let mut record = Vec::new();
        self.time(&mut record, self.end);
        put_len_field(&mut self.pending, encode::FINISH, &record);
        self.pack_in(LAST_BLOCK_BYTES)?;
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

    /// Writes a loose block of what no loose block holds yet.
    fn put_loose(&mut self) -> io::Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        let new = self.pending.get(self.loose_len..).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        let block = block::encode(BlockKind::Loose, segment.raw == 0 && self.loose_len == 0, new, new.len());
        self.put(&block)?;
        self.loose_len = self.pending.len();
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

    /// Ends the segment, because later frames must not refer to what did not reach the file.
    fn abandon_segment(&mut self) {
        if let Some(segment) = self.segment.take() {
            self.numbers.forget_from(segment.blobs);
        }
        self.missing.lose_all();
        self.pending.clear();
        self.framed_len = 0;
        self.loose_len = 0;
        // Part of a block may have been written.
        self.written = self.out.end().unwrap_or(self.written);
        self.settled_end = self.written;
    }

    /// Makes room for a record, in a new segment if the current one is full.
    fn make_room(&mut self) -> io::Result<()> {
        let waiting = self.pending.len();
        let bulk = self.is_bulk();
        match &self.segment {
            // Bulk content starts its own segment, at its own compression level.
            Some(segment) if bulk && !segment.bulk && segment.raw > 0 => self.pack()?,
            Some(segment)
                if segment.packed < SEGMENT_PACKED_BYTES && segment.raw + waiting < SEGMENT_RAW_BYTES =>
            {
                if waiting >= BLOCK_BYTES {
                    self.pack()?;
                }
                return Ok(());
            }
            _ => self.pack()?,
        }
        self.segment = Some(SegmentState {
            bulk: false,
            raw: 0,
            packed: 0,
            blobs: self.next_blob,
            stream: StreamId(0),
            reopened: HashSet::new(),
            lists: Lists::default(),
        });
        let mut start = Vec::new();
        put_u64(&mut start, 1, self.next_blob.into());
        put_u64(&mut start, 2, self.frames);
        put_u64(&mut start, 3, self.messages);
        put_u64(&mut start, 4, self.now);
        put_len_field(&mut self.pending, encode::START, &start);
        Ok(())
    }

    /// Returns whether a large push is being written.
    fn is_bulk(&self) -> bool {
        self.pending.len() - self.framed_len >= BULK_BYTES
    }

    /// Compresses and writes what is pending, in full blocks.
    fn pack(&mut self) -> io::Result<()> {
        self.pack_in(BLOCK_BYTES)
    }

    /// Compresses and writes what is pending, in blocks of this size.
    fn pack_in(&mut self, size: usize) -> io::Result<()> {
        let result = self.try_pack(size);
        self.pending.clear();
        // A large content leaves no memory behind.
        self.pending.shrink_to(MAX_IDLE_BYTES);
        self.framed_len = 0;
        match &result {
            Ok(()) => self.missing.settle(),
            Err(_) => self.abandon_segment(),
        }
        result
    }

    fn try_pack(&mut self, size: usize) -> io::Result<()> {
        let bulk = self.is_bulk();
        let pending = std::mem::take(&mut self.pending);
        // Blocks that replace loose ones, and how much of the loose ones they cover.
        let (mut blocks, mut covered) = (Vec::new(), 0);
        for chunk in pending.chunks(size) {
            let Some(segment) = &mut self.segment else { return Ok(()) };
            let first = segment.raw == 0;
            if first {
                segment.bulk = bulk;
                self.compressor.begin(if bulk { BULK_COMPRESSION_LEVEL } else { COMPRESSION_LEVEL })?;
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
        self.pending = pending;
        Ok(())
    }

    /// Writes a frame's stream if it differs from the previous frame's.
    fn stream(&mut self, record: &mut Vec<u8>, stream: StreamId) {
        if let Some(segment) = self.segment.as_mut().filter(|segment| segment.stream != stream) {
            put_u64(record, 1, stream.0.into());
            segment.stream = stream;
        }
    }

    /// Writes a frame's time last: clock noise compresses better behind a nonce than between
    /// repeated fields.
    fn time(&mut self, record: &mut Vec<u8>, at: Time) {
        let now = at.0 / 1000;
        put_u64(record, 2, now.saturating_sub(self.now));
        self.now = self.now.max(now);
    }

    /// Repeats the open of a stream once per segment.
    fn repeat_open(&mut self, frame: &Frame) {
        let Some(segment) = &mut self.segment else { return };
        if !segment.reopened.insert(frame.stream) || matches!(frame.what, FramePayload::Open(_)) {
            return;
        }
        let Some(open) = self.open.get(&frame.stream).cloned() else { return };
        self.put_again(frame.stream, &open, false);
    }

    fn put_again(&mut self, stream: StreamId, open: &Open, with_node: bool) {
        if let Some(segment) = &mut self.segment {
            segment.reopened.insert(stream);
        }
        let mut record = Vec::new();
        put_u64(&mut record, 1, stream.0.into());
        encode::open(&mut record, open, with_node);
        put_len_field(&mut self.pending, encode::REOPEN, &record);
    }

    /// Writes the content that a message refers to and the file does not hold.
    fn blobs(&mut self, message: &Message, catalog: &Catalog) -> io::Result<()> {
        for segment in &message.segments {
            match segment {
                Segment::Inline(_) => {}
                Segment::Field { blob, .. } | Segment::Run(blob) => self.blob(*blob, catalog)?,
                Segment::List { list, .. } => {
                    for blob in list.blobs() {
                        self.blob(*blob, catalog)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn blob(&mut self, id: BlobId, catalog: &Catalog) -> io::Result<()> {
        if self.numbers.get(id).is_some() {
            return Ok(());
        }
        let blob = catalog.blob(id);
        let payload = match &blob.form {
            BlobForm::Wrapper { wrapper, .. } => wrapper.payload,
            _ => None,
        };
        if let Some(payload) = payload {
            self.blob(payload, catalog)?;
        }
        self.make_room()?;
        let Some(segment) = &self.segment else { return Ok(()) };
        let number = |id: BlobId| self.numbers.get(id);
        let payload_near = payload.is_none_or(|id| number(id).is_some_and(|n| n >= segment.blobs));
        let body = catalog.body(id);
        let has_content = body.is_some() && payload.is_none_or(|id| catalog.body(id).is_some());
        let record = encode::BlobRecord {
            blob,
            texts: catalog.strings(),
            payload: payload.and_then(number).map(|n| self.next_blob - n),
            body: body.as_deref(),
            is_computable: has_content && payload_near && !blob.redacted,
        };
        encode::put_blob(&mut self.pending, encode::BLOB, record);
        self.numbers.set(id, self.next_blob);
        self.next_blob += 1;
        Ok(())
    }

    fn message(&mut self, record: &mut Vec<u8>, stream: StreamId, message: &Message, catalog: &Catalog) {
        let (numbers, next) = (&self.numbers, self.next_blob);
        let back = |id: BlobId| u64::from(numbers.get(id).map_or(0, |n| next - n));
        let mut kept = 0;
        let mut body = Vec::new();
        for segment in &message.segments {
            kept += encode::redacted_len(segment, catalog);
            match segment {
                Segment::Inline(bytes) => put_len_field(&mut body, 6, bytes),
                Segment::Field { number, blob } => encode::field(&mut body, *number, back(*blob)),
                Segment::Run(blob) => put_u64(&mut body, 9, back(*blob)),
                Segment::List { number, list } => {
                    let Some(segment) = &mut self.segment else { continue };
                    let file = |id: BlobId| numbers.get(id).unwrap_or_default();
                    let list = segment.lists.encode(stream, *number, list, catalog, next, file);
                    put_len_field(&mut body, 8, &list);
                }
            }
        }
        encode::message(record, message, (kept != message.size).then_some(message.size));
        record.extend_from_slice(&body);
    }
}

impl Drop for Writer {
    /// Leaves an unfinished but undamaged recording if [`Writer::finish`] was not called.
    fn drop(&mut self) {
        // An error can't be reported here.
        let _ = self.pack().and_then(|()| self.out.flush());
    }
}
