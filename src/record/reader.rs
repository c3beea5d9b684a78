use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;

use super::block::{Block, Blocks, Next};
use super::bodies::{FileBodies, Place, Source, Unpacker};
use super::decode::{self, BlobRecord, ListRecord, Part, Start};
use super::{Header, Loaded, RecordReadError, encode};
use crate::content::{Blob, BlobId, Catalog, Form, List, Wrapper};
use crate::event::{Clock, StreamId, Sym, Time};
use crate::pb::Fields;
use crate::wire::{Frame, MessageBuilder, Open, Segment, Shared, What};

/// Bytes that may wait for what becomes of them: loose blocks are never that many.
const UNSETTLED: usize = 4 << 20;

/// Entries of all lists, and names that are joined, that are read from one file, a gibibyte of them: each list is a difference, so a hostile file of
/// some kilobytes could ask for any number.
const MAX_ENTRIES: usize = 1 << 28;

/// Blobs that any file may have; above that one for each packed byte, as no two are equal.
const MANY_BLOBS: u64 = 1 << 20;

/// Reads a recording from its first byte on. `source` is the same bytes, for reading bodies later.
pub(super) fn read(input: impl Read, source: Box<dyn Source>) -> Result<Loaded, RecordReadError> {
    let (mut catalog, mut reading) = Reading::new(input, source)?;
    let mut frames = Vec::new();
    while reading.next(&mut catalog, &mut frames)? {}
    let clock = reading.clock();
    let (end, notices) = reading.finish();
    Ok(Loaded { catalog, clock, frames, end, notices })
}

/// A recording that is read segment by segment.
pub struct Reading<R> {
    header: Header,
    blocks: Blocks<R>,
    reader: Reader,
    segment: Option<(Unpacker, Vec<Block>)>,
    /// Offset behind the last packed block.
    settled: u64,
    /// What stands behind it: loose blocks and damage, for which a packed block may stand further on.
    unsettled: Vec<Next>,
}

impl<R: Read> Reading<R> {
    /// Reads the header. `source` is the same bytes, for reading bodies later; the catalog reads them from there.
    pub(super) fn new(mut input: R, source: Box<dyn Source>) -> Result<(Catalog, Self), RecordReadError> {
        let (header, settled) = Header::read(&mut input)?;
        let reader = Reader::new(source);
        let catalog = Catalog::new(header.seed, None, Box::new(reader.bodies.clone()));
        let blocks = Blocks::new(input, settled);
        Ok((catalog, Reading { header, blocks, reader, segment: None, settled, unsettled: Vec::new() }))
    }

    pub fn clock(&self) -> Clock {
        self.header.clock
    }

    /// Appends the frames of the next segment to `out`, and their content to the catalog that came with this.
    /// False at the end.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, RecordReadError> {
        let segments = self.reader.segments;
        while self.reader.segments == segments {
            let next = if self.reader.full { Next::End } else { self.blocks.next()? };
            match next {
                Next::Block(block, packed) if !block.loose => {
                    self.take_unsettled(catalog);
                    self.settled = block.at + u64::from(block.packed);
                    self.block(block, &packed, catalog);
                }
                Next::Moving { home, block, packed } => {
                    let begun = self.unsettled.first().and_then(place);
                    if begun == Some(home) {
                        // Its writer was stopped before the block was all in its place.
                        self.unsettled.clear();
                        self.block(block, &packed, catalog);
                    } else if self.settled == home.saturating_add(block.len()) {
                        // It had been, and what follows was not cut off yet.
                        self.unsettled.clear();
                    } else {
                        self.take_unsettled(catalog);
                        self.reader.damage(block.at, block.packed.into());
                    }
                }
                Next::End => {
                    self.take_unsettled(catalog);
                    self.end_segment(catalog);
                    out.append(&mut self.reader.frames);
                    return Ok(false);
                }
                next => {
                    self.unsettled.push(next);
                    let bytes = self.unsettled.iter().map(|next| match next {
                        Next::Block(_, packed) => packed.len(),
                        _ => 0,
                    });
                    if bytes.sum::<usize>() > UNSETTLED {
                        self.take_unsettled(catalog);
                    }
                }
            }
        }
        out.append(&mut self.reader.frames);
        Ok(true)
    }

    /// Where the clock stops, and what a person must know: damage, a truncated tail.
    pub fn finish(self) -> (Time, Vec<String>) {
        self.reader.finish(&self.header)
    }

    /// Nothing takes the place of what is unsettled.
    fn take_unsettled(&mut self, catalog: &mut Catalog) {
        for next in std::mem::take(&mut self.unsettled) {
            match next {
                Next::Block(block, packed) => self.block(block, &packed, catalog),
                Next::Damage { at, bytes } => {
                    self.end_segment(catalog);
                    self.reader.damage(at, bytes);
                }
                Next::Cut { at, bytes } => {
                    self.end_segment(catalog);
                    self.reader.cut = Some((at, bytes));
                }
                Next::Moving { .. } | Next::End => {}
            }
        }
    }

    fn block(&mut self, block: Block, packed: &[u8], catalog: &mut Catalog) {
        if block.first {
            self.end_segment(catalog);
            self.segment = Unpacker::new().map(|unpacker| (unpacker, Vec::new()));
        }
        let unpacked = self.segment.as_mut().and_then(|(unpacker, blocks)| {
            unpacker.add(packed, &block)?;
            blocks.push(block);
            Some(())
        });
        if unpacked.is_none() {
            // It goes on with something that is lost.
            self.end_segment(catalog);
            self.reader.damage(block.at, packed.len() as u64);
        }
    }

    fn end_segment(&mut self, catalog: &mut Catalog) {
        if let Some((unpacker, blocks)) = self.segment.take() {
            // What is left out takes no memory.
            if !self.reader.full {
                self.reader.segment(unpacker, blocks, catalog);
            }
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

struct Reader {
    bodies: FileBodies,
    /// Segments so far.
    segments: u64,
    /// Runs of blob numbers without gaps: the first number, and the blobs. More than one only after damage.
    numbers: Vec<(u32, Vec<BlobId>)>,
    /// Blobs that are lost and were referred to.
    lost: HashMap<u32, BlobId>,
    frames: Vec<Frame>,
    shared: Shared,
    notices: Vec<String>,
    open: HashSet<StreamId>,
    /// Where the next frame stands.
    now: Start,
    /// Damage since the last segment that was read: its first byte, and how much can't be read.
    damage: Option<(u64, u64)>,
    cut: Option<(u64, u64)>,
    /// Messages that refer to what no file can hold.
    malformed: u64,
    /// Entries of the lists so far.
    entries: usize,
    /// So many blobs more may be read.
    blobs_left: u64,
    /// There were more.
    full: bool,
    finished: bool,
}

/// What holds within one segment.
struct State {
    number: u32,
    raw: Bytes,
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

impl Reader {
    fn new(source: Box<dyn Source>) -> Reader {
        Reader {
            bodies: FileBodies::new(source),
            segments: 0,
            numbers: vec![(0, Vec::new())],
            lost: HashMap::new(),
            frames: Vec::new(),
            shared: Shared::default(),
            notices: Vec::new(),
            open: HashSet::new(),
            now: Start::default(),
            damage: None,
            cut: None,
            malformed: 0,
            entries: 0,
            blobs_left: MANY_BLOBS,
            full: false,
            finished: false,
        }
    }

    fn damage(&mut self, at: u64, bytes: u64) {
        let (_, lost) = self.damage.get_or_insert((at, 0));
        *lost += bytes;
    }

    fn segment(&mut self, unpacker: Unpacker, blocks: Vec<Block>, catalog: &mut Catalog) {
        self.segments += 1;
        self.blobs_left += blocks.iter().map(|block| u64::from(block.packed)).sum::<u64>();
        let raw = Bytes::from(unpacker.raw);
        let number = self.bodies.segment(blocks, raw.clone());
        let mut state = State { number, raw: raw.clone(), lists: Vec::new(), stream: StreamId(0) };
        // The end of a segment may be a record that was not finished.
        for field in Fields::new(&raw).map_while(Result::ok) {
            if self.full {
                return;
            }
            let bytes = field.bytes();
            match field.number {
                encode::START => self.start(decode::start(bytes)),
                encode::BLOB => self.blob(decode::blob(bytes), &state, catalog),
                encode::AGAIN => {
                    let stream = decode::place(bytes).0.unwrap_or(state.stream);
                    if !self.open.contains(&stream) {
                        let open = Open { partial: true, ..decode::open(bytes) };
                        self.frame(stream, What::Open(Box::new(open)));
                    }
                }
                encode::OPEN..=encode::END => {
                    let (stream, micros) = decode::place(bytes);
                    state.stream = stream.unwrap_or(state.stream);
                    self.now.micros = self.now.micros.saturating_add(micros);
                    self.now.frames += 1;
                    self.now.messages += u64::from(field.number == encode::MESSAGE);
                    match self.what(field.number, bytes, &mut state, catalog) {
                        Some(what) => self.frame(state.stream, what),
                        None => self.malformed += 1,
                    }
                }
                encode::FINISH => {
                    self.now.micros = self.now.micros.saturating_add(decode::place(bytes).1);
                    self.finished = true;
                }
                _ => {}
            }
        }
    }

    /// A segment begins; what is missing up to it was lost.
    fn start(&mut self, start: Start) {
        let frames = start.frames.saturating_sub(self.now.frames);
        let messages = start.messages.saturating_sub(self.now.messages);
        let (from, to) = (secs(self.now.micros), secs(start.micros));
        let what =
            format!("{messages} messages and {} other events are lost", frames.saturating_sub(messages));
        let place = format!("after message {}, between {from} and {to}", self.now.messages);
        match self.damage.take() {
            Some((at, bytes)) => {
                self.notices.push(format!("damaged at byte {at} ({bytes} bytes skipped): {what} {place}"));
            }
            None if frames > 0 => self.notices.push(format!("not everything was written: {what} {place}")),
            None => {}
        }
        if start.blobs != self.next() {
            self.numbers.push((start.blobs, Vec::new()));
        }
        self.now = start;
    }

    /// The next blob's number.
    fn next(&self) -> u32 {
        self.numbers.last().map_or(0, |(first, run)| first.saturating_add(run.len() as u32))
    }

    /// The blob of this number, a stand-in if it is lost; `None` if there can be none.
    fn id(&mut self, number: u32, catalog: &mut Catalog) -> Option<BlobId> {
        if number >= self.next() {
            return None;
        }
        let run = self.numbers.iter().rev().find(|(first, _)| *first <= number);
        if let Some(id) = run.and_then(|(first, run)| run.get((number - first) as usize)) {
            return Some(*id);
        }
        if let Some(id) = self.lost.get(&number) {
            return Some(*id);
        }
        self.take_blob()?;
        self.bodies.place(Place::Lost);
        let id = catalog.restore(Blob::new(number.into(), 0, 0, false, Form::Other));
        self.lost.insert(number, id);
        Some(id)
    }

    /// Counts a blob; `None` if there are too many.
    fn take_blob(&mut self) -> Option<()> {
        self.full |= self.blobs_left == 0;
        self.blobs_left = self.blobs_left.saturating_sub(1);
        (!self.full).then_some(())
    }

    fn blob(&mut self, record: BlobRecord<'_>, state: &State, catalog: &mut Catalog) {
        if self.take_blob().is_none() {
            return;
        }
        let payload = record.payload.and_then(|back| self.id(self.next().checked_sub(back)?, catalog));
        let form = match (record.form, record.body.filter(|_| !record.redacted)) {
            (0, Some(body)) => catalog.read_any(body),
            (0, None) => {
                Form::Any { type_url: intern(catalog, record.type_url), name: intern(catalog, record.name) }
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
                Form::Wrapper { wrapper: Box::new(wrapper), head: record.head }
            }
            _ => Form::Other,
        };
        let (hash, size, kept) = match record.hash {
            Some(hash) => (hash, record.size, record.kept),
            None => {
                let payload = payload.and_then(|id| catalog.body(id));
                let whole = form.join(record.body.unwrap_or_default(), payload.as_deref());
                (catalog.hash(&whole), whole.len() as u32, whole.len() as u32)
            }
        };
        self.bodies.place(record.body.map_or(Place::Lost, |body| Place::Segment {
            segment: state.number,
            at: (body.as_ptr() as usize).wrapping_sub(state.raw.as_ptr() as usize) as u32,
            len: body.len() as u32,
        }));
        let id = catalog.restore(Blob::new(hash, size, kept, record.redacted, form));
        if let Some((_, run)) = self.numbers.last_mut() {
            run.push(id);
        }
    }

    fn frame(&mut self, stream: StreamId, what: What) {
        let at = time(self.now.micros);
        match &what {
            What::Open(_) => {
                self.open.insert(stream);
            }
            // Each stream is opened, even if that was lost and what it is with it.
            _ if self.open.insert(stream) => {
                let open = Box::new(Open { partial: true, ..Open::default() });
                self.frames.push(Frame { at, stream, what: What::Open(open) });
            }
            _ => {}
        }
        if let What::End(_) = what {
            self.open.remove(&stream);
        }
        self.frames.push(Frame { at, stream, what });
    }

    fn what(&mut self, number: u32, bytes: &[u8], state: &mut State, catalog: &mut Catalog) -> Option<What> {
        Some(match number {
            encode::OPEN => What::Open(Box::new(decode::open(bytes))),
            encode::MESSAGE => return self.message(bytes, state, catalog),
            encode::OPAQUE => {
                let (dir, messages, bytes) = decode::counts(bytes);
                What::Opaque { dir, messages, bytes }
            }
            encode::GAP => {
                let (_, messages, bytes) = decode::counts(bytes);
                What::Gap { messages, bytes }
            }
            encode::END => What::End(Box::new(decode::end(bytes))),
            _ => return None,
        })
    }

    fn message(&mut self, bytes: &[u8], state: &mut State, catalog: &mut Catalog) -> Option<What> {
        let next = self.next();
        let (head, parts) = decode::message(bytes, next);
        let mut builder = MessageBuilder::new(head.shape);
        // One list or run of names is shared with the messages that have it too, several are joined.
        let (mut lists, mut runs) = (0, 0);
        for part in parts {
            let segment = match part {
                Part::Inline(bytes) => Segment::Inline(bytes),
                Part::Field { number, back } => {
                    Segment::Field { number, blob: self.id(next.checked_sub(back)?, catalog)? }
                }
                Part::Run { back } => {
                    let run = self.id(next.checked_sub(back)?, catalog)?;
                    let names = catalog.body(run).map_or(0, |body| body.len() / 2);
                    self.join(&mut runs, names)?;
                    Segment::Run(run)
                }
                Part::List(record) => {
                    let number = record.number;
                    let list = self.list(record, state, catalog)?;
                    self.join(&mut lists, list.len())?;
                    Segment::List { number, list }
                }
            };
            builder.push_segment(segment, catalog);
        }
        let mut message = builder.finish(catalog);
        self.shared.share(&mut message);
        message.redacted |= head.redacted;
        message.size = head.size.unwrap_or(message.size);
        Some(What::Message(Arc::new(message)))
    }

    fn list(&mut self, record: ListRecord, state: &mut State, catalog: &mut Catalog) -> Option<Arc<List>> {
        let back = |back: u32| state.lists.get(state.lists.len().checked_sub(back as usize)?);
        if let Some(same) = record.same {
            return back(same).cloned();
        }
        let base = match record.base {
            Some(base) => Some(back(base)?.clone()),
            None => None,
        };
        let script = record.script;
        let ids = script.ids.iter().map(|number| self.id(*number, catalog)).collect::<Option<Vec<_>>>()?;
        let script = super::list::Script { runs: script.runs, ids, order: script.order };
        let blobs = script.apply(base.as_ref().map(|list| list.blobs()))?;
        self.take_entries(blobs.len())?;
        let list = catalog.intern_list(blobs);
        state.lists.push(list.clone());
        Some(list)
    }

    /// Counts what a message joins, behind its first `joined` ones.
    fn join(&mut self, joined: &mut usize, entries: usize) -> Option<()> {
        if *joined > 0 {
            self.take_entries(*joined + entries)?;
        }
        *joined += entries;
        Some(())
    }

    /// Counts entries; `None` once there are too many.
    fn take_entries(&mut self, entries: usize) -> Option<()> {
        self.entries = self.entries.saturating_add(entries);
        (self.entries <= MAX_ENTRIES).then_some(())
    }

    fn finish(mut self, header: &Header) -> (Time, Vec<String>) {
        let read =
            format!("{} messages read, the last event at {}", self.now.messages, secs(self.now.micros));
        if let Some((at, bytes)) = self.damage {
            let text = "the rest is lost";
            self.notices.push(format!("damaged at byte {at} ({bytes} bytes skipped): {text}; {read}"));
        }
        if self.full {
            let text = "the file unpacks to more content than one of its size can hold";
            self.notices.push(format!("{text}: the rest is left out; {read}"));
        }
        match self.cut {
            Some((at, bytes)) => {
                let text = format!("ends within a block at byte {at}: its {bytes} bytes can't be read");
                self.notices.push(format!("{text}; {read}"));
            }
            None if !self.finished && !self.full && self.damage.is_none() => {
                self.notices.push(format!("not closed: xdscope was stopped, or is still recording; {read}"));
            }
            None => {}
        }
        if self.malformed > 0 {
            let text = "are malformed and left out";
            self.notices
                .push(format!("{} events {text}: they refer to what the file does not hold", self.malformed));
        }
        if !self.lost.is_empty() {
            let text = "referred to by later messages is lost with the damage";
            self.notices.push(format!("the content of {} resources {text}", self.lost.len()));
        }
        if header.keep_secrets {
            self.notices.push("recorded with --keep-secrets: the file holds secrets".into());
        }
        (time(self.now.micros), self.notices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::put_len_field;

    /// A message with a list of two entries and, as often, that list again.
    fn message(again: usize) -> Vec<u8> {
        let mut message = vec![0x18, 1];
        put_len_field(&mut message, 8, &[0x2a, 2, 1, 0]);
        for _ in 0..again {
            put_len_field(&mut message, 8, &[0x10, 1]);
        }
        message
    }

    fn read(entries: usize, again: usize) -> Option<What> {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.entries = entries;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut state = State { number: 0, raw: Bytes::new(), lists: Vec::new(), stream: StreamId(1) };
        reader.blob(decode::blob(b""), &state, &mut catalog);
        reader.message(&message(again), &mut state, &mut catalog)
    }

    /// A highly packed segment of so many blobs.
    fn blobs(left: u64, blobs: usize) -> (u64, Vec<String>) {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.blobs_left = left;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut unpacker = Unpacker::new().expect("a decoder");
        for _ in 0..blobs {
            put_len_field(&mut unpacker.raw, encode::BLOB, b"");
        }
        let block = Block { at: 0, packed: 5, raw: unpacker.raw.len() as u32, first: true, loose: false };
        reader.segment(unpacker, vec![block], &mut catalog);
        (catalog.blobs().len() as u64, reader.finish(&Header::default()).1)
    }

    #[test]
    fn a_file_has_no_more_blobs_than_its_size_allows() {
        let (all, notices) = blobs(2, 7);
        assert!(all == 7 && notices.iter().all(|text| !text.contains("unpacks to more")), "{notices:?}");
        let (some, notices) = blobs(2, 8);
        assert!(some == 7 && notices.iter().any(|text| text.contains("unpacks to more")), "{notices:?}");
    }

    #[test]
    fn no_more_entries_are_made_than_a_file_may_have() {
        assert!(read(MAX_ENTRIES - 2, 0).is_some());
        assert!(read(MAX_ENTRIES - 1, 0).is_none());
        // Four entries of two lists that are joined come on top.
        assert!(read(MAX_ENTRIES - 6, 1).is_some());
        assert!(read(MAX_ENTRIES - 5, 1).is_none());
    }
}
