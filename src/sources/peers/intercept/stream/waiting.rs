//! Messages that wait to be sent.

use std::sync::Arc;

use super::by_hand::ByHand;
use super::is_push;
use crate::peers::intercept::contents::{Alteration, WireContents};
use xdscope_wire::event::{Time, TypeUrl};
use xdscope_wire::h2::SplicedMessage;

/// Memory of a message that waits, apart from its bytes and names.
const WAITING_BYTES: usize = 1 << 10;

/// A message that is to be sent.
pub(super) struct Waiting {
    pub(super) due: Time,
    /// The message as it came; `None` for a copy.
    pub(super) original: Option<SplicedMessage>,
    /// The message to send.
    pub(super) message: SplicedMessage,
    pub(super) contents: WireContents,
    /// The differences to the push as the server sent it.
    pub(super) altered: Option<Box<Alteration>>,
    /// Number of the push; 0 for a request.
    pub(super) push_number: u64,
    pub(super) times: u32,
    /// The fault or person that postpones a request.
    pub(super) postponed_by: Option<Arc<str>>,
    pub(super) by_hand: Option<ByHand>,
}

impl Waiting {
    /// Creates a message that is sent once and has not come from a peer.
    pub(super) fn new(
        due: Time,
        message: SplicedMessage,
        contents: WireContents,
        push_number: u64,
    ) -> Waiting {
        Waiting {
            due,
            original: None,
            message,
            contents,
            altered: None,
            push_number,
            times: 1,
            postponed_by: None,
            by_hand: None,
        }
    }

    /// Returns the direction and type, in which messages keep their order.
    pub(super) fn lane(&self) -> (bool, TypeUrl) {
        (is_push(self.message.dir), self.contents.type_url.clone())
    }

    /// Returns the memory of the message, apart from its bytes on the wire.
    pub(super) fn memory(&self) -> usize {
        let is_plain =
            self.message.encoding.is_none() && self.message.bytes.len() >= self.contents.bytes.len();
        WAITING_BYTES + self.contents.memory() - if is_plain { self.contents.bytes.len() } else { 0 }
    }
}
