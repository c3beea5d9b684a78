//! Versions and names that a client brought along from before the stream.

use std::sync::Arc;

use crate::session::content::compare::{hollow, key};
use crate::session::track::claims::{ClaimOutcome, Claims, ReconnectCounts};
use crate::session::track::earlier_refusals::EarlierRefusals;
use xdscope_wire::content::{Catalog, List, UsedContent};
use xdscope_wire::event::Sym;

/// The answer in a first request to a response that its stream does not have: of another stream, or
/// of another client. The server may ignore the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrayAnswer {
    /// The request has a nonce.
    Nonce,
    /// The request has an error.
    Refusal,
}

/// Resources that the client brought along from before the stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// How much of it the server sent again or removed, apart from `claims`.
    pub(super) counts: ReconnectCounts,
    /// The entries of `initial_resource_versions`, by name.
    pub(crate) claims: Claims,
    /// The first names that the client had and did not request again.
    pub(crate) left: Arc<[Sym]>,
    /// Resources that no response has mentioned yet.
    pub(in crate::session) unmentioned: usize,
    /// The version that the client claims in its first request when no stream before this one is
    /// known: the client has what it asks for.
    pub(crate) claimed_version: Option<Sym>,
    /// SotW: whether the version that the client claims is the newest one, and has no resources.
    pub(crate) is_empty: bool,
    /// SotW: the version that the client claims in its first request, if the stream before neither
    /// had it in force nor sent it last.
    pub(crate) outdated: Option<Sym>,
    /// Whether the server owes another version of something that the client has.
    pub(crate) owes_newer: bool,
    /// SotW: the version that the client claims in its first request although it has refused it.
    pub(crate) refused: Option<Sym>,
    /// Refusals of earlier streams that the client continues with.
    pub(crate) refusals: EarlierRefusals,
    /// Delta: whether the client claims a version that it has refused.
    pub(crate) has_refused_claims: bool,
    /// The answer in the first request to a response that the stream does not have.
    pub(crate) stray: Option<StrayAnswer>,
    /// Whether the client claims resources of an unknown stream in such a request.
    pub(crate) is_unproved: bool,
    /// SotW: whether the request that claims a version may follow others, from before the
    /// recording: it need not be that of a reconnect.
    pub(crate) may_follow_others: bool,
}

impl Carried {
    /// Marks the names and versions as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.claims.mark(used);
        self.refusals.mark(used);
        used.run(&self.left);
        used.names(self.claimed_version.iter().chain(&self.outdated).chain(&self.refused));
    }

    /// SotW: counts the resources of the stream before. The client did not request `left` of them
    /// again. `claims`: its first request repeats a version.
    pub(crate) fn had(&mut self, all: u64, left: u64, claims: bool) {
        match claims {
            true => {
                self.counts.claimed += all;
                self.counts.left_behind += left;
            }
            false => self.counts.unclaimed += left,
        }
    }

    /// SotW: counts the resources that a client claims to have from a stream that was not recorded.
    pub(crate) fn claim_unseen(&mut self, names: usize) {
        self.counts.claimed += names as u64;
        self.unmentioned = names;
    }

    /// SotW: counts the resources that the client has at another version than the newest one.
    pub(crate) fn owes(&mut self, names: usize) {
        self.counts.owed = names as u64;
        self.owes_newer |= names > 0;
    }

    /// SotW: counts the resources of the stream before that a response sent again or left out.
    pub(super) fn count(&mut self, resent: usize, removed: usize) {
        self.counts.resent += resent as u64;
        self.counts.removed += removed as u64;
        self.unmentioned = self.unmentioned.saturating_sub(resent + removed);
    }

    /// Whether the client may have resources of streams that are not known, because its first
    /// request states a version.
    pub(crate) fn may_have_unseen(&self) -> bool {
        self.claimed_version.is_some() || self.is_unproved
    }

    /// Delta: whether the client states a resource that the server has removed before the stream,
    /// and of which the server owes the removal.
    pub(crate) fn is_removal_owed(&self, name: Sym) -> bool {
        let claim = self.claims.get(name);
        claim.is_some_and(|(claim, outcome)| outcome == ClaimOutcome::Owed && claim.known.is_none())
    }

    /// Whether the first request states a version of the resource, and subscribes to it.
    pub(super) fn is_stated(&self, name: Sym) -> bool {
        self.claims.get(name).is_some_and(|(_, outcome)| outcome != ClaimOutcome::LeftBehind)
    }

    /// Delta: records which of the stated resources a response sends again.
    pub(super) fn decide_claims(&mut self, catalog: &Catalog, list: &List) {
        if self.claims.is_empty() {
            return;
        }
        for id in list.blobs().iter().filter(|id| !hollow(catalog, **id)) {
            self.claims.decide(key(catalog, *id), ClaimOutcome::Resent);
        }
    }

    /// Returns the first names that the client had, did not request again, and has still.
    pub(crate) fn left_names(&self) -> impl Iterator<Item = Sym> {
        let has_been_removed =
            |name: Sym| self.claims.get(name).is_some_and(|(_, outcome)| outcome == ClaimOutcome::Removed);
        self.left.iter().copied().filter(move |name| !has_been_removed(*name))
    }

    /// Returns what became of the resources that the client brought along.
    pub(crate) fn counts(&self) -> ReconnectCounts {
        let mut counts = self.counts;
        counts.add(self.claims.counts());
        counts
    }
}
