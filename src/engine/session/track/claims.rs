//! The account of a reconnect: the resources that a client had on the stream before, and their
//! fates.
//!
//! For delta streams the account is kept by name, because the client states the names and versions
//! in `initial_resource_versions` (docs/protocol.md#f-15). Each stated name has exactly one
//! outcome, so that the counts add up.

use std::sync::Arc;

use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{Seq, Sym};

use crate::session::content::names::SymMap;

/// Names of each list of left resources that are kept.
pub(crate) const MAX_LEFT_NAMES: usize = 1000;

/// The fate of a resource that the client stated in `initial_resource_versions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimOutcome {
    /// The server has not mentioned it: the client continues with the stated version.
    Kept,
    /// The server sent it again.
    Resent,
    /// The server removed it, or reported that it does not exist.
    Removed,
    /// The first request does not subscribe to it.
    LeftBehind,
    /// The server had sent another version, or had removed the resource, and owes that again
    /// (docs/protocol.md#f-17).
    Owed,
}

impl ClaimOutcome {
    /// All outcomes.
    pub const ALL: [ClaimOutcome; 5] = [
        ClaimOutcome::Kept,
        ClaimOutcome::Resent,
        ClaimOutcome::Removed,
        ClaimOutcome::LeftBehind,
        ClaimOutcome::Owed,
    ];

    /// The word in the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            ClaimOutcome::Kept => "kept",
            ClaimOutcome::Resent => "resent",
            ClaimOutcome::Removed => "removed",
            ClaimOutcome::LeftBehind => "left_behind",
            ClaimOutcome::Owed => "owed",
        }
    }
}

/// One entry of `initial_resource_versions`.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    pub(crate) name: Sym,
    /// The version that the client states.
    pub(crate) version: Sym,
    /// The newest version that the server was seen to send before the stream.
    pub(crate) known: Option<Sym>,
}

/// The entries of `initial_resource_versions` of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// The request that states them.
    pub(crate) stated_by: Option<Seq>,
    /// Sorted by name.
    entries: Arc<[Claim]>,
    /// The outcomes other than [`ClaimOutcome::Kept`].
    decided: Arc<SymMap<ClaimOutcome>>,
    /// Numbers of these outcomes.
    counts: ReconnectCounts,
}

impl Claims {
    /// `left` are the names to which the client does not subscribe.
    pub(crate) fn new(stated_by: Seq, mut entries: Vec<Claim>, left: &[Sym]) -> Claims {
        entries.sort_unstable_by_key(|claim| claim.name);
        let decided: SymMap<_> = left.iter().map(|name| (*name, ClaimOutcome::LeftBehind)).collect();
        let (claimed, left_behind) = (entries.len() as u64, decided.len() as u64);
        let counts = ReconnectCounts { claimed, left_behind, ..ReconnectCounts::default() };
        Claims { stated_by: Some(stated_by), entries: entries.into(), decided: Arc::new(decided), counts }
    }

    /// Marks the names and versions as used.
    pub(in crate::session) fn mark(&self, used: &mut UsedContent) {
        for claim in &*self.entries {
            used.names([claim.name, claim.version].iter().chain(&claim.known));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries with their outcomes, sorted by symbol.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Claim, ClaimOutcome)> {
        self.entries.iter().map(|claim| (claim, self.outcome_of(claim)))
    }

    /// Returns the entry of a name, and its outcome.
    pub(crate) fn get(&self, name: Sym) -> Option<(&Claim, ClaimOutcome)> {
        let index = self.entries.binary_search_by_key(&name, |claim| claim.name).ok()?;
        self.entries.get(index).map(|claim| (claim, self.outcome_of(claim)))
    }

    fn outcome_of(&self, claim: &Claim) -> ClaimOutcome {
        self.decided.get(&claim.name).copied().unwrap_or(ClaimOutcome::Kept)
    }

    /// Records what the server did first with a stated name, or that it owes the resource.
    pub(crate) fn decide(&mut self, name: Sym, outcome: ClaimOutcome) {
        let is_complete = self.decided.len() == self.entries.len();
        if is_complete && self.counts.owed + self.counts.left_behind == 0 {
            return;
        }
        let Some((_, known)) = self.get(name) else { return };
        // A server may remove what the client has not subscribed to again.
        let is_removal = known == ClaimOutcome::LeftBehind && outcome == ClaimOutcome::Removed;
        let is_undecided = matches!(known, ClaimOutcome::Kept | ClaimOutcome::Owed);
        if known == outcome || !(is_undecided || is_removal) {
            return;
        }
        self.counts.owed -= u64::from(known == ClaimOutcome::Owed);
        self.counts.left_behind -= u64::from(known == ClaimOutcome::LeftBehind);
        Arc::make_mut(&mut self.decided).insert(name, outcome);
        match outcome {
            ClaimOutcome::Kept => {}
            ClaimOutcome::Resent => self.counts.resent += 1,
            ClaimOutcome::Removed => self.counts.removed += 1,
            ClaimOutcome::LeftBehind => self.counts.left_behind += 1,
            ClaimOutcome::Owed => self.counts.owed += 1,
        }
    }

    pub(crate) fn counts(&self) -> ReconnectCounts {
        self.counts
    }
}

/// Fates of the resources of a client after a reconnect, counted.
///
/// `claimed` is the sum of `resent`, `removed`, [`ReconnectCounts::kept`], `left_behind` and
/// `owed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconnectCounts {
    /// Resources that the client claimed to have: the entries of `initial_resource_versions`
    /// (delta), or all resources of the stream before, if the first request repeats a version
    /// (SotW).
    pub claimed: u64,
    /// Claimed resources that the server sent again.
    pub resent: u64,
    /// Claimed resources that the server removed.
    pub removed: u64,
    /// Claimed resources to which the client did not subscribe again.
    pub left_behind: u64,
    /// Claimed resources of which the server had sent another version, or which it had removed, and
    /// has not mentioned since.
    pub owed: u64,
    /// Resources that the client had on the stream before, and neither claimed nor requested again.
    pub unclaimed: u64,
}

impl ReconnectCounts {
    /// Claimed resources that the server need not mention: the client continues with them.
    pub fn kept(&self) -> u64 {
        self.claimed.saturating_sub(self.resent + self.removed + self.left_behind + self.owed)
    }

    /// Adds the counts of another track.
    pub(crate) fn add(&mut self, other: ReconnectCounts) {
        self.claimed += other.claimed;
        self.resent += other.resent;
        self.removed += other.removed;
        self.left_behind += other.left_behind;
        self.owed += other.owed;
        self.unclaimed += other.unclaimed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_has_one_outcome() {
        let entry = |name| Claim { name: Sym(name), version: Sym(9), known: None };
        let entries = [3, 1, 2, 4, 5, 6].map(entry);
        let mut claims = Claims::new(Seq(1), entries.to_vec(), &[Sym(4)]);
        claims.decide(Sym(5), ClaimOutcome::Owed);
        claims.decide(Sym(6), ClaimOutcome::Owed);
        claims.decide(Sym(6), ClaimOutcome::Resent);
        claims.decide(Sym(1), ClaimOutcome::Resent);
        claims.decide(Sym(1), ClaimOutcome::Removed);
        claims.decide(Sym(2), ClaimOutcome::Removed);
        claims.decide(Sym(4), ClaimOutcome::Resent);
        claims.decide(Sym(7), ClaimOutcome::Resent);
        assert_eq!(claims.counts().left_behind, 1, "a resource that is sent is not subscribed by that");
        claims.decide(Sym(4), ClaimOutcome::Removed);
        let outcomes: Vec<_> = claims.iter().map(|(claim, outcome)| (claim.name.0, outcome.word())).collect();
        let decided = [(1, "resent"), (2, "removed"), (3, "kept"), (4, "removed")];
        assert_eq!(outcomes, [&decided[..], &[(5, "owed"), (6, "resent")]].concat());
        let counts = claims.counts();
        assert_eq!(
            counts,
            ReconnectCounts { claimed: 6, resent: 2, removed: 2, left_behind: 0, owed: 1, unclaimed: 0 }
        );
        assert_eq!(counts.kept(), 1);
    }
}
