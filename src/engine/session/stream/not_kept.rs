//! Parts of a stream that exceed a limit, or that the end of the stream cuts off, and are not kept.

use xdscope_wire::GapCause;

/// Messages and bytes that are not kept, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotKept {
    /// In the order of [`GapCause::ALL`]; causes without an occurrence are left out.
    parts: Vec<NotKeptPart>,
}

/// The messages and bytes of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotKeptPart {
    /// The exceeded limit, or [`GapCause::Cut`].
    pub cause: GapCause,
    /// Number of messages; of streams for [`GapCause::Streams`].
    pub messages: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl NotKept {
    /// Counts a gap. A lost part of the copy exceeds no limit.
    pub fn add(&mut self, cause: GapCause, messages: u64, bytes: u64) {
        if cause == GapCause::Lost {
            return;
        }
        let at = self.parts.partition_point(|part| part.cause < cause);
        match self.parts.get_mut(at).filter(|part| part.cause == cause) {
            Some(part) => {
                part.messages = part.messages.saturating_add(messages);
                part.bytes = part.bytes.saturating_add(bytes);
            }
            None => self.parts.insert(at, NotKeptPart { cause, messages, bytes }),
        }
    }

    /// Returns the length of the response in the middle of which the stream ended, in bytes.
    pub(crate) fn cut_response(&self) -> Option<u64> {
        self.parts.iter().find(|part| part.cause == GapCause::Cut).map(|part| part.bytes)
    }

    /// Returns the parts.
    pub fn parts(&self) -> &[NotKeptPart] {
        &self.parts
    }
}
