//! The difference between what client and server believe, caused by xdscope.

use std::sync::Arc;

use super::outcome::SessionEvent;
use super::{MessageKind, Outcome};
use crate::wire::InterventionFacts;
use crate::wire::event::{Seq, Time};

/// Client and server believe different things about a type, because of xdscope.
///
/// Ends when the client acknowledges a later push that xdscope did not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The newest intervention.
    pub facts: Arc<InterventionFacts>,
    /// When the first of the interventions took place.
    pub since: Time,
    /// Number of interventions.
    pub count: u64,
    /// The newest message before the interventions ended.
    pub(super) after: Seq,
    /// Coming pushes that are part of the intervention.
    pub(super) altered: u8,
}

impl Divergence {
    /// Notes a message of the type. Returns whether both sides agree again.
    pub(super) fn settles(&mut self, outcome: &Outcome) -> bool {
        match &outcome.what {
            SessionEvent::Response(_) if self.altered > 0 => {
                self.altered -= 1;
                self.after = outcome.seq.unwrap_or(self.after);
                false
            }
            SessionEvent::Request(request) => {
                request.kind == MessageKind::Ack
                    && self.altered == 0
                    && request.answers.is_some_and(|answered| answered > self.after)
            }
            _ => false,
        }
    }
}
