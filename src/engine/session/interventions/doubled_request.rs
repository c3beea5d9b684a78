//! Requests to which a server may answer what the client knows, because of xdscope.

use std::sync::Arc;

use crate::session::MessageKind;
use xdscope_wire::InterventionFacts;

/// Answers of a server to a request that may be the second ones.
const MAX_SECOND_ANSWERS: u8 = 2;

/// A request that xdscope has sent twice, or without what the client has. The server may send
/// again what the client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoubledRequest {
    facts: Arc<InterventionFacts>,
    /// Pushes that may still be a second answer.
    left: u8,
    /// The newest push states the same as before: it is a second answer.
    is_answered_twice: bool,
}

impl DoubledRequest {
    pub(crate) fn new(facts: &Arc<InterventionFacts>) -> DoubledRequest {
        DoubledRequest { facts: facts.clone(), left: MAX_SECOND_ANSWERS, is_answered_twice: false }
    }

    /// Notes a push. Returns whether it or a later one may be a second answer.
    pub(crate) fn pushed(&mut self, kind: MessageKind) -> bool {
        let may_be = self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.is_answered_twice = may_be && kind == MessageKind::Resend;
        may_be
    }

    /// Returns the intervention, if the newest push is a second answer.
    pub(crate) fn cause(&self) -> Option<&Arc<InterventionFacts>> {
        self.is_answered_twice.then_some(&self.facts)
    }
}
