mod session;

use crate::wire::Oversized;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::block::Block;
use super::bodies::{BodyLocation, BodySource, FileBodies};
use super::decode::{self, BlobRecord, ListRecord, MessagePart, SegmentStart, TrafficCounts};
use super::encode;
use crate::wire::content::{Blob, BlobForm, BlobId, Catalog, List, Wrapper};
use crate::wire::event::{StreamId, Sym, Time};
use crate::wire::pb::Fields;
use crate::wire::text::plural;
use crate::wire::{Frame, FramePayload, MessageBuilder, Open, Segment, SharedValues};

/// Frames read at a time: few, so that their memory is reused.
const FRAMES_PER_READ: usize = 64;

/// Most entries of all lists and joined names in one file (1 GiB of them). Lists are differences,
/// so a hostile file of a few kilobytes could ask for any number.
const MAX_LIST_ENTRIES: usize = 1 << 28;

/// Blobs that any file may have. Larger files may have one per compressed byte, because no two are
/// equal.
const MIN_BLOB_LIMIT: u64 = 1 << 20;

/// Frames and header fields that any file may have, and more of them per compressed byte. Equal
/// frames compress well, but their times differ.
const MIN_FRAME_LIMIT: u64 = 1 << 20;
const FRAMES_PER_BYTE: u64 = 16;

/// Limit on messages to the user about lost parts.
const MAX_LOSS_NOTICES: usize = 1000;

/// A region of the file, in file order.
pub(super) enum FileRegion {
    Segment(Vec<u8>, Vec<Block>),
    Damage { at: u64, bytes: u64 },
}

/// The reader of a recording's segments.
pub(super) struct SegmentReader {
    pub(super) bodies: FileBodies,
    /// Regions still to be read.
    queue: VecDeque<FileRegion>,
    /// The segment being read.
    current: Option<SegmentCursor>,
    /// Ranges of blob numbers without gaps, in order. Only damage makes more than one.
    numbers: Vec<BlobRange>,
    /// Stand-ins for lost blobs that messages refer to.
    lost: HashMap<u32, BlobId>,
    pub(super) frames: Vec<Frame>,
    shared: SharedValues,
    notices: Vec<String>,
    open: HashSet<StreamId>,
    /// The position of the next frame.
    now: SegmentStart,
    /// Damage since the last readable segment: the first byte, and how many bytes.
    damage: Option<(u64, u64)>,
    pub(super) cut: Option<(u64, u64)>,
    /// Records that refer to content which no file can hold.
    malformed: u64,
    /// The number of list entries so far.
    entries: usize,
    /// How many more blobs may be read.
    blobs_left: u64,
    /// How many more frames and header fields may be read.
    frames_left: u64,
    /// The name of the file, where a session has several.
    name: Option<String>,
    /// Whether an earlier file may hold content of this one.
    is_continued: bool,
    /// The number of notices about earlier files.
    earlier_notices: usize,
    /// Whether the file had more blobs or frames than allowed.
    pub(super) has_too_much_content: bool,
    finished: bool,
}

/// Blobs whose numbers are consecutive in the file and in the catalog.
struct BlobRange {
    first: u32,
    id: BlobId,
    len: u32,
}

/// The state of one segment.
struct SegmentCursor {
    number: u32,
    raw: Bytes,
    /// How many bytes are read.
    at: usize,
    lists: Vec<Arc<List>>,
    stream: StreamId,
}

fn time(micros: u64) -> Time {
    Time(micros.saturating_mul(1000))
}

fn intern(catalog: &mut Catalog, text: &[u8]) -> Sym {
    catalog.intern(&String::from_utf8_lossy(text))
}

fn secs(micros: u64) -> String {
    format!("+{:.3} s", micros as f64 / 1e6)
}

impl SegmentReader {
    pub(super) fn new(source: Box<dyn BodySource>) -> SegmentReader {
        SegmentReader {
            bodies: FileBodies::new(source),
            queue: VecDeque::new(),
            current: None,
            numbers: Vec::new(),
            lost: HashMap::new(),
            frames: Vec::new(),
            shared: SharedValues::default(),
            notices: Vec::new(),
            open: HashSet::new(),
            now: SegmentStart::default(),
            damage: None,
            cut: None,
            malformed: 0,
            entries: 0,
            blobs_left: MIN_BLOB_LIMIT,
            frames_left: MIN_FRAME_LIMIT,
            has_too_much_content: false,
            name: None,
            is_continued: false,
            earlier_notices: 0,
            finished: false,
        }
    }

    /// Appends a region of the file.
    pub(super) fn push_region(&mut self, then: FileRegion) {
        self.queue.push_back(then);
    }

    /// Reads the next few frames.
    pub(super) fn read_some(&mut self, catalog: &mut Catalog) {
        loop {
            let state = match self.current.take() {
                Some(state) => state,
                None => match self.queue.pop_front() {
                    Some(FileRegion::Segment(raw, blocks)) => self.begin(raw, blocks),
                    Some(FileRegion::Damage { at, bytes }) => {
                        let (_, lost) = self.damage.get_or_insert((at, 0));
                        *lost += bytes;
                        continue;
                    }
                    None => return,
                },
            };
            self.current = self.read_records(state, catalog);
            if self.current.is_some() {
                return;
            }
        }
    }

    fn begin(&mut self, raw: Vec<u8>, blocks: Vec<Block>) -> SegmentCursor {
        let packed: u64 = blocks.iter().map(|block| u64::from(block.packed_len)).sum();
        self.blobs_left += packed;
        self.frames_left += packed * FRAMES_PER_BYTE;
        let raw = Bytes::from(raw);
        let number = self.bodies.add_segment(blocks, raw.clone());
        SegmentCursor { number, raw, at: 0, lists: Vec::new(), stream: StreamId(0) }
    }

    /// Reads on in a segment. Returns the segment if it is not finished.
    fn read_records(&mut self, mut state: SegmentCursor, catalog: &mut Catalog) -> Option<SegmentCursor> {
        let raw = state.raw.clone();
        // The last record may be unfinished.
        for field in Fields::new(raw.get(state.at..)?).map_while(Result::ok) {
            if self.has_too_much_content {
                return None;
            }
            if self.frames.len() >= FRAMES_PER_READ {
                return Some(state);
            }
            state.at += field.raw.len();
            let bytes = field.bytes();
            match field.number {
                encode::START => self.start(decode::start(bytes)),
                encode::BLOB => self.blob(decode::blob(bytes), &state, catalog),
                encode::REOPEN => {
                    let stream = decode::stream_and_micros(bytes).0.unwrap_or(state.stream);
                    if !self.open.contains(&stream) {
                        let open = Open { partial: true, ..decode::open(bytes) };
                        self.frame(stream, FramePayload::Open(Box::new(open)));
                    }
                }
                encode::OPEN..=encode::END => {
                    let (stream, micros) = decode::stream_and_micros(bytes);
                    state.stream = stream.unwrap_or(state.stream);
                    self.now.micros = self.now.micros.saturating_add(micros);
                    self.now.frames += 1;
                    self.now.messages += u64::from(field.number == encode::MESSAGE);
                    match self.payload(field.number, bytes, &mut state, catalog) {
                        Some(what) => self.frame(state.stream, what),
                        None => self.malformed += 1,
                    }
                }
                encode::FINISH => {
                    self.now.micros = self.now.micros.saturating_add(decode::stream_and_micros(bytes).1);
                    self.finished = true;
                }
                _ => {}
            }
        }
        None
    }

    /// Starts a segment, and reports what is missing in front of it.
    fn start(&mut self, start: SegmentStart) {
        let frames = start.frames.saturating_sub(self.now.frames);
        let messages = start.messages.saturating_sub(self.now.messages);
        let (from, to) = (secs(self.now.micros), secs(start.micros));
        let others = frames.saturating_sub(messages);
        let what = format!("{} and {} are lost", plural(messages, "message"), plural(others, "other event"));
        let place = format!("after message {}, between {from} and {to}", self.now.messages);
        let has_room = self.notices.len() < MAX_LOSS_NOTICES;
        match self.damage.take().filter(|_| has_room) {
            Some((at, bytes)) => {
                self.notices.push(format!("damaged at byte {at} ({bytes} bytes skipped): {what} {place}"));
            }
            None if frames > 0 && has_room => {
                self.notices.push(format!("the writer could not write everything: {what} {place}"))
            }
            None => {}
        }
        if start.blobs != self.next_number() {
            // A hostile file may reuse numbers; they refer to the later blobs.
            while self.numbers.pop_if(|run| run.first >= start.blobs).is_some() {}
            if let Some(run) = self.numbers.last_mut() {
                run.len = run.len.min(start.blobs - run.first);
            }
            self.numbers.push(BlobRange { first: start.blobs, id: BlobId(0), len: 0 });
        }
        self.now = start;
    }

    /// Returns the number of the next blob.
    fn next_number(&self) -> u32 {
        self.numbers.last().map_or(0, |run| run.first.saturating_add(run.len))
    }

    /// Assigns the next number to a blob.
    fn assign_number(&mut self, id: BlobId) {
        let first = self.next_number();
        match self.numbers.last_mut() {
            Some(run) if run.len > 0 && run.id.0.checked_add(run.len) == Some(id.0) => run.len += 1,
            // A range without a blob yet.
            Some(run) if run.len == 0 => *run = BlobRange { id, len: 1, ..*run },
            _ => self.numbers.push(BlobRange { first, id, len: 1 }),
        }
    }

    /// Returns the blob of a number, or a stand-in if it is lost; `None` if there can't be one.
    fn id(&mut self, number: u32, catalog: &mut Catalog) -> Option<BlobId> {
        if number >= self.next_number() {
            return None;
        }
        let after = self.numbers.partition_point(|run| run.first <= number);
        let run = after.checked_sub(1).and_then(|at| self.numbers.get(at));
        if let Some(run) = run.filter(|run| number - run.first < run.len) {
            return Some(BlobId(run.id.0 + (number - run.first)));
        }
        if let Some(id) = self.lost.get(&number) {
            return Some(*id);
        }
        self.count_blobs(1)?;
        self.bodies.add_location(BodyLocation::Lost);
        let id = catalog.restore(Blob::new(number.into(), 0, 0, false, BlobForm::Other));
        self.lost.insert(number, id);
        Some(id)
    }

    /// Counts blobs, or aliases of one. Returns `None` if there are too many.
    fn count_blobs(&mut self, blobs: usize) -> Option<()> {
        self.has_too_much_content |= self.blobs_left < blobs as u64;
        self.blobs_left = self.blobs_left.saturating_sub(blobs as u64);
        (!self.has_too_much_content).then_some(())
    }

    fn blob(&mut self, record: BlobRecord<'_>, state: &SegmentCursor, catalog: &mut Catalog) {
        if self.count_blobs(1 + record.aliases.len()).is_none() {
            return;
        }
        let payload = record.payload.and_then(|back| self.id(self.next_number().checked_sub(back)?, catalog));
        let form = match (record.form, record.body.filter(|_| !record.redacted)) {
            (0, Some(body)) => catalog.read_any(body),
            (0, None) => BlobForm::Any {
                type_url: intern(catalog, record.type_url),
                name: intern(catalog, record.name),
            },
            (1, Some(body)) => catalog.read_wrapper(body, record.head, payload, record.in_any),
            (1, None) => {
                let wrapper = Wrapper {
                    name: intern(catalog, record.name),
                    version: intern(catalog, record.version),
                    payload,
                    ttl: record.ttl,
                    aliases: record.aliases.iter().map(|alias| intern(catalog, alias)).collect(),
                    in_any: record.in_any,
                };
                BlobForm::Wrapper { wrapper: Box::new(wrapper), head: record.head }
            }
            _ => BlobForm::Other,
        };
        let (hash, size, kept) = match record.hash {
            Some(hash) => (hash, record.size, record.kept),
            None => {
                let payload = payload.and_then(|id| catalog.body(id));
                let whole = form.join(record.body.unwrap_or_default(), payload.as_deref());
                (catalog.hash(&whole), whole.len() as u32, whole.len() as u32)
            }
        };
        if let Some(id) = Some(hash).filter(|_| self.is_continued).and_then(|hash| catalog.known(hash)) {
            return self.assign_number(id);
        }
        self.bodies.add_location(record.body.map_or(BodyLocation::Lost, |body| BodyLocation::Segment {
            segment: state.number,
            at: (body.as_ptr() as usize).wrapping_sub(state.raw.as_ptr() as usize) as u32,
            len: body.len() as u32,
        }));
        let id = catalog.restore(Blob::new(hash, size, kept, record.redacted, form));
        self.assign_number(id);
    }

    fn frame(&mut self, stream: StreamId, what: FramePayload) {
        let fields = if let FramePayload::Open(open) = &what { open.metadata.len() as u64 } else { 0 };
        let Some(left) = self.frames_left.checked_sub(1 + fields) else {
            self.has_too_much_content = true;
            return;
        };
        self.frames_left = left;
        let at = time(self.now.micros);
        match &what {
            FramePayload::Open(_) => {
                self.open.insert(stream);
            }
            // Every stream is opened, even if its open record is lost.
            _ if self.open.insert(stream) => {
                let open = Box::new(Open { partial: true, ..Open::default() });
                self.frames.push(Frame { at, stream, what: FramePayload::Open(open) });
            }
            _ => {}
        }
        if let FramePayload::End(_) = what {
            self.open.remove(&stream);
        }
        self.frames.push(Frame { at, stream, what });
    }

    fn payload(
        &mut self,
        number: u32,
        bytes: &[u8],
        state: &mut SegmentCursor,
        catalog: &mut Catalog,
    ) -> Option<FramePayload> {
        Some(match number {
            encode::OPEN => FramePayload::Open(Box::new(decode::open(bytes))),
            encode::MESSAGE => return self.message(bytes, state, catalog),
            encode::OPAQUE => {
                let TrafficCounts { dir, messages, bytes, .. } = decode::counts(bytes);
                FramePayload::Opaque { dir, messages, bytes }
            }
            encode::GAP => {
                let TrafficCounts { messages, bytes, cause, .. } = decode::counts(bytes);
                FramePayload::Gap { messages, bytes, cause }
            }
            encode::END => FramePayload::End(Box::new(decode::end(bytes))),
            _ => return None,
        })
    }

    fn message(
        &mut self,
        bytes: &[u8],
        state: &mut SegmentCursor,
        catalog: &mut Catalog,
    ) -> Option<FramePayload> {
        let next = self.next_number();
        let head = decode::message(bytes);
        let mut builder = MessageBuilder::new(head.shape);
        builder.expect(head.parts);
        // One list or run of names is shared with other messages; several are joined.
        let (mut lists, mut runs) = (0, 0);
        for part in decode::parts(bytes) {
            let segment = match part {
                MessagePart::Inline(bytes) => {
                    builder.push_inline(bytes, catalog);
                    continue;
                }
                MessagePart::Field { number, back } => {
                    Segment::Field { number, blob: self.id(next.checked_sub(back)?, catalog)? }
                }
                MessagePart::Run { back } => {
                    let run = self.id(next.checked_sub(back)?, catalog)?;
                    let names = catalog.body(run).map_or(0, |body| body.len() / 2);
                    self.count_joined(&mut runs, names)?;
                    Segment::Run(run)
                }
                MessagePart::List(record) => {
                    let number = record.number;
                    let list = self.list(record, state, catalog)?;
                    self.count_joined(&mut lists, list.len())?;
                    Segment::List { number, list }
                }
            };
            builder.push_segment(segment, catalog);
        }
        let mut message = match builder.finish(catalog) {
            Ok(message) => message,
            Err(Oversized { cause, bytes }) => {
                return Some(FramePayload::Gap { messages: 1, bytes: head.size.unwrap_or(bytes), cause });
            }
        };
        self.shared.share(&mut message);
        message.redacted |= head.redacted;
        message.size = head.size.unwrap_or(message.size);
        Some(FramePayload::Message(Arc::new(message)))
    }

    fn list(
        &mut self,
        record: ListRecord<'_>,
        state: &mut SegmentCursor,
        catalog: &mut Catalog,
    ) -> Option<Arc<List>> {
        let back = |back: u32| state.lists.get(state.lists.len().checked_sub(back as usize)?);
        if let Some(same) = record.same {
            return back(same).cloned();
        }
        let base = match record.base {
            Some(base) => Some(back(base)?.clone()),
            None => None,
        };
        let numbers = decode::ids(record.ids, self.next_number());
        let ids = numbers.map(|number| self.id(number, catalog)).collect::<Option<Vec<_>>>()?;
        let script = super::list::ListEdit { runs: record.runs, ids, order: record.order.to_vec() };
        let blobs = script.apply(base.as_ref().map(|list| list.blobs()))?;
        self.count_entries(blobs.len())?;
        let list = catalog.intern_list(blobs);
        if let Some(base) = base {
            list.add_up_from(&base, catalog);
        }
        state.lists.push(list.clone());
        Some(list)
    }

    /// Counts the entries that a message joins to its first `joined` ones.
    fn count_joined(&mut self, joined: &mut usize, entries: usize) -> Option<()> {
        if *joined > 0 {
            self.count_entries(*joined + entries)?;
        }
        *joined += entries;
        Some(())
    }

    /// Counts entries. Returns `None` if there are too many.
    fn count_entries(&mut self, entries: usize) -> Option<()> {
        self.entries = self.entries.saturating_add(entries);
        (self.entries <= MAX_LIST_ENTRIES).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::Header;
    use super::*;
    use crate::wire::pb::put_len_field;

    /// Encodes a message with a list of two entries, repeated `again` times.
    fn message(again: usize) -> Vec<u8> {
        let mut message = vec![0x18, 1];
        put_len_field(&mut message, 8, &[0x2a, 2, 1, 0]);
        for _ in 0..again {
            put_len_field(&mut message, 8, &[0x10, 1]);
        }
        message
    }

    fn read(entries: usize, again: usize) -> Option<FramePayload> {
        let mut reader = SegmentReader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.entries = entries;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut state =
            SegmentCursor { number: 0, raw: Bytes::new(), at: 0, lists: Vec::new(), stream: StreamId(1) };
        reader.blob(decode::blob(b""), &state, &mut catalog);
        reader.message(&message(again), &mut state, &mut catalog)
    }

    /// Reads a highly compressed segment of this many blobs.
    fn blobs(left: u64, blobs: usize) -> (u64, Vec<String>) {
        let mut reader = SegmentReader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.blobs_left = left;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut raw = Vec::new();
        for _ in 0..blobs {
            put_len_field(&mut raw, encode::BLOB, b"");
        }
        let block = Block {
            offset: 0,
            packed_len: 5,
            raw_len: raw.len() as u32,
            starts_segment: true,
            is_loose: false,
        };
        reader.push_region(FileRegion::Segment(raw, vec![block]));
        reader.read_some(&mut catalog);
        (catalog.blob_count() as u64, reader.finish(&Header::default()).1)
    }

    #[test]
    fn limits_blobs_by_file_size() {
        let (all, notices) = blobs(2, 7);
        assert!(all == 7 && notices.iter().all(|text| !text.contains("decompresses to more")), "{notices:?}");
        let (some, notices) = blobs(2, 8);
        assert!(some == 7 && notices.iter().any(|text| text.contains("decompresses to more")), "{notices:?}");
    }

    #[test]
    fn limits_frames_and_notices_by_file_size() {
        let read = |record: &dyn Fn(&mut Vec<u8>, u64)| {
            let mut reader = SegmentReader::new(Box::new(std::io::Cursor::new(Vec::new())));
            reader.frames_left = 1000;
            let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
            let mut raw = Vec::new();
            (1..5000).for_each(|n| record(&mut raw, n));
            reader.push_region(FileRegion::Segment(raw, Vec::new()));
            let mut frames = 0;
            loop {
                reader.read_some(&mut catalog);
                if reader.frames.is_empty() {
                    break;
                }
                frames += reader.frames.drain(..).count();
            }
            (frames, reader.finish(&Header::default()).1)
        };
        let (frames, notices) = read(&|raw, _| put_len_field(raw, encode::OPEN, b""));
        assert!(frames == 1000 && notices.iter().any(|text| text.contains("decompresses to more")));
        let fields = [0x32, 0].repeat(99);
        let (frames, _) = read(&|raw, _| put_len_field(raw, encode::OPEN, &fields));
        assert_eq!(frames, 10);
        let (_, notices) = read(&|raw, n| {
            put_len_field(raw, encode::START, &[0x10, (n % 128) as u8 | 0x80, (n / 128) as u8]);
        });
        assert!(notices.len() <= MAX_LOSS_NOTICES + 2, "{} notices", notices.len());
    }

    #[test]
    fn resolves_blob_numbers_across_loss_and_reuse() {
        let mut reader = SegmentReader::new(Box::new(std::io::Cursor::new(Vec::new())));
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let state =
            SegmentCursor { number: 0, raw: Bytes::new(), at: 0, lists: Vec::new(), stream: StreamId(1) };
        let blobs = |reader: &mut SegmentReader, catalog: &mut Catalog, start: u32, count: usize| {
            reader.start(SegmentStart { blobs: start, ..SegmentStart::default() });
            (0..count).for_each(|_| reader.blob(decode::blob(b""), &state, catalog));
        };
        blobs(&mut reader, &mut catalog, 0, 3);
        blobs(&mut reader, &mut catalog, 5, 2);
        let ids = |reader: &mut SegmentReader, catalog: &mut Catalog| -> Vec<Option<u32>> {
            (0..8).map(|number| Some(reader.id(number, catalog)?.0)).collect()
        };
        // Numbers 3 and 4 are lost; their stand-ins come last.
        let all = [0, 1, 2, 5, 6, 3, 4].map(Some);
        assert_eq!(ids(&mut reader, &mut catalog)[..7], all);
        assert_eq!(ids(&mut reader, &mut catalog)[7], None);
        blobs(&mut reader, &mut catalog, 7, 1);
        assert_eq!(ids(&mut reader, &mut catalog)[..8], [0, 1, 2, 5, 6, 3, 4, 7].map(Some));
        // A hostile file numbers backwards.
        blobs(&mut reader, &mut catalog, 1, 1);
        assert_eq!(ids(&mut reader, &mut catalog)[..3], [Some(0), Some(8), None]);
    }

    #[test]
    fn limits_list_entries() {
        assert!(read(MAX_LIST_ENTRIES - 2, 0).is_some());
        assert!(read(MAX_LIST_ENTRIES - 1, 0).is_none());
        // Joining two lists counts their four entries again.
        assert!(read(MAX_LIST_ENTRIES - 6, 1).is_some());
        assert!(read(MAX_LIST_ENTRIES - 5, 1).is_none());
    }
}
