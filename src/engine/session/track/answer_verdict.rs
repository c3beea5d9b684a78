//! A request as an answer: its class, its verdict, and the response that it is about.

use crate::session::content::responses::{Order, Status};
use crate::session::outcome::{Ambiguity, ReferencedResponse};
use crate::session::{MessageKind, RequestClass};

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
    /// Returns the kind of a request with this verdict. `nacks`: it refuses a response that the
    /// client has accepted or skipped, or one that is not in the recording.
    pub(crate) fn kind(self, nacks: bool, added: bool, removed: bool) -> MessageKind {
        match self {
            Verdict::Nack | Verdict::Implied => MessageKind::Nack,
            Verdict::None | Verdict::Unseen if nacks => MessageKind::Nack,
            Verdict::Ack | Verdict::Unseen => MessageKind::Ack,
            Verdict::None => kind_of_change(added, removed),
        }
    }
}

/// Returns the kind of a request without a verdict.
pub fn kind_of_change(added: bool, removed: bool) -> MessageKind {
    match (added, removed) {
        (true, _) => MessageKind::Subscribe,
        (false, true) => MessageKind::Unsubscribe,
        (false, false) => MessageKind::Repeat,
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
    /// Whether an error in the request refuses a response, though perhaps too late: the client has
    /// accepted or skipped the response before. An error may be repeated with a refused one.
    pub(crate) fn can_be_nack(&self, about: Option<ReferencedResponse>) -> bool {
        let is_settled = |about: ReferencedResponse| matches!(about.was, Status::Acked | Status::Skipped);
        self.verdict != Verdict::None || about.is_some_and(is_settled)
    }

    pub(crate) fn unrelated(class: RequestClass) -> Answer {
        Answer { class: Some(class), verdict: Verdict::None, order: None, ambiguous: None }
    }

    pub(crate) fn about(order: Option<Order>, verdict: Verdict, ambiguous: Option<Ambiguity>) -> Answer {
        Answer { class: None, verdict, order, ambiguous }
    }
}
