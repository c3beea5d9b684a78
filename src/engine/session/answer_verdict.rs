//! A request as an answer: its class, its verdict, and the response that it is about.

use super::outcome::Ambiguity;
use super::responses::Order;
use super::{MessageKind, RequestClass};

/// The verdict that a request gives on a response.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    None,
    Ack,
    Nack,
    /// Another version than that of the response, and no error (docs/protocol.md#e-22).
    Implied,
    /// A verdict on a response that is not in the recording.
    Unseen,
}

impl Verdict {
    pub(crate) fn kind(self, nacks: bool, added: bool, removed: bool) -> MessageKind {
        match self {
            Verdict::Nack | Verdict::Implied => MessageKind::Nack,
            Verdict::Unseen if nacks => MessageKind::Nack,
            Verdict::Ack | Verdict::Unseen => MessageKind::Ack,
            Verdict::None if added => MessageKind::Subscribe,
            Verdict::None if removed => MessageKind::Unsubscribe,
            Verdict::None => MessageKind::Repeat,
        }
    }
}

/// A request as the answer to a response.
pub(crate) struct Answer {
    /// None if the nonce may be from before the recording.
    pub(crate) class: Option<RequestClass>,
    pub(crate) verdict: Verdict,
    /// The response that the request speaks of; for a verdict, the one that is settled.
    pub(crate) order: Option<Order>,
    pub(crate) ambiguous: Option<Ambiguity>,
}

impl Answer {
    pub(super) fn unrelated(class: RequestClass) -> Answer {
        Answer { class: Some(class), verdict: Verdict::None, order: None, ambiguous: None }
    }

    pub(super) fn about(order: Option<Order>, verdict: Verdict, ambiguous: Option<Ambiguity>) -> Answer {
        Answer { class: None, verdict, order, ambiguous }
    }
}
