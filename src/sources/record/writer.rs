use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use zstd::zstd_safe::{
    self, CCtx, CParameter, InBuffer, OutBuffer, ResetDirective, zstd_sys::ZSTD_EndDirective,
};

use super::block::{self, Kind};
use super::encode;
use super::header::{Header, put_u64};
use super::list;
use super::output::{Growing, Output};
use crate::wire::content::{BlobId, Catalog, Form, List};
use crate::wire::event::{StreamId, Sym, Time};
use crate::wire::pb::put_len_field;
use crate::wire::{Frame, FramePayload, Message, Open, Segment};

/// A block is written when this much waits, or when [`Writer::flush`] is called.
const BLOCK: usize = 128 << 10;
/// The last blocks of a recording are smaller: many a file has but one, and one that was copied in part shall not be
/// empty.
const LAST: usize = 16 << 10;
/// A segment ends at this much unpacked: a body far back is read by unpacking its segment.
const SEGMENT_RAW: usize = 2 << 20;
/// A segment ends at this much packed, give or take a block: the most that one damaged byte can cost.
const SEGMENT_PACKED: usize = 192 << 10;
/// 3 is faster, but packs small messages up to a fifth worse (and 5, a twentieth); only new content costs time.
const LEVEL: i32 = 6;
/// Of a segment that begins with the new content of one push, this much of it: there the cost is felt.
const LEVEL_BULK: i32 = 1;
const BULK: usize = BLOCK / 2;
/// Shorter lists are no base for others.
const BASE: usize = 8;

/// Records the frames of one source. What is written before a [`flush`](Writer::flush) is in the file for good.
pub struct Writer {
    out: Box<dyn Output>,
    /// Length of the output.
    written: u64,
    /// Where its packed blocks end; loose ones follow.
    settled: u64,
    /// So many of the first bytes of `pending` are in the loose blocks.
    loose: usize,
    /// File number of each of the catalog's blobs that is in the file.
    numbers: Numbers,
    next_blob: u32,
    /// Streams that are open, for repeating them in each segment.
    open: HashMap<StreamId, Box<Open>>,
    frames: u64,
    messages: u64,
    /// Of the last frame, in microseconds.
    now: u64,
    /// Where the clock stops.
    end: Time,
    /// Records that are not packed yet.
    pending: Vec<u8>,
    /// How much of them the last frame and what stands before it are.
    framed: usize,
    segment: Option<SegmentState>,
    packer: Packer,
}

/// Packs the blocks of a segment as one stream. Its tables are some megabytes, which are taken once and not for each
/// segment.
struct Packer(CCtx<'static>);

impl Packer {
    fn begin(&mut self, level: i32) -> io::Result<()> {
        self.0.reset(ResetDirective::SessionOnly).map_err(failed)?;
        self.0.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        Ok(())
    }

    /// All of `raw`, so that it can be unpacked with what came before it.
    fn pack(&mut self, raw: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(raw.len()) + FRAME_HEADER);
        let (mut from, mut to) = (InBuffer::around(raw), OutBuffer::around(&mut packed));
        let flush = ZSTD_EndDirective::ZSTD_e_flush;
        match self.0.compress_stream2(&mut to, &mut from, flush).map_err(failed)? {
            0 => Ok(packed),
            left => Err(io::Error::other(format!("zstd: {left} bytes too many"))),
        }
    }
}

/// The most that stands in front of the first block.
const FRAME_HEADER: usize = 18;

fn failed(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

#[derive(Default)]
struct Numbers(Vec<Option<u32>>);

impl Numbers {
    fn get(&self, id: BlobId) -> Option<u32> {
        self.0.get(id.0 as usize).copied().flatten()
    }

    fn set(&mut self, id: BlobId, number: u32) {
        let at = id.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(number);
    }
}

/// What is forgotten when a segment ends.
struct SegmentState {
    bulk: bool,
    raw: usize,
    packed: usize,
    /// The first blob number that is in this segment.
    blobs: u32,
    /// Of the last frame.
    stream: StreamId,
    mentioned: HashSet<StreamId>,
    lists: Lists,
}

/// Lists that the segment holds.
#[derive(Default)]
struct Lists {
    count: u32,
    by_fingerprint: HashMap<u128, u32>,
    /// The last list of a type, of one stream and of any (stream 0): what the next one is compared with.
    last: HashMap<(StreamId, Sym), (u32, Arc<List>)>,
}

impl Writer {
    /// Writes the header to an output that can only grow. Each flush then packs what there is, so many small ones
    /// make a larger file than [`in_file`](Writer::in_file) does.
    pub fn new(out: impl Write + Send + 'static, header: Header) -> io::Result<Writer> {
        Writer::over(Box::new(Growing(out)), header)
    }

    /// Writes the header to an empty file.
    pub fn in_file(file: File, header: Header) -> io::Result<Writer> {
        match file.metadata()?.is_file() {
            true => Writer::over(Box::new(file), header),
            false => Writer::new(file, header),
        }
    }

    pub(super) fn over(out: Box<dyn Output>, header: Header) -> io::Result<Writer> {
        let mut writer = Writer {
            out,
            written: 0,
            settled: 0,
            loose: 0,
            numbers: Numbers::default(),
            next_blob: 0,
            open: HashMap::new(),
            frames: 0,
            messages: 0,
            now: 0,
            end: Time::ZERO,
            pending: Vec::new(),
            framed: 0,
            segment: None,
            packer: Packer(CCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?),
        };
        writer.put(&header.encode())?;
        writer.settled = writer.written;
        Ok(writer)
    }

    /// Takes the next frame. Content that the file does not hold yet is written in front of it. After an
    /// error the frame is lost; the next ones are written where the output takes them again.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> io::Result<()> {
        if let FramePayload::Message(message) = &frame.what {
            self.blobs(message, catalog)?;
        }
        self.room()?;
        self.mention(frame);
        let mut record = Vec::new();
        self.stream(&mut record, frame.stream);
        let number = match &frame.what {
            FramePayload::Open(open) => {
                encode::open(&mut record, open, true);
                self.open.insert(frame.stream, open.clone());
                encode::OPEN
            }
            FramePayload::Message(message) => {
                self.messages += 1;
                self.message(&mut record, frame.stream, message, catalog);
                encode::MESSAGE
            }
            FramePayload::Opaque { dir, messages, bytes } => {
                encode::opaque(&mut record, *dir, *messages, *bytes);
                encode::OPAQUE
            }
            FramePayload::Gap { messages, bytes } => {
                encode::gap(&mut record, *messages, *bytes);
                encode::GAP
            }
            FramePayload::End(end) => {
                encode::end(&mut record, end);
                self.open.remove(&frame.stream);
                encode::END
            }
        };
        self.time(&mut record, frame.at);
        put_len_field(&mut self.pending, number, &record);
        self.framed = self.pending.len();
        self.frames += 1;
        Ok(())
    }

    /// Hands everything to the output. Call it at least once a second while frames come.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.out.rewrites() && self.pending.len() < BLOCK {
            let result = self.put_loose();
            if result.is_err() {
                self.forget();
            }
            return result;
        }
        self.pack()?;
        self.out.flush()
    }

    /// Length of the output, less what waits.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Moves the recording's clock on without a frame: where it stops, timers stop.
    pub fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    /// Marks the recording as complete.
    pub fn finish(mut self) -> io::Result<()> {
        self.room()?;
        let mut record = Vec::new();
        self.time(&mut record, self.end);
        put_len_field(&mut self.pending, encode::FINISH, &record);
        self.pack_in(LAST)?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_at(self.written, bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes as it is what no loose block holds yet.
    fn put_loose(&mut self) -> io::Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        let new = self.pending.get(self.loose..).unwrap_or_default();
        if new.is_empty() {
            return Ok(());
        }
        let block = block::encode(Kind::Loose, segment.raw == 0 && self.loose == 0, new, new.len());
        self.put(&block)?;
        self.loose = self.pending.len();
        Ok(())
    }

    /// Puts packed blocks into the place of the loose ones. Whenever this is cut off, either they or the blocks are
    /// in the file, whole: those are written behind them first, as one.
    fn settle(&mut self, blocks: &[u8]) -> io::Result<()> {
        let home = self.settled;
        let end = home + blocks.len() as u64;
        let moving = block::encode(Kind::Moving(home), true, blocks, blocks.len());
        self.out.write_at(self.written.max(end), &moving)?;
        self.out.write_at(home, blocks)?;
        self.out.cut(end)?;
        self.written = end;
        self.loose = 0;
        Ok(())
    }

    /// What did not reach the file would be missing in what follows it; a new segment needs it not.
    fn forget(&mut self) {
        self.segment = None;
        self.pending.clear();
        self.framed = 0;
        self.loose = 0;
        // Part of a block may be there.
        self.written = self.out.end().unwrap_or(self.written);
        self.settled = self.written;
    }

    /// Makes room for a record: a new segment where the last one is full.
    fn room(&mut self) -> io::Result<()> {
        let waiting = self.pending.len();
        let bulk = self.is_bulk();
        match &self.segment {
            // Where bulk begins, one that is packed for small frames ends.
            Some(segment) if bulk && !segment.bulk && segment.raw > 0 => self.pack()?,
            Some(segment) if segment.packed < SEGMENT_PACKED && segment.raw + waiting < SEGMENT_RAW => {
                if waiting >= BLOCK {
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
            mentioned: HashSet::new(),
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

    /// A large push is being written.
    fn is_bulk(&self) -> bool {
        self.pending.len() - self.framed >= BULK
    }

    /// Packs and writes what waits.
    fn pack(&mut self) -> io::Result<()> {
        self.pack_in(BLOCK)
    }

    /// The same in blocks of this size.
    fn pack_in(&mut self, size: usize) -> io::Result<()> {
        let result = self.try_pack(size);
        self.pending.clear();
        self.framed = 0;
        if result.is_err() {
            self.forget();
        }
        result
    }

    fn try_pack(&mut self, size: usize) -> io::Result<()> {
        let bulk = self.is_bulk();
        let pending = std::mem::take(&mut self.pending);
        // What takes the place of loose blocks, and how much of them.
        let (mut blocks, mut covered) = (Vec::new(), 0);
        for chunk in pending.chunks(size) {
            let Some(segment) = &mut self.segment else { return Ok(()) };
            let first = segment.raw == 0;
            if first {
                segment.bulk = bulk;
                self.packer.begin(if bulk { LEVEL_BULK } else { LEVEL })?;
            }
            let packed = self.packer.pack(chunk)?;
            segment.raw += chunk.len();
            segment.packed += packed.len();
            let block = block::encode(Kind::Packed, first, &packed, chunk.len());
            if self.loose == 0 {
                self.put(&block)?;
            } else {
                blocks.extend_from_slice(&block);
                covered += chunk.len();
                if covered < self.loose {
                    continue;
                }
                self.settle(&blocks)?;
            }
            self.settled = self.written;
        }
        self.pending = pending;
        Ok(())
    }

    /// A frame's stream, where it is not that of the last one.
    fn stream(&mut self, record: &mut Vec<u8>, stream: StreamId) {
        if let Some(segment) = self.segment.as_mut().filter(|segment| segment.stream != stream) {
            put_u64(record, 1, stream.0.into());
            segment.stream = stream;
        }
    }

    /// Stands last in a record: times are noise, and after a nonce they cost less than between what repeats.
    fn time(&mut self, record: &mut Vec<u8>, at: Time) {
        let now = at.0 / 1000;
        put_u64(record, 2, now.saturating_sub(self.now));
        self.now = self.now.max(now);
    }

    /// Says once a segment what a stream is.
    fn mention(&mut self, frame: &Frame) {
        let Some(segment) = &mut self.segment else { return };
        if !segment.mentioned.insert(frame.stream) || matches!(frame.what, FramePayload::Open(_)) {
            return;
        }
        let Some(open) = self.open.get(&frame.stream).cloned() else { return };
        let mut record = Vec::new();
        put_u64(&mut record, 1, frame.stream.0.into());
        encode::open(&mut record, &open, false);
        put_len_field(&mut self.pending, encode::AGAIN, &record);
    }

    /// Writes what the message refers to and the file does not hold.
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
            Form::Wrapper { wrapper, .. } => wrapper.payload,
            _ => None,
        };
        if let Some(payload) = payload {
            self.blob(payload, catalog)?;
        }
        self.room()?;
        let Some(segment) = &self.segment else { return Ok(()) };
        let number = |id: BlobId| self.numbers.get(id);
        let payload_near = payload.is_none_or(|id| number(id).is_some_and(|n| n >= segment.blobs));
        let body = catalog.body(id);
        let whole = body.is_some() && payload.is_none_or(|id| catalog.body(id).is_some());
        let record = encode::blob(encode::BlobRecord {
            blob,
            texts: catalog.strings(),
            payload: payload.and_then(number).map(|n| self.next_blob - n),
            body: body.as_deref(),
            follows: whole && payload_near && !blob.redacted,
        });
        put_len_field(&mut self.pending, encode::BLOB, &record);
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
            kept += encode::kept(segment, catalog);
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

impl Lists {
    /// One list of a message. `next` is the next blob's number, `file` the number of a blob in the file.
    fn encode(
        &mut self,
        stream: StreamId,
        field: u32,
        list: &Arc<List>,
        catalog: &Catalog,
        next: u32,
        file: impl Fn(BlobId) -> u32,
    ) -> Vec<u8> {
        let type_url = list.blobs().first().map_or(Sym::EMPTY, |id| catalog.entry(*id).type_url);
        let keys = [(stream, type_url), (StreamId(0), type_url)];
        let (known, record) = match self.by_fingerprint.get(&list.fingerprint()) {
            Some(known) => (*known, encode::same_list(field, self.count - known)),
            None => {
                let base = keys.iter().find_map(|key| self.last.get(key));
                let script = list::diff(base.map(|(_, list)| list.blobs()), list.blobs());
                // Without runs the script is a literal, whatever it was compared with.
                let back = base.filter(|_| !script.runs.is_empty()).map(|(n, _)| self.count - n);
                let ids = script.ids.iter().map(|id| file(*id));
                let record = encode::list(field, back, &script.runs, ids, &script.order, next);
                self.by_fingerprint.insert(list.fingerprint(), self.count);
                self.count += 1;
                (self.count - 1, record)
            }
        };
        if list.len() >= BASE {
            for key in keys {
                self.last.insert(key, (known, list.clone()));
            }
        }
        record
    }
}

impl Drop for Writer {
    /// A writer that is dropped without [`Writer::finish`] leaves an unfinished recording, but a whole one.
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.pack().and_then(|()| self.out.flush());
    }
}
