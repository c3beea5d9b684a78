mod lists;
mod outage;

use std::collections::{HashMap, HashSet};
use std::io;

use super::blob_numbers::BlobNumbers;
use super::encode;
use super::header::put_u64;
use super::missing::Missing;
use lists::Lists;
use xdscope_wire::content::{BlobForm, BlobId, Catalog, UsedContent};
use xdscope_wire::event::{StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, Open, Segment};

/// Records that are encoded and not handed on.
#[derive(Default)]
pub(super) struct Records {
    pub bytes: Vec<u8>,
    /// The frames in `bytes` that have a row in the timeline.
    pub events: u64,
    /// The length of `bytes` up to the last frame.
    framed_len: usize,
}

impl Records {
    /// Returns the bytes of content behind the last frame.
    pub(super) fn unframed_len(&self) -> usize {
        self.bytes.len() - self.framed_len
    }

    /// Takes all records. The caller may give the memory back with [`Records::reuse`].
    pub(super) fn take(&mut self) -> Vec<u8> {
        (self.framed_len, self.events) = (0, 0);
        std::mem::take(&mut self.bytes)
    }

    /// Uses the memory of taken records again, `max` bytes at most.
    pub(super) fn reuse(&mut self, mut bytes: Vec<u8>, max: usize) {
        bytes.clear();
        bytes.shrink_to(max);
        self.bytes = bytes;
    }

    fn end_frame(&mut self, frame: &Frame) {
        self.framed_len = self.bytes.len();
        self.events += u64::from(!matches!(frame.what, FramePayload::Opaque { .. }));
    }
}

/// The destination of encoded records.
pub(super) trait RecordSink {
    /// Makes room for the next record, and takes the waiting ones if they are many. Returns whether
    /// the next record begins a segment.
    fn make_room(&mut self, records: &mut Records) -> io::Result<bool>;
}

/// Encodes frames, each behind the content that earlier records do not hold.
///
/// Frames that the sink does not accept are counted. Gaps stand for them once the sink accepts
/// records again.
#[derive(Default)]
pub(super) struct Encoder {
    /// The number of each blob of the catalog.
    numbers: BlobNumbers,
    next_blob: u32,
    /// Open streams, repeated in each segment.
    open: HashMap<StreamId, Box<Open>>,
    /// The newest node of each open stream, for [`Encoder::restart`].
    nodes: HashMap<StreamId, BlobId>,
    frames: u64,
    messages: u64,
    /// The time of the last frame, in microseconds.
    now: u64,
    /// The time at which the recording ends.
    end: Time,
    pub(super) records: Records,
    segment: Option<EncodedSegment>,
    missing: Missing,
}

/// The state that ends with a segment.
struct EncodedSegment {
    /// The number of the first blob of the segment.
    blobs: u32,
    /// The stream of the last frame.
    stream: StreamId,
    reopened: HashSet<StreamId>,
    lists: Lists,
}

impl Encoder {
    /// Encodes a frame, and in front of it the content that earlier records do not hold. If the
    /// sink fails, the frame is lost and counted.
    pub(super) fn write(
        &mut self,
        frame: &Frame,
        catalog: &Catalog,
        sink: &mut impl RecordSink,
    ) -> io::Result<()> {
        let result = self.catch_up(frame.at, sink).and_then(|()| self.put_frame(frame, Some(catalog), sink));
        if result.is_err() {
            self.skip(frame);
        }
        result
    }

    /// Encodes a frame. Only messages need the catalog.
    fn put_frame(
        &mut self,
        frame: &Frame,
        catalog: Option<&Catalog>,
        sink: &mut impl RecordSink,
    ) -> io::Result<()> {
        if let (FramePayload::Message(message), Some(catalog)) = (&frame.what, catalog) {
            self.blobs(message, catalog, sink)?;
        }
        self.make_room(sink)?;
        self.repeat_open(frame);
        let mut record = Vec::new();
        if let FramePayload::Intercepted(what) = &frame.what {
            put_u64(&mut record, 1, frame.stream.0.into());
            encode::intercepted(&mut record, what);
            put_u64(&mut record, 2, (frame.at.0 / 1000).saturating_sub(self.now));
            put_len_field(&mut self.records.bytes, encode::INTERCEPTED, &record);
            self.records.end_frame(frame);
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
        put_len_field(&mut self.records.bytes, number, &record);
        self.records.end_frame(frame);
        self.frames += 1;
        self.missing.risk(frame);
        Ok(())
    }

    /// Marks the contents of the newest response of each stream and type, and the nodes, as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        let segments = self.segment.iter().flat_map(|segment| segment.lists.last.values());
        segments.for_each(|(_, list)| used.list(list));
        self.nodes.values().for_each(|node| used.blob(*node));
    }

    /// Forgets the numbers of contents that the catalog has dropped.
    pub(super) fn forget(&mut self, used: &UsedContent) {
        self.numbers.retain(|id| used.has_blob(id));
    }

    /// Moves the end of the recording to `now`. Timers run until there.
    pub(super) fn advance(&mut self, now: Time) {
        self.end = self.end.max(now);
    }

    /// Encodes the end of the recording.
    pub(super) fn finish(&mut self, sink: &mut impl RecordSink) -> io::Result<()> {
        self.catch_up(self.end, sink)?;
        self.make_room(sink)?;
        let mut record = Vec::new();
        // Frames of the next file may be older than the end of this one.
        put_u64(&mut record, 2, (self.end.0 / 1000).saturating_sub(self.now));
        put_len_field(&mut self.records.bytes, encode::FINISH, &record);
        Ok(())
    }

    /// Makes room for a record, in a new segment if the sink begins one.
    fn make_room(&mut self, sink: &mut impl RecordSink) -> io::Result<()> {
        let result = sink.make_room(&mut self.records);
        let begins = self.note(result)?;
        if self.segment.is_some() && !begins {
            return Ok(());
        }
        self.segment = Some(EncodedSegment {
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
        put_len_field(&mut self.records.bytes, encode::START, &start);
        Ok(())
    }

    /// Notes what became of the records that the sink was to take.
    pub(super) fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        match &result {
            Ok(_) if self.records.bytes.is_empty() => self.missing.settle(),
            Ok(_) => {}
            Err(_) => self.abandon_segment(),
        }
        result
    }

    /// Notes that the sink holds all records.
    pub(super) fn settle(&mut self) {
        self.missing.settle();
    }

    /// Ends the segment, because later frames must not refer to what the sink has lost.
    fn abandon_segment(&mut self) {
        if let Some(segment) = self.segment.take() {
            self.numbers.forget_from(segment.blobs);
        }
        self.missing.lose_all();
        self.records = Records::default();
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
        put_len_field(&mut self.records.bytes, encode::REOPEN, &record);
    }

    /// Writes the content that a message refers to and the file does not hold.
    fn blobs(&mut self, message: &Message, catalog: &Catalog, sink: &mut impl RecordSink) -> io::Result<()> {
        for segment in &message.segments {
            match segment {
                Segment::Inline(_) => {}
                Segment::Field { blob, .. } | Segment::Run(blob) => self.blob(*blob, catalog, sink)?,
                Segment::List { list, .. } => {
                    for blob in list.blobs() {
                        self.blob(*blob, catalog, sink)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn blob(&mut self, id: BlobId, catalog: &Catalog, sink: &mut impl RecordSink) -> io::Result<()> {
        if self.numbers.get(id).is_some() {
            return Ok(());
        }
        let blob = catalog.blob(id);
        let payload = match &blob.form {
            BlobForm::Wrapper { wrapper, .. } => wrapper.payload,
            _ => None,
        };
        if let Some(payload) = payload {
            self.blob(payload, catalog, sink)?;
        }
        self.make_room(sink)?;
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
        encode::put_blob(&mut self.records.bytes, encode::BLOB, record);
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
