use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::block::Block;
use super::bodies::{FileBodies, Place, Source};
use super::decode::{self, BlobRecord, ListRecord, Part, Start};
use super::{Header, encode};
use crate::wire::content::{Blob, BlobId, Catalog, Form, List, Wrapper};
use crate::wire::event::{StreamId, Sym, Time};
use crate::wire::pb::Fields;
use crate::wire::{Frame, FramePayload, MessageBuilder, Open, Segment, Shared};

/// Frames that are read at a time: few, so that what they take up is used again for the next ones.
const FRAMES: usize = 64;

/// Entries of all lists, and names that are joined, that are read from one file, a gibibyte of them: each list is a difference, so a hostile file of
/// some kilobytes could ask for any number.
const MAX_ENTRIES: usize = 1 << 28;

/// Blobs that any file may have; above that one for each packed byte, as no two are equal.
const MANY_BLOBS: u64 = 1 << 20;

/// What was found in the file, in its order.
pub(super) enum Then {
    Segment(Vec<u8>, Vec<Block>),
    Damage { at: u64, bytes: u64 },
}

/// What a recording holds, read from its segments.
pub(super) struct Reader {
    pub(super) bodies: FileBodies,
    /// What is to be read.
    queue: VecDeque<Then>,
    /// The segment that is being read.
    state: Option<State>,
    /// Runs of blob numbers without gaps, in order. More than one only after damage.
    numbers: Vec<Run>,
    /// Blobs that are lost and were referred to.
    lost: HashMap<u32, BlobId>,
    pub(super) frames: Vec<Frame>,
    shared: Shared,
    notices: Vec<String>,
    open: HashSet<StreamId>,
    /// Where the next frame stands.
    now: Start,
    /// Damage since the last segment that was read: its first byte, and how much can't be read.
    damage: Option<(u64, u64)>,
    pub(super) cut: Option<(u64, u64)>,
    /// Messages that refer to what no file can hold.
    malformed: u64,
    /// Entries of the lists so far.
    entries: usize,
    /// So many blobs more may be read.
    blobs_left: u64,
    /// There were more.
    pub(super) full: bool,
    finished: bool,
}

/// Blobs whose numbers in the file and in the catalog follow each other.
struct Run {
    first: u32,
    id: BlobId,
    len: u32,
}

/// What holds within one segment.
struct State {
    number: u32,
    raw: Bytes,
    /// So much of it was read.
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

impl Reader {
    pub(super) fn new(source: Box<dyn Source>) -> Reader {
        Reader {
            bodies: FileBodies::new(source),
            queue: VecDeque::new(),
            state: None,
            numbers: Vec::new(),
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

    /// What stands next in the file.
    pub(super) fn then(&mut self, then: Then) {
        self.queue.push_back(then);
    }

    /// Reads what stands next, some frames of it.
    pub(super) fn go_on(&mut self, catalog: &mut Catalog) {
        loop {
            let state = match self.state.take() {
                Some(state) => state,
                None => match self.queue.pop_front() {
                    Some(Then::Segment(raw, blocks)) => self.begin(raw, blocks),
                    Some(Then::Damage { at, bytes }) => {
                        let (_, lost) = self.damage.get_or_insert((at, 0));
                        *lost += bytes;
                        continue;
                    }
                    None => return,
                },
            };
            self.state = self.records(state, catalog);
            if self.state.is_some() {
                return;
            }
        }
    }

    fn begin(&mut self, raw: Vec<u8>, blocks: Vec<Block>) -> State {
        self.blobs_left += blocks.iter().map(|block| u64::from(block.packed)).sum::<u64>();
        let raw = Bytes::from(raw);
        let number = self.bodies.segment(blocks, raw.clone());
        State { number, raw, at: 0, lists: Vec::new(), stream: StreamId(0) }
    }

    /// Reads on in a segment; gives it back if there is more of it.
    fn records(&mut self, mut state: State, catalog: &mut Catalog) -> Option<State> {
        let raw = state.raw.clone();
        // The end of a segment may be a record that was not finished.
        for field in Fields::new(raw.get(state.at..)?).map_while(Result::ok) {
            if self.full {
                return None;
            }
            if self.frames.len() >= FRAMES {
                return Some(state);
            }
            state.at += field.raw.len();
            let bytes = field.bytes();
            match field.number {
                encode::START => self.start(decode::start(bytes)),
                encode::BLOB => self.blob(decode::blob(bytes), &state, catalog),
                encode::AGAIN => {
                    let stream = decode::place(bytes).0.unwrap_or(state.stream);
                    if !self.open.contains(&stream) {
                        let open = Open { partial: true, ..decode::open(bytes) };
                        self.frame(stream, FramePayload::Open(Box::new(open)));
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
        None
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
            // Numbers that a hostile file gives once more are those of the later blobs.
            while self.numbers.pop_if(|run| run.first >= start.blobs).is_some() {}
            if let Some(run) = self.numbers.last_mut() {
                run.len = run.len.min(start.blobs - run.first);
            }
            self.numbers.push(Run { first: start.blobs, id: BlobId(0), len: 0 });
        }
        self.now = start;
    }

    /// The next blob's number.
    fn next(&self) -> u32 {
        self.numbers.last().map_or(0, |run| run.first.saturating_add(run.len))
    }

    /// Notes the blob that has the next number.
    fn number(&mut self, id: BlobId) {
        let first = self.next();
        match self.numbers.last_mut() {
            Some(run) if run.len > 0 && run.id.0.checked_add(run.len) == Some(id.0) => run.len += 1,
            // A number that nothing has yet.
            Some(run) if run.len == 0 => *run = Run { id, len: 1, ..*run },
            _ => self.numbers.push(Run { first, id, len: 1 }),
        }
    }

    /// The blob of this number, a stand-in if it is lost; `None` if there can be none.
    fn id(&mut self, number: u32, catalog: &mut Catalog) -> Option<BlobId> {
        if number >= self.next() {
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
        self.number(id);
    }

    fn frame(&mut self, stream: StreamId, what: FramePayload) {
        let at = time(self.now.micros);
        match &what {
            FramePayload::Open(_) => {
                self.open.insert(stream);
            }
            // Each stream is opened, even if that was lost and what it is with it.
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

    fn what(
        &mut self,
        number: u32,
        bytes: &[u8],
        state: &mut State,
        catalog: &mut Catalog,
    ) -> Option<FramePayload> {
        Some(match number {
            encode::OPEN => FramePayload::Open(Box::new(decode::open(bytes))),
            encode::MESSAGE => return self.message(bytes, state, catalog),
            encode::OPAQUE => {
                let (dir, messages, bytes) = decode::counts(bytes);
                FramePayload::Opaque { dir, messages, bytes }
            }
            encode::GAP => {
                let (_, messages, bytes) = decode::counts(bytes);
                FramePayload::Gap { messages, bytes }
            }
            encode::END => FramePayload::End(Box::new(decode::end(bytes))),
            _ => return None,
        })
    }

    fn message(&mut self, bytes: &[u8], state: &mut State, catalog: &mut Catalog) -> Option<FramePayload> {
        let next = self.next();
        let head = decode::message(bytes);
        let mut builder = MessageBuilder::new(head.shape);
        builder.expect(head.parts);
        // One list or run of names is shared with the messages that have it too, several are joined.
        let (mut lists, mut runs) = (0, 0);
        for part in decode::parts(bytes) {
            let segment = match part {
                Part::Inline(bytes) => {
                    builder.push_inline(bytes, catalog);
                    continue;
                }
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
        Some(FramePayload::Message(Arc::new(message)))
    }

    fn list(
        &mut self,
        record: ListRecord<'_>,
        state: &mut State,
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
        let numbers = decode::ids(record.ids, self.next());
        let ids = numbers.map(|number| self.id(number, catalog)).collect::<Option<Vec<_>>>()?;
        let script = super::list::Script { runs: record.runs, ids, order: record.order.to_vec() };
        let blobs = script.apply(base.as_ref().map(|list| list.blobs()))?;
        self.take_entries(blobs.len())?;
        let list = catalog.intern_list(blobs);
        if let Some(base) = base {
            list.add_up_from(&base, catalog);
        }
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

    pub(super) fn finish(mut self, header: &Header) -> (Time, Vec<String>) {
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
    use crate::wire::pb::put_len_field;

    /// A message with a list of two entries and, as often, that list again.
    fn message(again: usize) -> Vec<u8> {
        let mut message = vec![0x18, 1];
        put_len_field(&mut message, 8, &[0x2a, 2, 1, 0]);
        for _ in 0..again {
            put_len_field(&mut message, 8, &[0x10, 1]);
        }
        message
    }

    fn read(entries: usize, again: usize) -> Option<FramePayload> {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.entries = entries;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut state = State { number: 0, raw: Bytes::new(), at: 0, lists: Vec::new(), stream: StreamId(1) };
        reader.blob(decode::blob(b""), &state, &mut catalog);
        reader.message(&message(again), &mut state, &mut catalog)
    }

    /// A highly packed segment of so many blobs.
    fn blobs(left: u64, blobs: usize) -> (u64, Vec<String>) {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(Vec::new())));
        reader.blobs_left = left;
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let mut raw = Vec::new();
        for _ in 0..blobs {
            put_len_field(&mut raw, encode::BLOB, b"");
        }
        let block = Block { at: 0, packed: 5, raw: raw.len() as u32, first: true, loose: false };
        reader.then(Then::Segment(raw, vec![block]));
        reader.go_on(&mut catalog);
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
    fn blobs_are_known_by_their_numbers_over_what_is_lost_and_given_again() {
        let mut reader = Reader::new(Box::new(std::io::Cursor::new(Vec::new())));
        let mut catalog = Catalog::new(0, None, Box::new(reader.bodies.clone()));
        let state = State { number: 0, raw: Bytes::new(), at: 0, lists: Vec::new(), stream: StreamId(1) };
        let blobs = |reader: &mut Reader, catalog: &mut Catalog, start: u32, count: usize| {
            reader.start(Start { blobs: start, ..Start::default() });
            (0..count).for_each(|_| reader.blob(decode::blob(b""), &state, catalog));
        };
        blobs(&mut reader, &mut catalog, 0, 3);
        blobs(&mut reader, &mut catalog, 5, 2);
        let ids = |reader: &mut Reader, catalog: &mut Catalog| -> Vec<Option<u32>> {
            (0..8).map(|number| Some(reader.id(number, catalog)?.0)).collect()
        };
        // 3 and 4 are lost: stand-ins come behind.
        let all = [0, 1, 2, 5, 6, 3, 4].map(Some);
        assert_eq!(ids(&mut reader, &mut catalog)[..7], all);
        assert_eq!(ids(&mut reader, &mut catalog)[7], None);
        blobs(&mut reader, &mut catalog, 7, 1);
        assert_eq!(ids(&mut reader, &mut catalog)[..8], [0, 1, 2, 5, 6, 3, 4, 7].map(Some));
        // A hostile file counts back.
        blobs(&mut reader, &mut catalog, 1, 1);
        assert_eq!(ids(&mut reader, &mut catalog)[..3], [Some(0), Some(8), None]);
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
