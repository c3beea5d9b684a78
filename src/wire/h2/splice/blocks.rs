use std::sync::Arc;

use bytes::Bytes;
use loona_hpack::Decoder;

use super::super::frames::FrameHead;
use super::super::headers::decoder;
use super::super::literal::{HeaderField, block_frames, put_literals, size_updates};
use super::super::rewrite::{MAX_BLOCK_BYTES, MAX_FIELDS};
use super::super::{Changes, END_HEADERS, END_STREAM, HEADERS, PRIORITY, unpadded};

/// The header blocks of one direction.
///
/// Blocks keep their bytes until one of them is delayed, changed or left out. All later blocks are
/// encoded anew then, as literals without indexing: they may refer to a table that the receiver
/// does not have.
pub(super) struct Blocks {
    decoder: Decoder<'static>,
    open: Option<OpenBlock>,
    is_recoding: bool,
    /// Table size updates of blocks that were not sent.
    size_updates: Vec<u8>,
    changes: Option<Arc<Changes>>,
}

/// A header block, as far as it has arrived.
struct OpenBlock {
    stream: u32,
    flags: u8,
    priority: Vec<u8>,
    block: Vec<u8>,
    raw: Vec<u8>,
}

/// A complete header block.
pub(super) struct ReadBlock {
    pub(super) stream: u32,
    /// END_STREAM and PRIORITY.
    pub(super) flags: u8,
    priority: Vec<u8>,
    pub(super) fields: Vec<HeaderField>,
    /// The frames as they arrived, if the block had several frames.
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

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the memory of an incomplete header block, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.block.capacity() + open.raw.capacity())
    }

    /// Reads a frame of a header block. Returns the block once it is complete.
    pub(super) fn read(&mut self, head: FrameHead, frame: &[u8]) -> Result<Option<ReadBlock>, &'static str> {
        let payload = &frame[9..];
        let mut open = match self.open.take() {
            Some(open) if open.stream != head.stream => return Err("interrupted a header block"),
            Some(mut open) => {
                open.block.extend_from_slice(payload);
                open.raw.extend_from_slice(frame);
                open
            }
            None if head.kind == HEADERS => {
                let payload =
                    unpadded(payload, head.flags).ok_or("sent HEADERS with more padding than frame")?;
                let len = if head.flags & PRIORITY != 0 { 5 } else { 0 };
                let short = "sent HEADERS too short for its priority";
                let (priority, block) = payload.split_at_checked(len).ok_or(short)?;
                let flags = head.flags & (END_STREAM | PRIORITY);
                let is_whole = head.flags & END_HEADERS != 0;
                OpenBlock {
                    stream: head.stream,
                    flags,
                    priority: priority.to_vec(),
                    block: block.to_vec(),
                    raw: if is_whole { Vec::new() } else { frame.to_vec() },
                }
            }
            None => return Err("continued a header block that never began"),
        };
        // A block may come in many frames without any bytes of it.
        if open.block.len() > MAX_BLOCK_BYTES || open.raw.len() > 2 * MAX_BLOCK_BYTES {
            return Err("sent a header block of more than 64 KiB");
        }
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

    fn decode(&mut self, block: &[u8]) -> Result<Vec<HeaderField>, &'static str> {
        let (mut fields, mut size): (Vec<HeaderField>, usize) = (Vec::new(), 0);
        let decoded = self.decoder.decode_with_cb(block, |name, value| {
            // One byte can stand for a whole table entry. RFC 9113 counts fields in this way.
            size += name.len() + value.len() + 32;
            if size <= MAX_FIELDS {
                fields.push((name.into_owned(), value.into_owned()));
            }
        });
        decoded.map_err(|_| "sent a header block that is not HPACK")?;
        if size > MAX_FIELDS {
            return Err("sent headers of more than 256 KiB");
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

    /// Encodes a block anew.
    pub(super) fn encode(&mut self, block: &mut ReadBlock) -> Bytes {
        if let Some(changes) = self.changes.as_deref().filter(|_| block.text(b":method").is_some()) {
            changes.apply(&mut block.fields);
        }
        let mut payload = std::mem::take(&mut block.priority);
        payload.append(&mut self.size_updates);
        put_literals(&mut payload, &block.fields);
        block_frames(block.stream, block.flags, &payload)
    }
}
