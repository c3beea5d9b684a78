//! Messages that a person decides about.

use std::sync::Arc;

use super::super::hold::{Decision, HoldQueue, LaneKey};
use super::report::report;
use super::{InterceptedStream, Step, Waiting, is_push};
use xdscope_engine::hold::{HeldFact, HeldId};
use xdscope_wire::Interference;
use xdscope_wire::event::{ApiVersion, Time};

/// A message that is or was held.
pub(super) struct ByHand {
    id: HeldId,
    decision: Option<Decision>,
}

impl InterceptedStream {
    /// Holds a message until a decision, or for a time.
    pub(super) fn hold(
        &mut self,
        mut waiting: Waiting,
        at: Time,
        queue: &mut HoldQueue,
        steps: &mut Vec<Step>,
    ) {
        let stream = *self.hold_number.get_or_insert_with(|| queue.number_stream());
        let (is_push, type_url) = waiting.lane();
        let id = queue.next_id();
        let contents = &waiting.contents;
        let fact = HeldFact {
            id,
            shape: contents.shape,
            is_v2: self.method.transport == ApiVersion::V2,
            type_url: type_url.clone(),
            version: contents.version.as_str().into(),
            nonce: contents.nonce.as_str().into(),
            node: self.node.clone(),
            count: contents.count(),
            bytes: contents.bytes.clone(),
        };
        let by: Arc<str> = id.by().into();
        steps.push(report(contents, Interference::Held, &by));
        waiting.postponed_by = (!is_push).then_some(by);
        waiting.due = queue.add(fact, LaneKey { stream, is_push, type_url }, at);
        waiting.by_hand = Some(ByHand { id, decision: None });
        self.wait(waiting);
    }

    /// Takes in what was decided about messages of the stream, and carries it out in order.
    pub fn decide(&mut self, at: Time, queue: &mut HoldQueue) -> Vec<Step> {
        for waiting in self.lanes.values_mut().flatten() {
            let Some(by_hand) = &mut waiting.by_hand else { continue };
            match queue.take_decision(by_hand.id) {
                None => {}
                Some(Decision::Until(due)) => waiting.due = due,
                Some(decision) => {
                    waiting.due = at;
                    by_hand.decision = Some(decision);
                }
            }
        }
        self.release_due(at, queue)
    }

    /// Forgets the held messages of a stream that has ended.
    pub fn abandon(&self, queue: &mut HoldQueue) {
        let held = self.lanes.values().flatten().filter_map(|waiting| waiting.by_hand.as_ref());
        held.for_each(|by_hand| queue.forget(by_hand.id));
    }

    /// Sends a message that has waited, or what was decided.
    pub(super) fn leave(&mut self, mut waiting: Waiting, queue: &mut HoldQueue, steps: &mut Vec<Step>) {
        let Some(ByHand { id, decision }) = waiting.by_hand.take() else {
            return self.forward(waiting, steps);
        };
        queue.sent(id);
        let by: Arc<str> = id.by().into();
        match decision {
            Some(Decision::Drop) => {
                steps.push(report(&waiting.contents, Interference::Dropped, &by));
                self.withhold(waiting, &by, steps);
            }
            Some(Decision::Bounce(text)) if is_push(waiting.message.dir) => {
                if let Some(waiting) = self.bounce(&text, waiting, &by, steps) {
                    self.forward(waiting, steps);
                }
            }
            Some(Decision::Replace(bytes)) => {
                self.change(&mut waiting, bytes, &by, steps);
                waiting.postponed_by = None;
                self.forward(waiting, steps);
            }
            _ => self.forward(waiting, steps),
        }
    }
}
