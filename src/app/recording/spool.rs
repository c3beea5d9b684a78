//! The spool: an unlinked file for copies that outrun the decoder, and for decoded records that
//! outrun the analysis.
//!
//! Room at the start of the file is used before the file grows: its pages are in memory already.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::{Buf, BufMut, Bytes};

use crate::net::lock;
use xdscope_sources::observe::{ConnId, StreamEvent, TapCopy, TapEvent};
use xdscope_wire::event::{Dir, Time};
use xdscope_wire::h2::SkimmedPart;

/// A spool file.
pub struct Spool {
    file: File,
    size: u64,
    parts: Mutex<Parts>,
    /// Memory for the bytes that are written next.
    encoded: Mutex<Vec<u8>>,
}

/// The parts in the file.
#[derive(Default)]
struct Parts {
    /// Ends by start.
    by_start: BTreeMap<u64, u64>,
    /// The end of the part that was added last.
    newest: u64,
    /// The end of the file.
    end: u64,
    /// A write failed since the spool was last empty.
    has_failed: bool,
}

/// Longest file that is kept while the spool is empty, in bytes, until traffic pauses.
const MAX_EMPTY_FILE_BYTES: u64 = 64 << 20;

/// Shortest content that is written from where it is, in bytes. Shorter ones are copied together.
const MIN_UNCOPIED_BYTES: usize = 4 << 10;

/// Parts behind which a full file is searched for room.
const MAX_SEARCHED_PARTS: usize = 256;

/// Slices that one system call takes.
const MAX_SLICES: usize = 1024;

/// Longest buffer that is used again, in bytes.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// Reads copies from a spool.
///
/// Uses buffers again of which nobody holds bytes: new memory for each part costs as much time as
/// the reading. Often a message begins in one part and ends in the next one.
pub(crate) struct SpoolReader {
    pub(crate) spool: Arc<Spool>,
    /// The one that was used last is the last one.
    buffers: [SharedBuffer; 3],
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Vec<u8>>);

impl AsRef<[u8]> for SharedBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The forwarded bytes of a direction of a connection, with the time of the first ones.
struct Total {
    conn: ConnId,
    dir: Dir,
    at: Time,
    bytes: u64,
}

/// Copies in the spool.
pub(crate) struct SpooledCopies {
    place: Range<u64>,
    /// Copies without bytes of traffic, which stay in memory.
    aside: Vec<TapCopy>,
    /// The bytes of each connection and direction, in case the file is not read.
    totals: Box<[Total]>,
    /// Some copies are messages, which are not in `totals`.
    has_messages: bool,
}

const REQUEST_BYTES: u8 = 0;
const RESPONSE_BYTES: u8 = 1;
const REQUEST_MESSAGE: u8 = 2;
const RESPONSE_MESSAGE: u8 = 3;
/// The next of the copies that stay in memory.
const ASIDE: u8 = 4;
const SKIMMED_REQUEST_BYTES: u8 = 5;
const SKIMMED_RESPONSE_BYTES: u8 = 6;

/// Returns the first of two codes for requests, the second for responses.
fn code(dir: Dir, codes: [u8; 2]) -> u8 {
    match dir {
        Dir::Req => codes[0],
        Dir::Resp => codes[1],
    }
}

impl Spool {
    /// Creates a spool of at most `size` bytes, without a name, in a folder.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(folder: &Path, size: u64) -> io::Result<Spool> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Spool { file, size, parts: Mutex::default(), encoded: Mutex::default() })
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        lock(&self.parts)
    }

    /// Moves copies to the file. Returns the copies if there is no room.
    pub(crate) fn put(&self, copies: Vec<TapCopy>) -> Result<SpooledCopies, Vec<TapCopy>> {
        let len = copies.iter().map(encoded_len).sum::<usize>() as u64;
        let Some(place) = self.parts().reserve(len, self.size) else { return Err(copies) };
        if let Err(error) = self.write(&copies, place.start) {
            self.fail(&place, &error);
            return Err(copies);
        }
        let mut totals = BTreeMap::new();
        for copy in &copies {
            if let Some((dir, bytes)) = copy.event.forwarded() {
                totals.entry((copy.conn, dir)).or_insert((copy.at, 0)).1 += bytes;
            }
        }
        let has_messages = copies.iter().any(is_message);
        let total = |((conn, dir), (at, bytes))| Total { conn, dir, at, bytes };
        let totals = totals.into_iter().map(total).collect();
        // The memory of the other copies would stay with them.
        let mut aside: Vec<TapCopy> = copies.into_iter().filter(|copy| !is_encoded(copy)).collect();
        aside.shrink_to_fit();
        Ok(SpooledCopies { place, aside, totals, has_messages })
    }

    fn write(&self, copies: &[TapCopy], mut at: u64) -> io::Result<()> {
        let mut encoded = lock(&self.encoded);
        encoded.clear();
        let uncopied = encode(copies, &mut encoded);
        let mut slices = Vec::with_capacity(2 * uncopied.len() + 1);
        let mut start = 0;
        for (end, content) in uncopied {
            slices.extend([IoSlice::new(&encoded[start..end]), IoSlice::new(content)]);
            start = end;
        }
        slices.push(IoSlice::new(&encoded[start..]));
        let mut rest = &mut slices[..];
        // Drops leading slices without bytes.
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let written = match rustix::io::pwritev(&self.file, &rest[..rest.len().min(MAX_SLICES)], at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            IoSlice::advance_slices(&mut rest, written);
            at += written as u64;
        }
        if encoded.capacity() > MAX_KEPT_BYTES {
            *encoded = Vec::new();
        }
        Ok(())
    }

    /// Releases the room of copies that are not needed any more.
    pub(crate) fn release(&self, copies: SpooledCopies) {
        self.parts().free_part(&copies.place);
        self.shrink(MAX_EMPTY_FILE_BYTES);
    }

    /// Writes records. Returns their place, unless there is no room.
    pub(crate) fn put_records(&self, records: &[u8]) -> Option<Range<u64>> {
        let place = self.parts().reserve(records.len() as u64, self.size)?;
        match self.file.write_all_at(records, place.start) {
            Ok(()) => Some(place),
            Err(error) => {
                self.fail(&place, &error);
                None
            }
        }
    }

    /// Reads records, and releases their room.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn take_records(&self, place: Range<u64>) -> io::Result<Vec<u8>> {
        let mut records = vec![0; (place.end - place.start) as usize];
        let result = self.file.read_exact_at(&mut records, place.start);
        self.parts().free_part(&place);
        self.shrink(MAX_EMPTY_FILE_BYTES);
        result.map(|()| records)
    }

    /// Notes that a part cannot be written.
    fn fail(&self, place: &Range<u64>, error: &io::Error) {
        tracing::warn!("the spool cannot be written: {error}");
        let mut parts = self.parts();
        parts.has_failed = true;
        parts.free_part(place);
    }

    /// Returns the bytes of the parts in the file.
    pub(crate) fn used(&self) -> u64 {
        self.parts().by_start.iter().map(|(start, end)| end - start).sum()
    }

    /// Gives the room of an empty spool back. For pauses of the traffic: the next copies find no
    /// pages in memory.
    pub(crate) fn trim(&self) {
        self.shrink(0);
    }

    /// Empties the file if it has no parts and is longer than `max`.
    fn shrink(&self, max: u64) {
        let mut parts = self.parts();
        if parts.by_start.is_empty() && parts.end > max {
            (parts.newest, parts.end) = (0, 0);
            // Fails only on a broken disk; the size stays bounded.
            let _ = self.file.set_len(0);
        }
    }
}

impl SpoolReader {
    pub(crate) fn new(spool: Arc<Spool>) -> SpoolReader {
        SpoolReader { spool, buffers: Default::default() }
    }

    /// Reads copies. Bytes that cannot be read become losses of their connections.
    pub(crate) fn read(&mut self, from: &SpooledCopies) -> Vec<TapCopy> {
        let bytes = self.bytes(&from.place);
        if let Some(copies) = bytes.ok().and_then(|bytes| decode(bytes, &from.aside)) {
            return copies;
        }
        tracing::warn!("the spool cannot be read: part of the traffic is missing");
        from.losses()
    }

    fn bytes(&mut self, place: &Range<u64>) -> io::Result<Bytes> {
        let len = (place.end - place.start) as usize;
        let free = self.buffers.iter_mut().rposition(|buffer| Arc::get_mut(&mut buffer.0).is_some());
        self.buffers[free.unwrap_or(0)..].rotate_left(1);
        let [.., last] = &mut self.buffers;
        let buffer = match Arc::get_mut(&mut last.0) {
            Some(buffer) if buffer.len() >= len => buffer,
            _ => {
                *last = SharedBuffer(Arc::new(vec![0; len]));
                Arc::make_mut(&mut last.0)
            }
        };
        self.spool.file.read_exact_at(&mut buffer[..len], place.start)?;
        let read = match len {
            ..=MAX_KEPT_BYTES => last.clone(),
            _ => std::mem::take(last),
        };
        Ok(Bytes::from_owner(read).slice(..len))
    }
}

impl Parts {
    /// Makes room for `len` bytes; `None` if a file of `size` has none.
    fn reserve(&mut self, len: u64, size: u64) -> Option<Range<u64>> {
        if self.has_failed {
            return None;
        }
        let start = self.free(len, size)?;
        let place = start..start + len;
        self.by_start.insert(place.start, place.end);
        self.newest = place.end;
        self.end = self.end.max(place.end);
        Some(place)
    }

    /// Finds free bytes: behind the newest part, at the start of the file, at its end, or behind
    /// one of the first parts.
    fn free(&self, len: u64, size: u64) -> Option<u64> {
        let has_room = |start: &u64| {
            let before = self.by_start.range(..start).next_back();
            let next = self.by_start.range(start..).next();
            before.is_none_or(|(_, end)| end <= start) && next.is_some_and(|(next, _)| start + len <= *next)
        };
        let end = self.by_start.last_key_value().map_or(0, |(_, end)| *end);
        let at_end = Some(end).filter(|end| end.saturating_add(len) <= size);
        let first_parts = || self.by_start.values().copied().take(MAX_SEARCHED_PARTS).find(has_room);
        [self.newest, 0].into_iter().find(has_room).or(at_end).or_else(first_parts)
    }

    /// Frees a part. Parts leave nearly in the order in which they came.
    fn free_part(&mut self, place: &Range<u64>) {
        self.by_start.remove(&place.start);
        self.has_failed &= !self.by_start.is_empty();
    }
}

impl SpooledCopies {
    /// Returns the memory of the copies that stay in memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.aside.iter().map(|copy| copy.event.memory()).sum()
    }

    /// Returns the connections with forwarded bytes, and the number of those bytes; `None` if there
    /// are messages too.
    pub(crate) fn connections(&self) -> Option<impl Iterator<Item = (ConnId, u64)>> {
        let bytes = self.totals.iter().map(|total| (total.conn, total.bytes));
        (!self.has_messages).then_some(bytes)
    }

    /// Returns the copies with all forwarded bytes counted as lost, and without messages.
    pub(crate) fn losses(&self) -> Vec<TapCopy> {
        let lost = self.totals.iter().map(|&Total { conn, dir, at, bytes }| TapCopy {
            conn,
            at,
            event: TapEvent::Lost { dir, bytes, chunks: 1 },
        });
        // A connection begins before bytes are lost.
        let is_first = |copy: &&TapCopy| matches!(copy.event, TapEvent::Opened { .. });
        let first = self.aside.iter().filter(is_first).cloned();
        let rest = self.aside.iter().filter(|copy| !is_first(copy)).cloned();
        first.chain(lost).chain(rest).collect()
    }
}

fn is_encoded(copy: &TapCopy) -> bool {
    is_message(copy) || matches!(copy.event, TapEvent::Bytes { .. } | TapEvent::Skimmed { .. })
}

fn is_message(copy: &TapCopy) -> bool {
    matches!(copy.event, TapEvent::Stream { event: StreamEvent::Message { .. }, .. })
}

/// Bytes of kind, connection and time.
const HEAD_BYTES: usize = 1 + 8 + 8;

fn encoded_len(copy: &TapCopy) -> usize {
    match &copy.event {
        TapEvent::Bytes { .. } => HEAD_BYTES + 4 + copy.event.size(),
        TapEvent::Stream { event: StreamEvent::Message { .. }, .. } => HEAD_BYTES + 8 + copy.event.size(),
        TapEvent::Skimmed { kept, parts, .. } => HEAD_BYTES + 8 + 8 * parts.len() + kept.len(),
        _ => 1,
    }
}

/// Writes copies to `out`, except for long contents: returns those, with the length of `out` where
/// they belong.
fn encode<'a>(copies: &'a [TapCopy], out: &mut Vec<u8>) -> Vec<(usize, &'a [u8])> {
    let mut uncopied = Vec::new();
    for copy in copies {
        let mut head = |kind| {
            out.put_u8(kind);
            out.put_u64(copy.conn.0);
            out.put_u64(copy.at.0);
        };
        let contents = match &copy.event {
            TapEvent::Bytes { dir, bytes } => {
                head(code(*dir, [REQUEST_BYTES, RESPONSE_BYTES]));
                out.put_u32(bytes.len() as u32);
                std::slice::from_ref(bytes)
            }
            TapEvent::Stream { stream, event: StreamEvent::Message { dir, pieces } } => {
                head(code(*dir, [REQUEST_MESSAGE, RESPONSE_MESSAGE]));
                out.put_u32(*stream);
                out.put_u32(copy.event.size() as u32);
                pieces
            }
            TapEvent::Skimmed { dir, kept, parts } => {
                head(code(*dir, [SKIMMED_REQUEST_BYTES, SKIMMED_RESPONSE_BYTES]));
                out.put_u32(kept.len() as u32);
                out.put_slice(kept);
                out.put_u32(parts.len() as u32);
                for part in parts {
                    out.put_u32(part.kept);
                    out.put_u32(part.missing);
                }
                &[]
            }
            _ => {
                out.put_u8(ASIDE);
                &[]
            }
        };
        for content in contents {
            if content.len() < MIN_UNCOPIED_BYTES {
                out.put_slice(content);
            } else {
                uncopied.push((out.len(), &content[..]));
            }
        }
    }
    uncopied
}

/// Reads the result of [`encode`]; `None` if the bytes are malformed.
fn decode(mut bytes: Bytes, aside: &[TapCopy]) -> Option<Vec<TapCopy>> {
    let (mut copies, mut aside) = (Vec::new(), aside.iter());
    while bytes.has_remaining() {
        let kind = bytes.try_get_u8().ok()?;
        if kind == ASIDE {
            copies.push(aside.next()?.clone());
            continue;
        }
        let (conn, at) = (ConnId(bytes.try_get_u64().ok()?), Time(bytes.try_get_u64().ok()?));
        let is_request = matches!(kind, REQUEST_BYTES | REQUEST_MESSAGE | SKIMMED_REQUEST_BYTES);
        let dir = if is_request { Dir::Req } else { Dir::Resp };
        let stream = match kind {
            REQUEST_MESSAGE | RESPONSE_MESSAGE => Some(bytes.try_get_u32().ok()?),
            _ => None,
        };
        let len = bytes.try_get_u32().ok()? as usize;
        let content = (len <= bytes.len()).then(|| bytes.split_to(len))?;
        let event = match stream {
            None if matches!(kind, SKIMMED_REQUEST_BYTES | SKIMMED_RESPONSE_BYTES) => {
                let parts = decode_parts(&mut bytes)?;
                TapEvent::Skimmed { dir, kept: content.into(), parts }
            }
            None => TapEvent::Bytes { dir, bytes: content },
            Some(stream) => {
                TapEvent::Stream { stream, event: StreamEvent::Message { dir, pieces: vec![content] } }
            }
        };
        copies.push(TapCopy { conn, at, event });
    }
    Some(copies)
}

fn decode_parts(bytes: &mut Bytes) -> Option<Vec<SkimmedPart>> {
    let len = bytes.try_get_u32().ok()? as usize;
    let mut parts = Vec::with_capacity(len.min(bytes.len() / 8));
    for _ in 0..len {
        let kept = bytes.try_get_u32().ok()?;
        parts.push(SkimmedPart { kept, missing: bytes.try_get_u32().ok()? });
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn copies(size: usize) -> Vec<TapCopy> {
        let events = [
            TapEvent::Opened { peer: "a".into(), server: "b".into() },
            TapEvent::Bytes { dir: Dir::Req, bytes: vec![1; size].into() },
            TapEvent::Bytes { dir: Dir::Resp, bytes: vec![2; size / 2].into() },
            TapEvent::Stream {
                stream: 7,
                event: StreamEvent::Message {
                    dir: Dir::Resp,
                    pieces: vec![Bytes::from_static(b"ab"), Bytes::from_static(b"c")],
                },
            },
            TapEvent::Skimmed {
                dir: Dir::Req,
                kept: vec![3; size / 10],
                parts: vec![SkimmedPart { kept: size as u32 / 10, missing: 20 }],
            },
            TapEvent::Closed { by: None, error: None },
        ];
        (0..).zip(events).map(|(n, event)| TapCopy { conn: ConnId(n), at: Time(n * 1000), event }).collect()
    }

    fn words(copies: &[TapCopy]) -> Vec<String> {
        let word = |copy: &TapCopy| match &copy.event {
            TapEvent::Stream { stream, event: StreamEvent::Message { dir, pieces } } => {
                format!("{:?} {:?} {stream} {dir:?} {:?}", copy.conn, copy.at, pieces.concat())
            }
            event => format!("{:?} {:?} {event:?}", copy.conn, copy.at),
        };
        copies.iter().map(word).collect()
    }

    #[test]
    fn returns_copies_in_order_and_reuses_the_room() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 10_000).unwrap());
        let mut reader = SpoolReader::new(spool.clone());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
        let mut held = VecDeque::new();
        let (mut refused, mut passed) = (0, 0);
        for n in 0..400 {
            let size = 100 + n * 13 % 900;
            match spool.put(copies(size)) {
                Ok(part) => held.push_back((part, size)),
                Err(back) => {
                    assert_eq!(words(&back), words(&copies(size)), "refused copies come back");
                    refused += 1;
                    for _ in 0..3 {
                        let (part, size) = held.pop_front().expect("the file is full");
                        assert_eq!(words(&reader.read(&part)), words(&copies(size)));
                        spool.release(part);
                        passed += 1;
                    }
                }
            }
            assert!(spool.file.metadata().unwrap().len() <= 10_000);
        }
        assert!(refused > 10 && passed > 100, "{refused} {passed}");
        for (part, size) in held {
            assert_eq!(words(&reader.read(&part)), words(&copies(size)));
            spool.release(part);
        }
        spool.trim();
        assert_eq!(spool.file.metadata().unwrap().len(), 0, "an empty spool takes no room");
    }

    #[test]
    fn releases_parts_in_any_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 10_000).unwrap());
        let mut reader = SpoolReader::new(spool.clone());
        let put = |size| spool.put(copies(size)).map_err(|_| "no room").unwrap();
        for round in 0..50 {
            let mut held: Vec<_> = (0..4).map(|n| (put(500 + n * 100), 500 + n * 100)).collect();
            for _ in 0..4 {
                let (part, size) = held.remove(round % held.len());
                assert_eq!(words(&reader.read(&part)), words(&copies(size)));
                spool.release(part);
            }
        }
        assert!(spool.file.metadata().unwrap().len() < 6_000, "the room is used again");
    }

    #[test]
    fn keeps_bytes_that_are_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 10_000).unwrap());
        let mut reader = SpoolReader::new(spool.clone());
        let [first, second] = [900, 300].map(|size| spool.put(copies(size)).map_err(|_| "no room").unwrap());
        let held = reader.read(&first);
        let again = reader.read(&second);
        assert_eq!(words(&held), words(&copies(900)), "another part was read meanwhile");
        assert_eq!(words(&again), words(&copies(300)));
    }

    #[test]
    fn counts_what_cannot_be_read_as_lost() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Arc::new(Spool::create(folder.path(), 10_000).unwrap());
        let part = spool.put(copies(500)).map_err(|_| "no room").unwrap();
        spool.file.set_len(100).unwrap();
        let read = SpoolReader::new(spool).read(&part);
        let lost: u64 = read
            .iter()
            .map(|copy| match &copy.event {
                TapEvent::Lost { bytes, .. } => *bytes,
                _ => 0,
            })
            .sum();
        assert_eq!(lost, 500 + 250 + 50 + 20);
        assert!(matches!(read.last().unwrap().event, TapEvent::Closed { .. }), "the connection still ends");
    }
}
