//! Builds messages from bytes that arrive in chunks.

pub(crate) mod parts;

use crate::GapCause;
use crate::content::{Catalog, UsedContent};
use crate::discovery::fields::DiscoveryField;
use crate::discovery::{Message, MessageBody, MessageShape, Segment};
use crate::pb::{SplitError, Splitter, tag_len};

use parts::{MessageParts, node, read_names};

/// Builds a [`Message`] from bytes that arrive in chunks, or from recorded segments.
///
/// Holds one field at a time, so that a response of 100,000 resources is never in memory at once.
pub struct MessageBuilder {
    shape: MessageShape,
    splitter: Splitter,
    parts: MessageParts,
    failed: Option<String>,
    oversized: Option<GapCause>,
}

/// Longest field that is collected, in bytes. gRPC's default limit for a whole message is 4 MiB.
pub const MAX_FIELD_BYTES: usize = 32 << 20;

/// A message that exceeds a limit. None of its content is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversized {
    /// The exceeded limit.
    pub cause: GapCause,
    /// Size of the message in bytes.
    pub bytes: u64,
}

impl MessageBuilder {
    /// Creates a builder for a message of this shape.
    pub fn new(shape: MessageShape) -> Self {
        MessageBuilder {
            shape,
            splitter: Splitter::default(),
            parts: MessageParts::default(),
            failed: None,
            oversized: None,
        }
    }

    /// Marks the contents and names so far as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        self.parts.mark(used);
    }

    /// Reads the next bytes of the message.
    pub fn push(&mut self, chunk: &[u8], catalog: &mut Catalog) {
        self.parts.size += chunk.len() as u64;
        if self.oversized.is_some() {
            return;
        }
        if self.failed.is_some() {
            self.parts.inline.extend_from_slice(chunk);
        } else if let Err(error) = self.split(chunk, catalog) {
            self.failed = Some(error.to_string());
            self.parts.end_names(catalog);
            self.parts.end_entries(catalog);
            self.parts.inline.extend_from_slice(self.splitter.rest());
        }
        self.check_limits(catalog);
    }

    /// Drops all content once a limit is exceeded.
    fn check_limits(&mut self, catalog: &Catalog) {
        if let Some(cause) = self.parts.exceeded(catalog) {
            self.give_up(cause);
        }
    }

    /// Drops all content. The message ends as [`Oversized`].
    pub(super) fn give_up(&mut self, cause: GapCause) {
        self.oversized = Some(cause);
        self.parts = MessageParts { size: self.parts.size, ..MessageParts::default() };
        self.splitter = Splitter::default();
    }

    /// Memory of the message so far, in bytes, without resources that are stored elsewhere.
    pub(super) fn held_bytes(&self) -> usize {
        self.parts.held_bytes() + self.splitter.rest().len()
    }

    /// Splits a chunk into fields, and skips entries that are known.
    fn split(&mut self, mut chunk: &[u8], catalog: &mut Catalog) -> Result<(), SplitError> {
        let (splitter, parts) = (&mut self.splitter, &mut self.parts);
        // Start of the current run of entries that follow each other as they did before.
        let mut row = chunk;
        parts.entries.interrupt();
        loop {
            let cut = !splitter.rest().is_empty();
            if !cut && let Some((bytes, redacted)) = parts.entries.push_known(catalog, chunk) {
                parts.redacted |= redacted;
                chunk = chunk.get(bytes..).unwrap_or_default();
                row = chunk;
                continue;
            }
            let Some(raw) = splitter.field(&mut chunk, MAX_FIELD_BYTES)? else { return Ok(()) };
            parts.raw(self.shape, raw, catalog);
            if parts.exceeded(catalog).is_some() {
                return Ok(());
            }
            if cut {
                parts.entries.interrupt();
            }
            let passed = row.get(..row.len() - chunk.len()).unwrap_or_default();
            if parts.entries.repeated() == 0 || parts.entries.learn(catalog, passed) {
                row = chunk;
            }
        }
    }

    /// Reserves memory for this many recorded segments.
    pub fn expect(&mut self, segments: usize) {
        self.parts.segments.reserve_exact(segments.min(parts::MAX_SEGMENTS));
    }

    /// Reads the bytes of a recorded inline segment.
    pub fn push_inline(&mut self, bytes: &[u8], catalog: &mut Catalog) {
        // Growing by a byte at a time would copy each time.
        if self.parts.inline.is_empty() {
            self.parts.inline.reserve_exact(bytes.len());
        }
        self.push(bytes, catalog);
    }

    /// Adds a recorded segment in place of bytes.
    ///
    /// [`Message::size`] then counts the stored bytes, not the bytes on the wire.
    pub fn push_segment(&mut self, segment: Segment, catalog: &mut Catalog) {
        if self.oversized.is_some() {
            return;
        }
        match segment {
            Segment::Inline(bytes) => self.push_inline(&bytes, catalog),
            Segment::Run(blob) => {
                self.parts.size += u64::from(catalog.blob(blob).kept);
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                self.parts.flush_inline(catalog);
                let body = catalog.bytes(blob).unwrap_or_default();
                let names = catalog.run_names(blob, |strings| read_names(&body, strings));
                self.parts.count_names(names.len(), body.len());
                self.parts.names.push(names);
                self.parts.segments.push(Segment::Run(blob));
            }
            Segment::Field { number, blob } => {
                let kept = catalog.blob(blob).kept as usize;
                self.parts.size += (tag_len(number, kept) + kept) as u64;
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                if let (Some(bytes), true) = (catalog.bytes(blob), self.failed.is_none()) {
                    self.parts.payload(self.shape, number, &bytes, catalog);
                    if DiscoveryField::of(self.shape, number) == Some(DiscoveryField::Node) {
                        self.parts.node = Some(node(&bytes, Some(blob)));
                    }
                }
                self.parts.flush_inline(catalog);
                self.parts.segments.push(Segment::Field { number, blob });
            }
            Segment::List { number, list } => {
                let (kept, redacted) = list.kept(catalog);
                let tags = list.len() * (tag_len(number, 0) - 1);
                self.parts.size += kept + tags as u64;
                self.parts.redacted |= redacted;
                self.parts.end_names(catalog);
                self.parts.end_entries(catalog);
                self.parts.flush_inline(catalog);
                self.parts.resources += list.len();
                self.parts.lists.push(list.clone());
                self.parts.segments.push(Segment::List { number, list });
            }
        }
        self.check_limits(catalog);
    }

    /// Bytes read so far.
    pub fn size(&self) -> u64 {
        self.parts.size
    }

    /// Returns the complete message.
    ///
    /// If a secret was removed from a field after the field had been read, reads the message again
    /// from its clean segments, so that the fields hold nothing that the stored bytes do not.
    ///
    /// # Errors
    ///
    /// The message exceeds a limit.
    pub fn finish(self, catalog: &mut Catalog) -> Result<Message, Oversized> {
        if let Some(cause) = self.oversized {
            return Err(Oversized { cause, bytes: self.parts.size });
        }
        let (message, covered) = self.end(catalog);
        if !covered {
            return Ok(message);
        }
        let mut again = MessageBuilder::new(message.shape);
        let (clean, _) = catalog.with_clean(|catalog| {
            for segment in message.segments {
                again.push_segment(segment, catalog);
            }
            again.end(catalog)
        });
        Ok(Message { size: message.size, redacted: true, ..clean })
    }

    /// Returns the message, and whether a secret was removed from a field that had been read
    /// before.
    fn end(mut self, catalog: &mut Catalog) -> (Message, bool) {
        self.parts.end_names(catalog);
        self.parts.end_entries(catalog);
        if self.failed.is_none() && !self.splitter.rest().is_empty() {
            self.failed = Some("the last field is cut short".into());
            self.parts.inline.extend_from_slice(self.splitter.rest());
        }
        self.parts.flush_inline(catalog);
        let mut parts = self.parts;
        let mut segments = std::mem::take(&mut parts.segments);
        segments.shrink_to_fit();
        let (size, redacted, covered) = (parts.size, parts.redacted, parts.covered);
        let body = match self.failed {
            Some(reason) => MessageBody::Undecodable { reason },
            None => parts.body(self.shape, catalog),
        };
        (Message { shape: self.shape, segments, size, redacted, body }, covered)
    }
}

impl Message {
    /// Reads a complete message.
    ///
    /// Never fails: bytes that are not the method's message become [`MessageBody::Undecodable`],
    /// and are kept. A message that exceeds a limit becomes the same, and is not kept.
    pub fn parse(shape: MessageShape, bytes: &[u8], catalog: &mut Catalog) -> Message {
        Message::try_parse(shape, bytes, catalog).unwrap_or_else(|oversized| Message {
            shape,
            segments: Vec::new(),
            size: oversized.bytes,
            redacted: false,
            body: MessageBody::Undecodable { reason: format!("too many {}", oversized.cause.word()) },
        })
    }

    /// Reads a complete message, like [`Message::parse`].
    ///
    /// # Errors
    ///
    /// The message exceeds a limit.
    pub fn try_parse(shape: MessageShape, bytes: &[u8], catalog: &mut Catalog) -> Result<Message, Oversized> {
        let mut builder = MessageBuilder::new(shape);
        builder.push(bytes, catalog);
        builder.finish(catalog)
    }
}

#[cfg(test)]
mod tests;
