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
    /// Requests that the server does not have yet.
    postponed: u32,
    /// All interventions have postponed requests.
    only_postpones: bool,
}

impl Divergence {
    /// Returns the divergence after an intervention, which came after the message `after`; `None` if
    /// both sides agree again.
    pub(crate) fn after(
        before: Option<Divergence>,
        facts: Arc<InterventionFacts>,
        after: Seq,
        at: Time,
    ) -> Option<Divergence> {
        if facts.interference == Interference::Released {
            let mut before = before?;
            before.postponed = before.postponed.saturating_sub(1);
            return (before.postponed > 0 || !before.only_postpones).then_some(before);
        }
        let postpones = facts.dir == Dir::Req && facts.interference.postpones();
        let altered = match (facts.dir, facts.interference) {
            (Dir::Resp, Interference::Changed) => 1,
            (Dir::Resp, Interference::Duplicated) => 2,
            _ => 0,
        };
        let before = before.unwrap_or(Divergence {
            facts: facts.clone(),
            since: at,
            count: 0,
            after,
            altered: 0,
            postponed: 0,
            only_postpones: true,
        });
        Some(Divergence {
            since: before.since,
            count: before.count + 1,
            altered: before.altered.saturating_add(altered),
            postponed: before.postponed + u32::from(postpones),
            only_postpones: before.only_postpones && postpones,
            facts,
            after,
        })
    }

    /// Whether a push is to come that xdscope has changed.
    pub(super) fn awaits_changed_push(&self) -> bool {
        self.altered > 0 && (self.facts.dir, self.facts.interference) == (Dir::Resp, Interference::Changed)
    }

    /// Takes a push for the changed one. Returns the divergence of the type that it states.
    pub(super) fn claim(&mut self, n: Option<Seq>) -> Divergence {
        self.altered -= 1;
        self.after = n.unwrap_or(self.after);
        Divergence { altered: 0, ..self.clone() }
    }

    /// Notes that the stream of the interventions has ended: what was postponed is lost.
    pub(crate) fn lose_postponed(&mut self) {
        self.postponed = 0;
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
        // The answer waits behind a request that is postponed.
        let is_late = self.only_postpones && self.postponed > 0;
        kind == MessageKind::Ack
            && self.altered == 0
            && !is_late
            && answers.is_some_and(|answered| answered > self.after)
    }
}
