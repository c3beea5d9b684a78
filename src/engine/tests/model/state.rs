//! The facts of a track that screens and tables show.

use crate::session::{AbsentBy, ResourceState, TypeState, Wildcard};

use super::script::{Text, is_full_state};
use super::track::{Fate, Known, Owed, Status, Stray, Track, Wants};

/// Milliseconds after which a name counts as missing (docs/protocol.md#e-46).
pub(super) const MISSING_AFTER: u64 = 15_000;
/// Milliseconds after which a response counts as not answered.
pub(super) const STALE_AFTER: u64 = 10_000;

/// The facts of one type on one stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrackFacts {
    pub(super) state: TypeState,
    pub(super) wildcard: Wildcard,
    pub(super) names: Vec<Text>,
    pub(super) effective: Option<Wants>,
    /// Message numbers of the responses without a verdict.
    pub(super) pending: Vec<u64>,
    pub(super) in_force: Option<Text>,
    /// Names, with the request that asked first, and whether the client may have the resource.
    pub(super) owed: Vec<(Text, u64, bool)>,
    /// Names of resources that the client has, and the server owes again.
    pub(super) owed_again: Vec<Text>,
    pub(super) resources: Vec<ResourceFacts>,
    /// Number of resources that the client has.
    pub(super) present: usize,
    pub(super) refused: Vec<Text>,
    /// NACKs that no ACK of a later response has closed, and when the first one came.
    pub(super) open_nacks: (usize, Option<u64>),
    pub(super) nacks: usize,
}

#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(super) struct ResourceFacts {
    pub(super) name: Text,
    pub(super) state: &'static str,
    pub(super) absent_by: Option<&'static str>,
    /// The version that the server has sent last, for resources that the client has.
    pub(super) version: Option<Text>,
    pub(super) accepted: Option<Text>,
}

fn sorted<T: PartialOrd>(mut list: Vec<T>) -> Vec<T> {
    list.sort_by(|a, b| a.partial_cmp(b).expect("comparable"));
    list
}

impl Wants {
    pub(super) fn sorted(&self) -> Wants {
        Wants { wildcard: self.wildcard, names: sorted(self.names.clone()) }
    }
}

impl Track {
    pub(super) fn facts(&self, now: u64) -> TrackFacts {
        let pending = self.responses.iter().filter(|response| response.status == Status::Pending);
        let resources = self.resources(now);
        TrackFacts {
            state: self.state(now),
            wildcard: self.wants.wildcard,
            names: sorted(self.wants.names.clone()),
            effective: self.effective.as_ref().map(Wants::sorted),
            pending: pending.map(|response| response.seq).collect(),
            in_force: self.version_in_force(),
            owed: sorted(self.owed.iter().map(|owed| (owed.name, owed.since, owed.held)).collect()),
            owed_again: sorted(self.owed_again()),
            present: resources.iter().filter(|fact| self.uses(fact)).count(),
            resources: sorted(resources),
            refused: sorted(self.refused()),
            open_nacks: self.open_nacks(),
            nacks: self.unseen_nacks.len() + self.nacked().count(),
        }
    }

    /// The refused responses, with the times of their NACKs.
    pub(super) fn nacked(&self) -> impl Iterator<Item = (usize, u64)> {
        self.responses.iter().enumerate().filter_map(|(order, response)| match response.status {
            Status::Nacked { at, .. } => Some((order, at)),
            _ => None,
        })
    }

    /// A NACK is open until the client accepts a later response (docs/protocol.md#e-26).
    pub(super) fn open_nacks(&self) -> (usize, Option<u64>) {
        let is_acked = |order: &usize| self.responses[*order].status == Status::Acked;
        let newest_ack = (0..self.responses.len()).rev().find(is_acked);
        let recorded = self.nacked().filter(|(order, _)| newest_ack.is_none_or(|ack| ack < *order));
        let recorded = recorded.filter(|(order, _)| !self.responses[*order].is_given_up);
        let unseen = self.unseen_nacks.iter();
        let unseen = unseen.filter(|nack| newest_ack.is_none_or(|ack| ack < nack.before));
        let mut times: Vec<u64> = recorded.map(|(_, at)| at).chain(unseen.map(|nack| nack.at)).collect();
        times.sort_unstable();
        (times.len(), times.first().copied())
    }

    /// The worst state that applies.
    fn state(&self, now: u64) -> TypeState {
        let mut pending = self.responses.iter().filter(|response| response.status == Status::Pending);
        let oldest_pending = pending.next().map(|response| response.at);
        // A delta server sends what is requested again (docs/protocol.md#f-14).
        let owed = self.owed.iter().filter(|owed| !owed.held || self.delta).map(|owed| owed.at);
        let wildcard = self.wildcard_owed.filter(|_| is_full_state(self.kind));
        let owed_since = owed.chain(wildcard).min();
        let for_long = |since: Option<u64>, limit: u64| since.is_some_and(|since| now - since >= limit);
        let is_accepted = |status: Status| status == Status::Acked;
        let wants_something = self.wants.is_wildcard() || !self.wants.names.is_empty();
        if self.open_nacks().0 > 0 {
            TypeState::Nack
        } else if for_long(oldest_pending, STALE_AFTER) {
            TypeState::Stale
        } else if for_long(owed_since, MISSING_AFTER) {
            TypeState::Miss
        } else if oldest_pending.is_some() {
            TypeState::Sent
        } else if owed_since.is_some() {
            TypeState::Wait
        } else if self.names_known && self.wants.names.is_empty() && self.wants.wildcard == Wildcard::None {
            TypeState::Idle
        } else if self.accepted_unseen || self.responses.iter().any(|other| is_accepted(other.status)) {
            TypeState::Synced
        } else if self.refused_before && self.says_it_refuses() {
            TypeState::Nack
        } else if wants_something
            && self.stray.is_none()
            && (!self.accepted().is_empty() || self.claimed.is_some() || self.has_empty_version)
        {
            // docs/protocol.md#e-19
            TypeState::Synced
        } else {
            TypeState::Idle
        }
    }

    /// The version that the client has accepted last, or that it had before.
    pub(super) fn version_in_force(&self) -> Option<Text> {
        let accepted = self.responses.iter().rev().find(|response| response.status == Status::Acked);
        let had = Some(self.had).filter(|had| !had.is_empty());
        accepted.map(|response| response.push.version).or(had)
    }

    /// Whether the first request goes on with a refusal of the stream before.
    fn says_it_refuses(&self) -> bool {
        self.refused_claim.is_some() || self.has_refused_claims || self.stray == Some(Stray::Refusal)
    }

    /// Whether the client refuses something that was sent on this stream, or before it without a
    /// version accepted since.
    pub(super) fn is_refusing(&self) -> bool {
        let is_accepted = self.responses.iter().any(|response| response.status == Status::Acked);
        self.open_nacks().0 > 0 || (self.refused_before && !is_accepted)
    }

    /// Resources at an older version than the newest one (docs/protocol.md#f-17), and those that
    /// the client requests again (docs/protocol.md#f-14).
    fn owed_again(&self) -> Vec<Text> {
        let older = self.known.iter().filter(|known| self.has_older(known)).map(|known| known.name);
        let again = self.owed.iter().filter(|owed| owed.held && self.delta).map(|owed| owed.name);
        older.chain(again).collect()
    }

    /// Whether the client has the resource.
    fn uses(&self, fact: &ResourceFacts) -> bool {
        // The client ignores what it has not requested (docs/protocol.md#e-35).
        if self.names_known && self.unrequested.contains(&fact.name) && !self.wants.covers(fact.name) {
            return false;
        }
        ["present", "kept"].contains(&fact.state)
    }

    /// All names that the server has mentioned or owes.
    fn resources(&self, now: u64) -> Vec<ResourceFacts> {
        let unknown = self.owed.iter().filter(|owed| self.find(owed.name).is_none());
        let known = self.known.iter().map(|known| known.name).chain(unknown.map(|owed| owed.name));
        let accepted = self.accepted();
        let facts = known.map(|name| {
            let known = self.find(name);
            let (state, absent_by) = self.resource_state(name, known, now);
            let version = match known {
                Some(known) => Some(known.version).filter(|_| known.is_present()),
                None => self.claimed.filter(|_| state == ResourceState::Kept),
            };
            ResourceFacts {
                name,
                state: state.word(),
                absent_by: absent_by.map(AbsentBy::word),
                version,
                accepted: accepted.iter().find(|known| known.name == name).map(|known| known.version),
            }
        });
        facts.collect()
    }

    fn resource_state(
        &self,
        name: Text,
        known: Option<&Known>,
        now: u64,
    ) -> (ResourceState, Option<AbsentBy>) {
        let owed = self.owed.iter().find(|owed| owed.name == name);
        // Nothing is waited for once the stream has ended.
        let ended = self.ended.unwrap_or(now);
        let owed_since = |since: Option<u64>| match since {
            // docs/protocol.md#e-46
            Some(at) if ended - at >= MISSING_AFTER => (ResourceState::Absent, Some(AbsentBy::Timer)),
            _ => (ResourceState::Waiting, None),
        };
        let waiting = |owed: Option<&Owed>| match owed {
            Some(owed) if owed.held && known.is_none() => (ResourceState::Kept, None),
            _ => owed_since(owed.map(|owed| owed.at)),
        };
        let Some(known) = known else { return waiting(owed) };
        let unwanted = !self.wants.covers(name) && !self.unrequested.contains(&name);
        match known.fate {
            Fate::WantedAgain => waiting(owed),
            Fate::DoesNotExist if self.wants.names.contains(&name) => {
                (ResourceState::Absent, Some(AbsentBy::Server))
            }
            Fate::DoesNotExist if self.wants.covers(name) => match self.wants.wildcard {
                Wildcard::Unknown => (ResourceState::Removed, None),
                _ => (ResourceState::Absent, Some(AbsentBy::Server)),
            },
            Fate::DoesNotExist => (ResourceState::Released, None),
            Fate::Removed => (ResourceState::Removed, None),
            Fate::Released => (ResourceState::Released, None),
            // docs/protocol.md#f-23
            Fate::Sent | Fate::Kept if unwanted => (ResourceState::Released, None),
            Fate::Kept => (ResourceState::Kept, None),
            Fate::Sent => (ResourceState::Present, None),
        }
    }
}
