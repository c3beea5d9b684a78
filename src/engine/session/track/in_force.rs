//! Resources of a track that the client uses.

use crate::session::content::names::SymSet;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::track::condition::Limits;
use crate::session::{Refusal, ResourceState};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Sym, Time, VersionInfo};

use super::Track;

impl Track {
    /// Returns the version that the client uses: the one that it has accepted last, or that a SotW
    /// client states in its requests (docs/protocol.md#e-20).
    pub(crate) fn version_in_force(&self) -> Option<&VersionInfo> {
        let is_accepted = self.verdicts.in_force.is_some();
        self.stated_version().filter(|version| is_accepted || self.can_have(version))
    }

    /// Returns the version that the client uses, or states although no response had it.
    pub(crate) fn stated_version(&self) -> Option<&VersionInfo> {
        let accepted = self.verdicts.in_force.as_ref().map(|known| &known.version);
        let refused = self.verdicts.nacks.back().filter(|_| self.verdicts.is_refusing());
        // Some clients state the version that they refuse.
        let is_in_use = |version: &&VersionInfo| {
            !version.is_empty() && refused.is_none_or(|nack| *nack.version != *version.as_str())
        };
        accepted.or_else(|| self.traffic.stated_version.as_ref().filter(is_in_use))
    }

    /// Whether the client can have a version that it states: from before the first message of the
    /// stream that is known, or from a response.
    fn can_have(&self, version: &VersionInfo) -> bool {
        self.has_lost
            || self.start_unseen
            || self.traffic.first_version.as_ref() == Some(version)
            || self.responses.newest_with_version(version.as_str()).is_some()
    }

    /// Returns the resource that the client uses under a name: accepted, or taken over from a
    /// refused response.
    pub(crate) fn in_force(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        let newest = self.refused.applied(name).or_else(|| self.accepted.get(catalog, name));
        newest.filter(ResourceEntry::is_present)
    }

    /// Returns the refusals of names that the client wants, of NACKs that name them or name none,
    /// oldest first.
    pub(crate) fn standing_refusals(&self, catalog: &Catalog) -> Vec<(Refusal, Sym)> {
        if self.refused.named() == 0 {
            return Vec::new();
        }
        let is_wanted = |name: &Sym| self.covers(catalog, *name, self.sent.get(catalog, *name).as_ref());
        let contents = self.refused.names().map(|name| (self.refused.get(name), name));
        let removals = self.refused.removed_names().map(|name| (self.refused.removal(name), name));
        let named = contents.chain(removals).filter_map(|(refusal, name)| {
            Some((refusal.filter(|refusal| refusal.is_named)?, name)).filter(|_| is_wanted(&name))
        });
        let mut named: Vec<_> = named.collect();
        named.sort_unstable_by_key(|(refusal, name)| (refusal.nack, *name));
        named
    }

    /// Whether the newest content of a resource differs from the one that the client has refused,
    /// and the client has not answered the newest one yet.
    pub(crate) fn is_refusal_superseded(&self, name: Sym, slot: Option<&ResourceEntry>) -> bool {
        let Some(slot) = slot.filter(|slot| self.responses.is_pending(slot.order)) else { return false };
        let is_older = |refusal: Refusal| refusal.order < slot.order && refusal.blob != slot.blob;
        let removal = self.refused.removal(name).is_none_or(|of| slot.is_present() && of.order < slot.order);
        let content = self.refused.get(name).is_none_or(is_older);
        let is_refused = self.refused.contains(name) || self.refused.removal(name).is_some();
        is_refused && removal && content
    }

    /// Whether a refused push keeps the newest content of a resource out of use, and no other
    /// version is in force.
    pub(crate) fn is_out_of_use(&self, catalog: &Catalog, name: Sym) -> bool {
        self.refused.contains(name)
            && self.in_force(catalog, name).is_none()
            && !self.is_refusal_superseded(name, self.sent.get(catalog, name).as_ref())
    }

    /// Returns the number of resources whose newest content the client refuses, in NACKs that name
    /// them or name none.
    pub(crate) fn refused_newest(&self, catalog: &Catalog) -> usize {
        let named = self.refused.named();
        if named == 0 || self.responses.pending().next().is_none() {
            return named;
        }
        let is_superseded = |name: &Sym| {
            let is_named = self.refused.get(*name).is_some_and(|refusal| refusal.is_named);
            is_named && self.is_refusal_superseded(*name, self.sent.get(catalog, *name).as_ref())
        };
        named - self.refused.names().filter(is_superseded).count()
    }

    /// SotW: returns the names in responses that the client has refused since it accepted one, if
    /// it has another version than they have.
    ///
    /// The server owes them to the next stream of the client, because a refusal does not outlive
    /// its stream (docs/protocol.md#e-03).
    pub(in crate::session) fn refused_since_ack(&self) -> Vec<Sym> {
        let in_force = self.version_in_force();
        let ack = self.verdicts.newest_ack;
        let is_other = self.responses.refused_after(ack).any(|refused| Some(&refused.version) != in_force);
        if is_other { self.refused.names_after(ack).collect() } else { Vec::new() }
    }

    /// Whether the server has removed a resource that the client wants and uses, and the client has
    /// not answered yet (docs/protocol.md#e-44).
    pub(crate) fn is_removal_unanswered(
        &self,
        catalog: &Catalog,
        name: Sym,
        slot: Option<&ResourceEntry>,
    ) -> bool {
        slot.is_some_and(|slot| {
            slot.state == Presence::Removed
                && self.responses.is_pending(slot.order)
                && self.covers(catalog, name, Some(slot))
                && self.in_force(catalog, name).is_some()
        })
    }

    /// Returns the names that responses without a verdict remove.
    fn removals_without_verdict(&self) -> SymSet {
        let bodies = self.responses.pending().filter_map(|response| response.body.as_ref());
        bodies.flat_map(|body| body.removed.iter().copied()).collect()
    }

    /// Returns the number of resources that the client uses, or has yet to accept or refuse.
    ///
    /// Equals [`Track::present`] as long as nothing is refused, and each removal has a verdict.
    pub(crate) fn in_use(&self, catalog: &Catalog, now: Time, limits: Limits) -> u64 {
        let present = self.present(catalog, now, limits);
        if self.refused.is_empty() && self.responses.pending().next().is_none() {
            return present;
        }
        let messages = u64::from(self.traffic.requests) + self.traffic.pushes;
        let known = self.counted_in_use.get().filter(|(at, _)| *at == messages && self.deadlines.is_empty());
        if let Some((_, count)) = known {
            return count;
        }
        let is_counted = |name: &Sym| {
            let slot = self.sent.get(catalog, *name);
            if slot.is_none() {
                return self.waiting.get(*name).is_some_and(|request| request.has_resource);
            }
            let slot = slot.filter(ResourceEntry::is_present);
            slot.is_some_and(|slot| {
                let (state, _) = self.resource_state(catalog, *name, Some(&slot), now, limits);
                !matches!(state, ResourceState::Released | ResourceState::Expired)
                    && !self.is_ignored(catalog, *name, &slot)
            })
        };
        let is_unused = |name: &Sym| self.is_out_of_use(catalog, *name) && is_counted(name);
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
        // The client ignores a resource that was sent again after a refused removal, and not
        // requested.
        let is_ignored = |name: &Sym| {
            let slot = self.sent.get(catalog, *name);
            self.is_refusal_superseded(*name, slot.as_ref())
                && slot.is_some_and(|slot| self.is_ignored(catalog, *name, &slot))
        };
        let is_kept =
            |name: &Sym| is_listed(name) && is_in_use(name) && !is_counted(name) && !is_ignored(name);
        let is_removed =
            |name: &Sym| self.is_removal_unanswered(catalog, *name, self.sent.get(catalog, *name).as_ref());
        let removed = self.removals_without_verdict().into_iter().filter(is_removed);
        let kept: SymSet = self.refused.removed_names().filter(is_kept).chain(removed).collect();
        let kept = kept.len() as u64;
        let count = present.saturating_sub(unused) + kept;
        self.counted_in_use.set(Some((messages, count)));
        count
    }
}
