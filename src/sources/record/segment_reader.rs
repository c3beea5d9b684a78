mod blob_ids;
mod dropped;
mod session;

pub use session::UNFINISHED;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use xdscope_wire::Oversized;

use bytes::Bytes;

use super::block::Block;
use super::bodies::{BodyLocation, FileBodies};
use super::decode::{self, BlobRecord, ListRecord, MessagePart, SegmentStart, TrafficCounts};
use super::encode;
use blob_ids::{BlobIds, BlobPlace};
use dropped::SegmentIndexes;
use xdscope_wire::content::{Blob, BlobForm, BlobId, Catalog, List, Wrapper};
use xdscope_wire::event::{StreamId, Sym, Time};
use xdscope_wire::pb::Fields;
use xdscope_wire::text::plural;
use xdscope_wire::{Frame, FramePayload, MessageBuilder, Open, Segment, SharedValues};

/// Frames read at a time: few, so that their memory is reused.
const FRAMES_PER_READ: usize = 64;

/// Entries of all lists and joined names that any file may have (64 MiB of them), and more of them
/// per compressed byte. Lists are differences, so a hostile file of a few kilobytes could ask for
/// any number; a push of 262,144 resources with one change has 2,000 per byte.
pub const MIN_ENTRY_LIMIT: u64 = 1 << 24;
const ENTRIES_PER_BYTE: u64 = 4096;

/// Blobs that any file may have. Larger files may have one per compressed byte, because no two are
/// equal.
pub const MIN_BLOB_LIMIT: u64 = 1 << 20;

/// Frames and header fields that any file may have, and more of them per compressed byte. Equal
/// frames compress well, but their times differ.
pub const MIN_FRAME_LIMIT: u64 = 1 << 20;
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
    /// The bodies in the file; `None`: the catalog has them in memory.
    bodies: Option<FileBodies>,
    /// Regions still to be read.
    queue: VecDeque<FileRegion>,
    /// The segment being read.
    current: Option<SegmentCursor>,
    /// The lists of the segment.
    lists: Vec<Arc<List>>,
    /// The stream of the segment's last frame.
    stream: StreamId,
    /// The blobs by number.
    ids: BlobIds,
    /// Places of blobs in segments that were read again.
    indexes: SegmentIndexes,
    /// Stand-ins for lost blobs that messages refer to.
    lost: HashMap<u32, BlobId>,
    pub(super) frames: Vec<Frame>,
    shared: SharedValues,
    notices: Vec<String>,
    open: HashSet<StreamId>,
    /// The position of the next frame.
    now: SegmentStart,
    /// Messages in front of the newest segments that their writer counted and could not hand on.
    skipped: u64,
    /// Damage since the last readable segment: the first byte, and how many bytes.
    damage: Option<(u64, u64)>,
    pub(super) cut: Option<(u64, u64)>,
    /// Records that refer to content which no file can hold.
    malformed: u64,
    /// How many more entries of lists may be read.
    entries_left: u64,
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

/// A position in the records of a segment.
struct SegmentCursor {
    number: u32,
    raw: Bytes,
    /// How many bytes are read.
    at: usize,
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
    /// Creates a reader of a file, whose bodies stay there.
    pub(super) fn new(bodies: FileBodies) -> SegmentReader {
        SegmentReader {
            bodies: Some(bodies),
            queue: VecDeque::new(),
            current: None,
            lists: Vec::new(),
            stream: StreamId(0),
            ids: BlobIds::default(),
            indexes: SegmentIndexes::default(),
            lost: HashMap::new(),
            frames: Vec::new(),
            shared: SharedValues::default(),
            notices: Vec::new(),
            open: HashSet::new(),
            now: SegmentStart::default(),
            skipped: 0,
            damage: None,
            cut: None,
            malformed: 0,
            entries_left: MIN_ENTRY_LIMIT,
            blobs_left: MIN_BLOB_LIMIT,
            frames_left: MIN_FRAME_LIMIT,
            has_too_much_content: false,
            name: None,
            is_continued: false,
            earlier_notices: 0,
            finished: false,
        }
    }

    /// Creates a reader of records from this process: without limits, and with the bodies in the
    /// catalog. Contents that the catalog knows already are joined with those.
    pub(super) fn of_journal() -> SegmentReader {
        let reader = SegmentReader::new(FileBodies::new(Box::new(std::io::empty())));
        SegmentReader {
            bodies: None,
            is_continued: true,
            entries_left: u64::MAX,
            blobs_left: u64::MAX,
            frames_left: u64::MAX,
            ..reader
        }
    }

    /// Goes on with records that follow those that were read.
    pub(super) fn go_on(&mut self, records: Bytes) {
        self.current = Some(SegmentCursor { number: 0, raw: records, at: 0 });
    }

    /// Returns the messages in front of the newest segments that are lost, since the last call.
    pub(super) fn take_skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
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
            if self.bodies.is_some() {
                self.lists.clear();
            }
        }
    }

    fn begin(&mut self, raw: Vec<u8>, blocks: Vec<Block>) -> SegmentCursor {
        let packed: u64 = blocks.iter().map(|block| u64::from(block.packed_len)).sum();
        self.blobs_left += packed;
        self.frames_left += packed * FRAMES_PER_BYTE;
        self.entries_left = self.entries_left.saturating_add(packed * ENTRIES_PER_BYTE);
        let raw = Bytes::from(raw);
        let number = self.bodies.as_ref().map_or(0, |bodies| bodies.add_segment(blocks, raw.clone()));
        self.ids.begin_segment(number);
        self.stream = StreamId(0);
        SegmentCursor { number, raw, at: 0 }
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
                    let stream = decode::stream_and_micros(bytes).0.unwrap_or(self.stream);
                    if !self.open.contains(&stream) {
                        let open = Open { partial: true, ..decode::open(bytes) };
                        self.frame(stream, FramePayload::Open(Box::new(open)));
                    }
                }
                encode::OPEN..=encode::END => {
                    let (stream, micros) = decode::stream_and_micros(bytes);
                    self.stream = stream.unwrap_or(self.stream);
                    self.now.micros = self.now.micros.saturating_add(micros);
                    self.now.frames += 1;
                    self.now.messages += u64::from(field.number == encode::MESSAGE);
                    match self.payload(field.number, bytes, catalog) {
                        Some(what) => self.frame(self.stream, what),
                        None => self.malformed += 1,
                    }
                }
                encode::INTERCEPTED => {
                    let (stream, micros) = decode::stream_and_micros(bytes);
                    // Later readers may know more kinds.
                    if let Some((stream, what)) = stream.zip(decode::intercepted(bytes)) {
                        let at = self.now.micros.saturating_add(micros);
                        self.frame_at(at, stream, FramePayload::Intercepted(Box::new(what.kept(catalog))));
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
        self.skipped += messages;
        let (from, to) = (secs(self.now.micros), secs(start.micros));
        let others = frames.saturating_sub(messages);
        let what = format!("{} and {} are lost", plural(messages, "message"), plural(others, "other event"));
        let place = format!("after message {}, between {from} and {to}", self.now.messages);
        let cause = match self.damage.take() {
            Some((at, bytes)) => Some(format!("damaged at byte {at} ({bytes} bytes skipped)")),
            None if frames > 0 => Some("the writer could not write everything".to_owned()),
            None => None,
        };
        if let Some(cause) = cause
            && self.notices.len() < MAX_LOSS_NOTICES
        {
            self.notices.push(format!("{cause}: {what} {place}"));
        }
        if self.bodies.is_none() {
            // A segment of a journal refers to nothing before it.
            self.ids.clear();
            self.lost.clear();
            self.notices.clear();
        }
        self.lists.clear();
        self.stream = StreamId(0);
        self.ids.start(start.blobs);
        self.now = start;
    }

    /// Returns the blob of a number, or a stand-in if it is lost; `None` if there can't be one.
    fn id(&mut self, number: u32, catalog: &mut Catalog) -> Option<BlobId> {
        match self.ids.find(number) {
            BlobPlace::Known(id) => return Some(id),
            BlobPlace::Never => return None,
            BlobPlace::Dropped { segment } => {
                if let Some(id) = self.read_again(number, segment, catalog) {
                    return Some(id);
                }
            }
            BlobPlace::Lost => {}
        }
        if let Some(id) = self.lost.get(&number) {
            return Some(*id);
        }
        self.count_blobs(1)?;
        let blob = Blob::new(number.into(), 0, 0, false, BlobForm::Other);
        let id = match &self.bodies {
            Some(bodies) => {
                bodies.add_location(BodyLocation::Lost);
                catalog.restore(blob)
            }
            None => catalog.restore_with_body(blob, &[]),
        };
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
        let payload = record.payload.and_then(|back| self.id(self.ids.next().checked_sub(back)?, catalog));
        let blob = blob_of(&record, payload, catalog);
        if self.is_continued
            && let Some(id) = catalog.known(blob.hash)
        {
            return self.ids.assign(id);
        }
        let payload_body = if let BlobForm::Any { .. } = blob.form { record.body } else { None };
        let id = match &self.bodies {
            Some(bodies) => {
                bodies.add_location(body_location(&record, state.number, &state.raw));
                catalog.restore(blob)
            }
            None => catalog.restore_with_body(blob, record.body.unwrap_or_default()),
        };
        if let Some(body) = payload_body {
            catalog.note_read(id, body);
        }
        self.ids.assign(id);
    }

    fn frame(&mut self, stream: StreamId, what: FramePayload) {
        self.frame_at(self.now.micros, stream, what);
    }

    fn frame_at(&mut self, micros: u64, stream: StreamId, what: FramePayload) {
        let fields = if let FramePayload::Open(open) = &what { open.metadata.len() as u64 } else { 0 };
        let Some(left) = self.frames_left.checked_sub(1 + fields) else {
            self.has_too_much_content = true;
            return;
        };
        self.frames_left = left;
        let at = time(micros);
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

    fn payload(&mut self, number: u32, bytes: &[u8], catalog: &mut Catalog) -> Option<FramePayload> {
        Some(match number {
            encode::OPEN => FramePayload::Open(Box::new(decode::open(bytes))),
            encode::MESSAGE => return self.message(bytes, catalog),
            encode::OPAQUE => {
                let TrafficCounts { dir, messages, bytes, .. } = decode::counts(bytes);
                FramePayload::Opaque { dir, messages, bytes }
            }
            encode::GAP => {
                let TrafficCounts { gap_dir: dir, messages, bytes, cause, .. } = decode::counts(bytes);
                FramePayload::Gap { dir, messages, bytes, cause }
            }
            encode::END => FramePayload::End(Box::new(decode::end(bytes))),
            _ => return None,
        })
    }

    fn message(&mut self, bytes: &[u8], catalog: &mut Catalog) -> Option<FramePayload> {
        let next = self.ids.next();
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
                    let list = self.list(record, catalog)?;
                    self.count_joined(&mut lists, list.len())?;
                    Segment::List { number, list }
                }
            };
            builder.push_segment(segment, catalog);
        }
        let mut message = match builder.finish(catalog) {
            Ok(message) => message,
            Err(Oversized { cause, bytes }) => {
                let (dir, bytes) = (Some(head.shape.dir()), head.size.unwrap_or(bytes));
                return Some(FramePayload::Gap { dir, messages: 1, bytes, cause });
            }
        };
        self.shared.share(&mut message);
        message.redacted |= head.redacted;
        message.size = head.size.unwrap_or(message.size);
        Some(FramePayload::Message(Arc::new(message)))
    }

    fn list(&mut self, record: ListRecord<'_>, catalog: &mut Catalog) -> Option<Arc<List>> {
        let back = |back: u32| self.lists.get(self.lists.len().checked_sub(back as usize)?);
        if let Some(same) = record.same {
            return back(same).cloned();
        }
        let base = match record.base {
            Some(base) => Some(back(base)?.clone()),
            None => None,
        };
        let numbers: Vec<u32> = decode::ids(record.ids, self.ids.next()).collect();
        self.read_all_again(&numbers, catalog);
        let ids = numbers.into_iter().map(|number| self.id(number, catalog)).collect::<Option<Vec<_>>>()?;
        let script = super::list::ListEdit { runs: record.runs, ids, order: record.order.to_vec() };
        let blobs = script.apply(base.as_ref().map(|list| list.blobs()))?;
        self.count_entries(blobs.len())?;
        let list = catalog.intern_list(blobs);
        if let Some(base) = base {
            list.derive_from(&base, catalog);
        }
        self.lists.push(list.clone());
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
        self.has_too_much_content |= self.entries_left < entries as u64;
        self.entries_left = self.entries_left.saturating_sub(entries as u64);
        (!self.has_too_much_content).then_some(())
    }
}

/// Returns the blob of a record.
fn blob_of(record: &BlobRecord<'_>, payload: Option<BlobId>, catalog: &mut Catalog) -> Blob {
    let whole_body = if record.redacted { None } else { record.body };
    let form = match (record.form, whole_body) {
        (0, Some(body)) => catalog.read_any(body),
        (0, None) => {
            BlobForm::Any { type_url: intern(catalog, record.type_url), name: intern(catalog, record.name) }
        }
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
    Blob::new(hash, size, kept, record.redacted, form)
}

/// Returns the location of the body of a blob in a segment.
fn body_location(record: &BlobRecord<'_>, segment: u32, raw: &Bytes) -> BodyLocation {
    record.body.map_or(BodyLocation::Lost, |body| BodyLocation::Segment {
        segment,
        at: (body.as_ptr() as usize).wrapping_sub(raw.as_ptr() as usize) as u32,
        len: body.len() as u32,
    })
}

#[cfg(test)]
mod tests;
