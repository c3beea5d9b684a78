//! Outcomes of resources in clients.

use crate::store::{ResourceFact, ResourceState, StateFact, TypeState, WarmingFact};

/// The outcome of a resource in a client, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The newest content, or the removal, is in a refused push and not in use.
    Refused,
    /// The server has not sent the resource, or its newest version, in time.
    Missing,
    /// The client has not answered the newest content in time.
    Unanswered,
    /// Requested, sent or warming, and still in time.
    Pending,
    /// The client uses the newest content.
    InForce,
    /// Removed, expired, given up or ignored by the client: nobody waits for the resource.
    Gone,
}

impl Outcome {
    /// All outcomes, the worst first.
    pub const ALL: [Outcome; 6] = [
        Outcome::Refused,
        Outcome::Missing,
        Outcome::Unanswered,
        Outcome::Pending,
        Outcome::InForce,
        Outcome::Gone,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Refused => "refused",
            Outcome::Missing => "missing",
            Outcome::Unanswered => "unanswered",
            Outcome::Pending => "pending",
            Outcome::InForce => "in_force",
            Outcome::Gone => "gone",
        }
    }

    /// Returns the outcome of a resource. `state` is the state of its type.
    pub(super) fn of(fact: &ResourceFact, state: &StateFact, warming: Option<&WarmingFact>) -> Outcome {
        let is_late = fact.owed_again.is_some_and(|owed| owed.is_late);
        let is_withheld = fact.error.is_some() && fact.state == ResourceState::Waiting;
        match fact.state {
            _ if fact.refused || fact.is_in_unused_push() => Outcome::Refused,
            _ if fact.is_ignored() => Outcome::Gone,
            _ if fact.is_missing() || is_withheld || is_late => Outcome::Missing,
            ResourceState::Waiting => Outcome::Pending,
            ResourceState::Present | ResourceState::Kept | ResourceState::Orphan => {
                let is_unanswered = fact.is_unanswered || fact.is_removal_unanswered;
                match state.summary.last_state.unwrap_or(state.summary.state) {
                    TypeState::Stale if is_unanswered => Outcome::Unanswered,
                    _ if is_unanswered || warming.is_some_and(|fact| !fact.is_used_without) => {
                        Outcome::Pending
                    }
                    _ => Outcome::InForce,
                }
            }
            ResourceState::Removed if fact.is_removal_unanswered => Outcome::Pending,
            ResourceState::Removed
            | ResourceState::Absent
            | ResourceState::Empty
            | ResourceState::Expired
            | ResourceState::Redirected
            | ResourceState::Released => Outcome::Gone,
        }
    }

    /// Whether the outcome needs attention.
    pub fn is_problem(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::Missing | Outcome::Unanswered)
    }
}

/// Numbers of resources in clients by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: Outcome) {
        if let Some(count) = self.0.get_mut(outcome as usize) {
            *count += 1;
        }
    }

    /// Returns the number of an outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0.get(outcome as usize).copied().unwrap_or_default()
    }

    /// Returns the worst outcome that was counted.
    pub fn worst(&self) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| self.of(*outcome) > 0)
    }
}
