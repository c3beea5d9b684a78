//! Resources of a track that the client uses.

use crate::engine::session::ResourceState;
use crate::engine::session::condition::Limits;
use crate::engine::session::resource_set::ResourceEntry;
use crate::wire::content::Catalog;
use crate::wire::event::{Sym, Time, VersionInfo};

use super::Track;

impl Track {
    /// Returns the version that the client uses: the one that it has accepted last, or that a SotW
    /// client states in its requests (docs/protocol.md#e-20).
    pub(crate) fn version_in_force(&self) -> Option<&VersionInfo> {
        let accepted = self.verdicts.in_force.as_ref().map(|known| &known.version);
        let refused = self.verdicts.open_nack().and_then(|_| self.verdicts.nacks.iter().next_back());
        // Some clients state the version that they refuse.
        let is_in_use = |version: &&VersionInfo| {
            !version.is_empty() && refused.is_none_or(|nack| *nack.version != *version.as_str())
        };
        accepted.or_else(|| self.traffic.reported_version.as_ref().filter(is_in_use))
    }

    /// Returns the resource that the client uses under a name: accepted, or taken over from a
    /// refused response.
    pub(crate) fn in_force(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        let newest = self.refused.applied(name).or_else(|| self.accepted.get(catalog, name));
        newest.filter(ResourceEntry::is_present)
    }

    /// Returns the number of resources that the client uses, or has yet to accept or refuse.
    ///
    /// Equals [`Track::present`] as long as nothing is refused.
    pub(crate) fn in_use(&self, catalog: &Catalog, now: Time, limits: Limits) -> u64 {
        let present = self.present(catalog, now, limits);
        if self.refused.is_empty() {
            return present;
        }
        let messages = u64::from(self.traffic.requests) + self.traffic.pushes;
        let known = self.counted_in_use.get().filter(|(at, _)| *at == messages && self.deadlines.is_empty());
        if let Some((_, count)) = known {
            return count;
        }
        let is_counted = |name: &Sym| {
            let slot = self.sent.get(catalog, *name).filter(ResourceEntry::is_present);
            slot.is_some_and(|slot| {
                let (state, _) = self.resource_state(catalog, *name, Some(&slot), now, limits);
                !matches!(state, ResourceState::Released | ResourceState::Expired)
            })
        };
        let is_unused = |name: &Sym| self.in_force(catalog, *name).is_none() && is_counted(name);
        let unused = self.refused.names().filter(is_unused).count() as u64;
        // A glob collection whose members changed has no entry of its own any more, unless the
        // client waits for it.
        let is_listed =
            |name: &Sym| self.sent.get(catalog, *name).is_some() || self.waiting.get(*name).is_some();
        // The client drops a resource at the end of its time to live.
        let is_expired = |name: &Sym| {
            let slot = self.sent.get(catalog, *name);
            self.resource_state(catalog, *name, slot.as_ref(), now, limits).0 == ResourceState::Expired
        };
        let is_in_use = |name: &Sym| self.in_force(catalog, *name).is_some() && !is_expired(name);
        let is_kept = |name: &Sym| is_listed(name) && is_in_use(name) && !is_counted(name);
        let kept = self.refused.removed_names().filter(is_kept).count() as u64;
        let count = present.saturating_sub(unused) + kept;
        self.counted_in_use.set(Some((messages, count)));
        count
    }
}
