//! A journal: the frames of a live run on their way to its analysis, as the records that the
//! session file has.
//!
//! The writer hands records on in parts. Parts make up segments. A segment refers to nothing before
//! it, so the reader may forget contents when a segment begins.

use std::io;

use bytes::Bytes;

use super::encoder::{Encoder, RecordSink, Records};
use super::segment_reader::SegmentReader;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};

/// Bytes of records that are handed on together, unless one record has more.
const PART_BYTES: usize = 256 << 10;

/// Bytes of memory that the writer keeps for the next part.
const MAX_IDLE_BYTES: usize = PART_BYTES / 4;

/// Consecutive records of a journal.
#[derive(Debug)]
pub struct JournalPart {
    /// Encoded records.
    pub records: Vec<u8>,
    /// How many of the records have a row in the timeline.
    pub events: u64,
    /// Whether the records begin a segment.
    pub begins_segment: bool,
}

/// The destination of a journal's parts.
pub trait PartSink {
    /// Takes the next part.
    ///
    /// # Errors
    ///
    /// There is no room. The part is then lost, and the next one begins a segment.
    fn take(&mut self, part: JournalPart) -> io::Result<()>;
}

/// Encodes frames for a journal.
///
/// Frames of lost parts are counted. Gaps stand for them once the sink takes parts again.
pub struct JournalWriter<S> {
    encoder: Encoder,
    parts: PartWriter<S>,
}

/// Divides records into parts.
struct PartWriter<S> {
    sink: S,
    /// The next record begins a segment.
    is_new: bool,
    /// The waiting records begin a segment.
    begins_segment: bool,
    /// Bytes of the segment that were handed on.
    segment_bytes: u64,
}

impl<S: PartSink> PartWriter<S> {
    /// Hands all records on.
    fn hand_on(&mut self, records: &mut Records) -> io::Result<()> {
        if records.bytes.is_empty() {
            return Ok(());
        }
        let events = records.events;
        let mut bytes = records.take();
        if bytes.len() <= MAX_IDLE_BYTES {
            // The part must not keep the memory of a larger one.
            let part = bytes.as_slice().to_vec();
            records.reuse(std::mem::replace(&mut bytes, part), MAX_IDLE_BYTES);
        }
        self.segment_bytes += bytes.len() as u64;
        let begins_segment = std::mem::take(&mut self.begins_segment);
        let result = self.sink.take(JournalPart { records: bytes, events, begins_segment });
        result.inspect_err(|_| self.begin_segment())
    }

    fn begin_segment(&mut self) {
        (self.is_new, self.begins_segment, self.segment_bytes) = (true, false, 0);
    }
}

impl<S: PartSink> RecordSink for PartWriter<S> {
    fn make_room(&mut self, records: &mut Records) -> io::Result<bool> {
        if records.bytes.len() >= PART_BYTES {
            self.hand_on(records)?;
        }
        let begins = std::mem::take(&mut self.is_new);
        self.begins_segment |= begins;
        Ok(begins)
    }
}

impl<S: PartSink> JournalWriter<S> {
    /// Creates a journal without records.
    pub fn new(sink: S) -> JournalWriter<S> {
        let parts = PartWriter { sink, is_new: true, begins_segment: false, segment_bytes: 0 };
        JournalWriter { encoder: Encoder::default(), parts }
    }

    /// Appends a frame, and in front of it the content that the segment does not hold yet.
    ///
    /// Returns whether the frame has not been lost so far.
    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) -> bool {
        self.encoder.write(frame, catalog, &mut self.parts).is_ok()
    }

    /// Hands all records on. Returns whether there was room.
    pub fn flush(&mut self) -> bool {
        let result = self.encoder.catch_up_to_end(&mut self.parts);
        let result = result.and_then(|()| {
            let result = self.parts.hand_on(&mut self.encoder.records);
            self.encoder.note(result)
        });
        result.is_ok()
    }

    /// Begins a segment with the next frame.
    pub fn begin_segment(&mut self) {
        self.flush();
        self.parts.begin_segment();
        self.encoder.forget_all();
    }

    /// Returns the bytes of the segment that were handed on.
    pub fn segment_bytes(&self) -> u64 {
        self.parts.segment_bytes
    }

    /// Marks the contents of the newest response of each stream and type, and the nodes, as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.encoder.mark(used);
    }

    /// Forgets contents that the catalog has dropped.
    pub fn forget(&mut self, used: &UsedContent) {
        self.encoder.forget(used);
    }

    /// Returns the destination of the parts.
    pub fn sink(&self) -> &S {
        &self.parts.sink
    }
}

/// Reads the parts of a journal in order.
pub struct JournalReader {
    reader: SegmentReader,
}

impl Default for JournalReader {
    fn default() -> Self {
        JournalReader { reader: SegmentReader::of_journal() }
    }
}

impl JournalReader {
    /// Begins the next part. The part before must have been read to its end.
    pub fn begin(&mut self, records: Bytes) {
        self.reader.go_on(records);
    }

    /// Returns the messages in front of the next frames that the writer could not hand on, since
    /// the last call. The session file numbers them.
    pub fn take_skipped(&mut self) -> u64 {
        self.reader.take_skipped()
    }

    /// Appends the next frames to `out`, and their content to the catalog. Returns false at the end
    /// of the part.
    pub fn next(&mut self, catalog: &mut Catalog, out: &mut impl Extend<Frame>) -> bool {
        // The writer has removed the secrets.
        catalog.with_clean(|catalog| self.reader.read_some(catalog));
        let has_frames = !self.reader.frames.is_empty();
        out.extend(self.reader.frames.drain(..));
        has_frames
    }
}
