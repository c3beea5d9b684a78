//! The difference between what client and server believe, caused by xdscope.

use std::sync::Arc;

use super::outcome::SessionEvent;
use super::{MessageKind, Outcome};
use crate::wire::event::{Dir, Seq, Time};
use crate::wire::{Interference, InterventionFacts};

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
    /// Returns the divergence after an intervention, which came after the message `after`.
    pub(crate) fn after(
        before: Option<Divergence>,
        facts: Arc<InterventionFacts>,
        after: Seq,
        at: Time,
    ) -> Divergence {
        let altered = match (facts.dir, facts.interference) {
            (Dir::Resp, Interference::Changed) => 1,
            (Dir::Resp, Interference::Duplicated) => 2,
            _ => 0,
        };
        Divergence {
            since: before.as_ref().map_or(at, |before| before.since),
            count: before.as_ref().map_or(0, |before| before.count) + 1,
            altered: before.map_or(0, |before| before.altered).saturating_add(altered),
            facts,
            after,
        }
    }

    /// Notes a message of the type. Returns whether both sides agree again.
    pub(super) fn settles(&mut self, outcome: &Outcome) -> bool {
        match &outcome.what {
            SessionEvent::Response(_) => self.settles_with(MessageKind::Push, outcome.seq, None),
            SessionEvent::Request(request) => self.settles_with(request.kind, outcome.seq, request.answers),
            _ => false,
        }
    }

    /// Notes a message of the type by its kind, its number and the response that it answers.
    pub(crate) fn settles_with(&mut self, kind: MessageKind, n: Option<Seq>, answers: Option<Seq>) -> bool {
        if kind == MessageKind::Push && self.altered > 0 {
            self.altered -= 1;
            self.after = n.unwrap_or(self.after);
        }
        kind == MessageKind::Ack && self.altered == 0 && answers.is_some_and(|answered| answered > self.after)
    }
}
