use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;

use super::block::{Block, Blocks, Next};
use super::bodies::{FileBodies, Place, Source, Unpacker};
use super::decode::{self, BlobRecord, ListRecord, Part, Start};
use super::{Header, Loaded, RecordReadError, encode};
use crate::content::{Blob, BlobId, Catalog, Form, List, Wrapper};
use crate::event::{StreamId, Sym, Time};
use crate::pb::Fields;
use crate::wire::{Frame, MessageBuilder, Open, Segment, What};

/// Reads a recording from its first byte on. `source` is the same bytes, for reading bodies later.
pub(super) fn read(mut input: impl Read, source: Box<dyn Source>) -> Result<Loaded, RecordReadError> {
    let (header, at) = Header::read(&mut input)?;
    let mut reader = Reader::new(&header, source);
    let mut blocks = Blocks::new(input, at);
    let mut segment: Option<(Unpacker, Vec<Block>)> = None;
    loop {
        match blocks.next()? {
            Next::Block(block, packed) => {
                if block.first {
                    reader.end_segment(segment.take());
                    segment = Unpacker::new().map(|unpacker| (unpacker, Vec::new()));
                }
                let unpacked = segment.as_mut().and_then(|(unpacker, blocks)| {
                    unpacker.add(&packed, block.raw)?;
                    blocks.push(block);
                    Some(())
                });
                if unpacked.is_none() {
                    // It goes on with something that is lost.
                    reader.end_segment(segment.take());
                    reader.damage(block.at, packed.len() as u64);
                }
            }
            Next::Damage { at, bytes } => {
                reader.end_segment(segment.take());
                reader.damage(at, bytes);
            }
            Next::Cut { at, bytes } => {
                reader.end_segment(segment.take());
                reader.cut = Some((at, bytes));
            }
            Next::End => {
                reader.end_segment(segment.take());
                return Ok(reader.finish(&header));
            }
        }
    }
}

struct Reader {
    catalog: Catalog,
    bodies: FileBodies,
    /// Runs of blob numbers without gaps: the first number, and the blobs. More than one only after damage.
    numbers: Vec<(u32, Vec<BlobId>)>,
    /// Blobs that are lost and were referred to.
    lost: HashMap<u32, BlobId>,
    frames: Vec<Frame>,
    notices: Vec<String>,
    open: HashSet<StreamId>,
    /// Where the next frame stands.
    now: Start,
    /// Damage since the last segment that was read: its first byte, and how much can't be read.
    damage: Option<(u64, u64)>,
    cut: Option<(u64, u64)>,
    /// Messages that refer to what no file can hold.
    malformed: u64,
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

fn secs(micros: u64) -> String {
    format!("+{:.3} s", micros as f64 / 1e6)
}

impl Reader {
    fn new(header: &Header, source: Box<dyn Source>) -> Reader {
        let bodies = FileBodies::new(source);
        Reader {
            catalog: Catalog::new(header.seed, None, Box::new(bodies.clone())),
            bodies,
            numbers: vec![(0, Vec::new())],
            lost: HashMap::new(),
            frames: Vec::new(),
            notices: Vec::new(),
            open: HashSet::new(),
            now: Start::default(),
            damage: None,
            cut: None,
            malformed: 0,
            finished: false,
        }
    }

    fn damage(&mut self, at: u64, bytes: u64) {
        let (_, lost) = self.damage.get_or_insert((at, 0));
        *lost += bytes;
    }

    fn end_segment(&mut self, segment: Option<(Unpacker, Vec<Block>)>) {
        let Some((unpacker, blocks)) = segment else { return };
        let raw = Bytes::from(unpacker.raw);
        let number = self.bodies.segment(blocks, raw.clone());
        let mut state = State { number, raw: raw.clone(), lists: Vec::new(), stream: StreamId(0) };
        // The end of a segment may be a record that was not finished.
        for field in Fields::new(&raw).map_while(Result::ok) {
            let bytes = field.bytes();
            match field.number {
                encode::START => self.start(decode::start(bytes)),
                encode::BLOB => self.blob(decode::blob(bytes), &state),
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
                    match self.what(field.number, bytes, &mut state) {
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
    fn id(&mut self, number: u32) -> Option<BlobId> {
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
        self.bodies.place(Place::Lost);
        let id = self.catalog.restore(Blob::new(number.into(), 0, 0, false, Form::Other));
        self.lost.insert(number, id);
        Some(id)
    }

    fn intern(&mut self, text: &[u8]) -> Sym {
        self.catalog.intern(&String::from_utf8_lossy(text))
    }

    fn blob(&mut self, record: BlobRecord<'_>, state: &State) {
        let payload = record.payload.and_then(|back| self.id(self.next().checked_sub(back)?));
        let form = match (record.form, record.body.filter(|_| !record.redacted)) {
            (0, Some(body)) => self.catalog.read_any(body),
            (0, None) => Form::Any { type_url: self.intern(record.type_url), name: self.intern(record.name) },
            (1, Some(body)) => self.catalog.read_wrapper(body, record.head, payload, record.in_any),
            (1, None) => {
                let wrapper = Wrapper {
                    name: self.intern(record.name),
                    version: self.intern(record.version),
                    payload,
                    ttl: record.ttl,
                    aliases: record.aliases.iter().map(|alias| self.intern(alias)).collect(),
                    in_any: record.in_any,
                };
                Form::Wrapper { wrapper: Box::new(wrapper), head: record.head }
            }
            _ => Form::Other,
        };
        let (hash, size, kept) = match record.hash {
            Some(hash) => (hash, record.size, record.kept),
            None => {
                let payload = payload.and_then(|id| self.catalog.body(id));
                let whole = form.join(record.body.unwrap_or_default(), payload.as_deref());
                (self.catalog.hash(&whole), whole.len() as u32, whole.len() as u32)
            }
        };
        self.bodies.place(record.body.map_or(Place::Lost, |body| Place::Segment {
            segment: state.number,
            at: (body.as_ptr() as usize).wrapping_sub(state.raw.as_ptr() as usize) as u32,
            len: body.len() as u32,
        }));
        let id = self.catalog.restore(Blob::new(hash, size, kept, record.redacted, form));
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

    fn what(&mut self, number: u32, bytes: &[u8], state: &mut State) -> Option<What> {
        Some(match number {
            encode::OPEN => What::Open(Box::new(decode::open(bytes))),
            encode::MESSAGE => return self.message(bytes, state),
            encode::OPAQUE => {
                let (dir, messages, bytes) = decode::counts(bytes);
                What::Opaque { dir, messages, bytes }
            }
            encode::GAP => {
                let (_, messages, bytes) = decode::counts(bytes);
                What::Gap { messages, bytes }
            }
            encode::END => What::End(decode::end(bytes)),
            _ => return None,
        })
    }

    fn message(&mut self, bytes: &[u8], state: &mut State) -> Option<What> {
        let next = self.next();
        let (head, parts) = decode::message(bytes, next);
        let mut builder = MessageBuilder::new(head.shape);
        for part in parts {
            let segment = match part {
                Part::Inline(bytes) => Segment::Inline(bytes),
                Part::Field { number, back } => {
                    Segment::Field { number, blob: self.id(next.checked_sub(back)?)? }
                }
                Part::Run { back } => Segment::Run(self.id(next.checked_sub(back)?)?),
                Part::List(record) => {
                    Segment::List { number: record.number, list: self.list(record, state)? }
                }
            };
            builder.push_segment(segment, &mut self.catalog);
        }
        let mut message = builder.finish(&mut self.catalog);
        message.redacted |= head.redacted;
        message.size = head.size.unwrap_or(message.size);
        Some(What::Message(Box::new(message)))
    }

    fn list(&mut self, record: ListRecord, state: &mut State) -> Option<Arc<List>> {
        let back = |back: u32| state.lists.get(state.lists.len().checked_sub(back as usize)?);
        if let Some(same) = record.same {
            return back(same).cloned();
        }
        let base = match record.base {
            Some(base) => Some(back(base)?.clone()),
            None => None,
        };
        let script = record.script;
        let ids = script.ids.iter().map(|number| self.id(*number)).collect::<Option<Vec<_>>>()?;
        let script = super::list::Script { runs: script.runs, ids, order: script.order };
        let blobs = script.apply(base.as_ref().map(|list| list.blobs()))?;
        let list = self.catalog.intern_list(blobs);
        state.lists.push(list.clone());
        Some(list)
    }

    fn finish(mut self, header: &Header) -> Loaded {
        let read =
            format!("{} messages read, the last event at {}", self.now.messages, secs(self.now.micros));
        if let Some((at, bytes)) = self.damage {
            let text = "the rest is lost";
            self.notices.push(format!("damaged at byte {at} ({bytes} bytes skipped): {text}; {read}"));
        }
        match self.cut {
            Some((at, bytes)) => {
                let text = format!("ends within a block at byte {at}: its {bytes} bytes can't be read");
                self.notices.push(format!("{text}; {read}"));
            }
            None if !self.finished && self.damage.is_none() => {
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
        Loaded {
            catalog: self.catalog,
            clock: header.clock,
            frames: self.frames,
            end: time(self.now.micros),
            notices: self.notices,
        }
    }
}
