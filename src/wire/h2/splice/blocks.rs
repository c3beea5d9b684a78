use std::sync::Arc;

use bytes::Bytes;
use loona_hpack::Decoder;

use super::super::frames::FrameHead;
use super::super::headers::decoder;
use super::super::literal::{HeaderField, block_frames, put_literals, size_updates};
use super::super::{CONTINUATION, Changes, END_HEADERS, END_STREAM, HEADERS, PRIORITY, unpadded};

/// Longest header block, compressed and with padding, in bytes. Servers accept less.
pub(super) const MAX_BLOCK_BYTES: usize = 64 << 10;

/// Longest header block, decompressed, in bytes.
const MAX_FIELDS_BYTES: usize = 256 << 10;

/// The header blocks of one direction.
///
/// Blocks keep their bytes until one of them is delayed, changed or left out. All later blocks
/// are encoded again then, as literals without indexing: they may refer to a table that the
/// receiver does not have.
pub(super) struct Blocks {
    decoder: Decoder<'static>,
    open: Option<OpenBlock>,
    is_recoding: bool,
    /// Table size updates of blocks that were not sent.
    size_updates: Vec<u8>,
    changes: Option<Arc<Changes>>,
}

/// A header block, up to what has arrived.
struct OpenBlock {
    stream: u32,
    flags: u8,
    priority: Vec<u8>,
    block: Vec<u8>,
    /// The frames as they arrived. Empty if the block had one frame, or is encoded again.
    raw: Vec<u8>,
}

/// A complete header block.
pub(super) struct ReadBlock {
    pub(super) stream: u32,
    /// END_STREAM and PRIORITY.
    pub(super) flags: u8,
    priority: Vec<u8>,
    pub(super) fields: Vec<HeaderField>,
    /// The frames as they arrived, if the block had several frames and keeps its bytes.
    raw: Option<Bytes>,
}

impl ReadBlock {
    pub(super) fn ends_stream(&self) -> bool {
        self.flags & END_STREAM != 0
    }

    /// Returns the value of a field as text.
    pub(super) fn text(&self, name: &[u8]) -> Option<String> {
        let field = self.fields.iter().find(|(other, _)| other == name);
        field.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }
}

/// The form in which a header block is sent.
pub(super) enum BlockForm {
    /// The frame that was read last passes unchanged.
    Unchanged,
    /// These frames replace the frame that was read last.
    Frames(Bytes),
}

impl Blocks {
    /// Creates the state of a new connection. `changes` apply to each request.
    pub(super) fn new(changes: Option<Arc<Changes>>) -> Blocks {
        let is_recoding = changes.is_some();
        Blocks { decoder: decoder(), open: None, is_recoding, size_updates: Vec::new(), changes }
    }

    /// Returns whether the frame with this head is part of a header block.
    pub(super) fn includes(&self, head: FrameHead) -> Result<bool, &'static str> {
        let (block, raw) = match (&self.open, head.kind) {
            (None, HEADERS) => (0, 0),
            (Some(open), CONTINUATION) if open.stream == head.stream => (open.block.len(), open.raw.len()),
            (Some(_), _) => return Err("interrupts a header block by another frame"),
            (None, CONTINUATION) => return Err("continues a header block that never began"),
            _ => return Ok(false),
        };
        // A block may come in many frames without any bytes of it.
        if block + head.len > MAX_BLOCK_BYTES || raw + head.len > 2 * MAX_BLOCK_BYTES {
            return Err("sends a header block of more than 64 KiB");
        }
        Ok(true)
    }

    /// Returns the memory of an incomplete header block, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.block.capacity() + open.raw.capacity())
    }

    /// Reads a frame that is part of a header block. Returns the block once it is complete.
    pub(super) fn read(&mut self, head: FrameHead, frame: &[u8]) -> Result<Option<ReadBlock>, &'static str> {
        let payload = &frame[9..];
        let mut open = match self.open.take() {
            Some(mut open) => {
                open.block.extend_from_slice(payload);
                if !open.raw.is_empty() {
                    open.raw.extend_from_slice(frame);
                }
                open
            }
            None => {
                let payload =
                    unpadded(payload, head.flags).ok_or("sends HEADERS with more padding than frame")?;
                let len = if head.flags & PRIORITY != 0 { 5 } else { 0 };
                let short = "sends HEADERS too short for its priority";
                let (priority, block) = payload.split_at_checked(len).ok_or(short)?;
                let flags = head.flags & (END_STREAM | PRIORITY);
                let needs_raw = head.flags & END_HEADERS == 0 && !self.is_recoding;
                OpenBlock {
                    stream: head.stream,
                    flags,
                    priority: priority.to_vec(),
                    block: block.to_vec(),
                    raw: if needs_raw { frame.to_vec() } else { Vec::new() },
                }
            }
        };
        if head.flags & END_HEADERS == 0 {
            self.open = Some(open);
            return Ok(None);
        }
        let fields = self.decode(&open.block)?;
        let updates = size_updates(&open.block);
        if !updates.is_empty() {
            self.size_updates = updates.to_vec();
        }
        let raw = (!open.raw.is_empty()).then(|| std::mem::take(&mut open.raw).into());
        let OpenBlock { stream, flags, priority, .. } = open;
        Ok(Some(ReadBlock { stream, flags, priority, fields, raw }))
    }

    /// Decodes a header block within the limit of its size.
    fn decode(&mut self, block: &[u8]) -> Result<Vec<HeaderField>, &'static str> {
        let (mut fields, mut size): (Vec<HeaderField>, usize) = (Vec::new(), 0);
        let decoded = self.decoder.decode_with_cb(block, |name, value| {
            // One byte can stand for a whole table entry. RFC 9113 counts fields in this way.
            size += name.len() + value.len() + 32;
            if size <= MAX_FIELDS_BYTES {
                fields.push((name.into_owned(), value.into_owned()));
            }
        });
        decoded.map_err(|_| "sends a header block that is not HPACK")?;
        if size > MAX_FIELDS_BYTES {
            return Err("sends headers of more than 256 KiB");
        }
        Ok(fields)
    }

    /// Returns the form in which a block that was just read is sent now.
    pub(super) fn form(&mut self, block: &mut ReadBlock) -> BlockForm {
        if self.is_recoding {
            return BlockForm::Frames(self.encode(block));
        }
        // A block that keeps its bytes carries its own size updates.
        self.size_updates.clear();
        match block.raw.take() {
            None => BlockForm::Unchanged,
            Some(raw) => BlockForm::Frames(raw),
        }
    }

    /// Notes that a block is delayed or left out.
    pub(super) fn recode(&mut self) {
        self.is_recoding = true;
    }

    /// Encodes a block again.
    pub(super) fn encode(&mut self, block: &mut ReadBlock) -> Bytes {
        if let Some(changes) = &self.changes
            && block.text(b":method").is_some()
        {
            changes.apply(&mut block.fields);
        }
        let mut payload = std::mem::take(&mut block.priority);
        payload.append(&mut self.size_updates);
        put_literals(&mut payload, &block.fields);
        block_frames(block.stream, block.flags, &payload)
    }
}
