//! Resources of a track, counted by what the cache of the client has.

use crate::session::condition::{Condition, Limits};
use crate::session::content::resource_set::{Presence, ResourceEntry};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Sym, Time};

use super::Track;
use super::reported::ReportedNames;
use crate::session::shared::Cached;

/// Number of resources of one type by the state that they have in the cache of the client, in the
/// words of gRFC A78.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Requested, and not sent or not answered yet.
    pub requested: u64,
    /// Do not exist, or were not sent in time.
    pub does_not_exist: u64,
    /// Accepted.
    pub acked: u64,
    /// Refused, without an earlier version in use.
    pub nacked: u64,
    /// Refused, with an earlier version in use.
    pub nacked_but_cached: u64,
}

impl CacheCounts {
    /// Adds the resources of another client.
    pub(crate) fn add(&mut self, other: &CacheCounts) {
        self.requested += other.requested;
        self.does_not_exist += other.does_not_exist;
        self.acked += other.acked;
        self.nacked += other.nacked;
        self.nacked_but_cached += other.nacked_but_cached;
    }
}

/// Counts of a track that visit each resource, cached for a number of messages.
#[derive(Clone, Debug, Default)]
pub(in crate::session) struct CountCache {
    /// The result of [`Track::present`](super::Track::present).
    pub(super) present: Cached<(u64, u64)>,
    /// The result of [`Track::in_use`](super::Track::in_use).
    pub(super) in_use: Cached<(u64, u64)>,
    /// The result of [`Track::reported_names`](super::Track::reported_names).
    pub(super) errors: Cached<(u64, ReportedNames)>,
}

impl Track {
    /// Counts the resources by what the cache of the client has.
    ///
    /// Visits names that are refused, absent or out of the ordinary, not all resources.
    pub(crate) fn cache_counts(&self, catalog: &Catalog, now: Time, limits: Limits) -> CacheCounts {
        let refused = self.refused_newest(catalog) + self.refused.unnamed();
        let is_over = |name: Sym| self.ttl.is_over(name, self.lifetime.ttl_clock(now));
        let has_none = |name: &Sym| self.is_out_of_use(catalog, *name) || is_over(*name);
        let nacked = self.refused.names().filter(has_none).count().min(refused) as u64;
        let cached = refused as u64 - nacked;
        let in_use = self.in_use(catalog, now, limits).saturating_sub(cached);
        let unanswered = match self.responses.pending().next() {
            Some(_) => in_use.saturating_sub(self.accepted.count() as u64),
            None => 0,
        };
        let owed = self.owed(catalog, now, limits);
        CacheCounts {
            requested: owed.names - owed.overdue + unanswered,
            does_not_exist: owed.overdue + owed.malformed + self.absent(catalog),
            acked: in_use - unanswered,
            nacked,
            nacked_but_cached: cached,
        }
    }

    /// Returns the number of requested names that the server has removed or reported as missing,
    /// and that the client does not use.
    fn absent(&self, catalog: &Catalog) -> u64 {
        let is_absent = |(name, entry): &(Sym, &ResourceEntry)| {
            matches!(entry.state, Presence::Removed | Presence::Absent(_))
                && self.names(catalog, *name, Some(entry))
                // A glob without members is empty, and not absent (docs/protocol.md#k-20).
                && !self.subscription.globs.contains(catalog, *name)
                && self.in_force(catalog, *name).is_none()
        };
        self.sent.exceptions().filter(is_absent).count() as u64
    }

    /// Returns when the oldest answer became owed that one side still owes the other.
    pub(crate) fn owed_since(&self) -> Option<Time> {
        let owed = self.verdicts_owed().next().into_iter().chain(self.answer_owed());
        owed.map(|condition: Condition| condition.since).min()
    }
}
