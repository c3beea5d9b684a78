//! Resources of a track that the client uses.

use std::sync::Arc;

use crate::session::condition::Limits;
use crate::session::content::names::SymSet;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Response;
use crate::session::{Refusal, ResourceState};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Nonce, Seq, Sym, Time, VersionInfo};

use super::{StrayAnswer, Track};

impl Track {
    /// Returns the version that the client uses: the one that it has accepted last on the stream,
    /// else the one that it had before (docs/protocol.md#e-20).
    pub(crate) fn version_in_force(&self) -> Option<&VersionInfo> {
        let accepted = self.verdicts.in_force.as_ref().map(|known| &known.version);
        accepted.or(self.verdicts.stated.as_ref())
    }

    /// SotW: records the version that a request states as the one in use.
    ///
    /// A client cannot have a version that it has only refused, nor one that neither a response nor
    /// an earlier stream had: such a version changes nothing. Some clients state the version that
    /// they refuse.
    pub(super) fn note_stated_version(&mut self, version: &VersionInfo) {
        if self.verdicts.in_force.is_some() || self.verdicts.stated.as_ref() == Some(version) {
            return;
        }
        let is_first = self.traffic.requests == 0;
        let newest = self.responses.newest_with_version(version.as_str());
        let is_refused = newest.is_some_and(Response::is_refused);
        let is_known =
            is_first || self.completeness.has_lost || self.completeness.start_unseen || newest.is_some();
        if !version.is_empty() && is_known && !is_refused {
            self.verdicts.stated = Some(version.clone());
        }
    }

    /// SotW: records with a NACK which version the client keeps.
    pub(super) fn note_kept_version(&mut self, n: Seq) {
        if self.verdicts.nacks.back().is_none_or(|nack| nack.n != n) {
            return;
        }
        let kept = self.version_in_force().map(|version| Arc::from(version.as_str()));
        if let Some(nack) = self.verdicts.nacks.back_mut() {
            nack.keeps = kept;
        }
    }

    /// Returns the answer of a first request to a response that the stream does not have.
    /// `answers`: the response that the request settles.
    pub(super) fn stray_answer(
        &self,
        starts: bool,
        answers: Option<Seq>,
        nonce: &Nonce,
        has_error: bool,
    ) -> Option<StrayAnswer> {
        // The request of a poll answers the poll before, perhaps on another connection.
        if !starts || self.polled || answers.is_some() {
            return None;
        }
        let is_unknown = !nonce.is_empty() && self.responses.find(nonce).is_none();
        match (has_error, is_unknown) {
            (true, _) => Some(StrayAnswer::Refusal),
            (false, true) => Some(StrayAnswer::Nonce),
            (false, false) => None,
        }
    }

    /// Returns since when the client refuses what an earlier stream has sent, if its first request
    /// says so again, or claims a version that it has refused. The server may not send that again.
    pub(super) fn refuses_since(&self) -> Option<Time> {
        let is_claimed = self.carried.refused.is_some() || self.carried.has_refused_claims;
        match &self.verdicts.earlier {
            Some(earlier) if is_claimed || self.carried.stray == Some(StrayAnswer::Refusal) => {
                Some(earlier.since)
            }
            _ => None,
        }
    }

    /// Returns the resource that the client uses under a name: accepted, or taken over from a
    /// refused response.
    pub(crate) fn in_force(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        let newest = self.refused.applied(name).or_else(|| self.accepted.get(catalog, name));
        newest.filter(ResourceEntry::is_present)
    }

    /// Whether the client has refused a resource, and uses none under its name.
    pub(crate) fn has_only_refused(&self, catalog: &Catalog, name: Sym) -> bool {
        self.refuses(name) && self.in_force(catalog, name).is_none()
    }

    /// Returns the refusals of names that the client wants, oldest first; of one NACK, those that
    /// it names come first.
    pub(crate) fn standing_refusals(&self, catalog: &Catalog) -> Vec<(Refusal, Sym)> {
        let is_any = self.refused.named() + self.refused.unnamed() > 0 || self.refused.has_removals();
        if !is_any && self.carried.refusals.is_empty() {
            return Vec::new();
        }
        let is_wanted = |name: &Sym| self.covers(catalog, *name, self.sent.get(catalog, *name).as_ref());
        let contents = self.refused.names().map(|name| (self.refused.get(name), name));
        let removals = self.refused.removed_names().map(|name| (self.refused.removal(name), name));
        let mut standing: Vec<(Refusal, Sym)> = Vec::new();
        for (refusal, name) in contents.chain(removals) {
            if let Some(refusal) = refusal.filter(Refusal::stands)
                && is_wanted(&name)
            {
                standing.push((refusal, name));
            }
        }
        let earlier = self.refusals_before(catalog).map(|(earlier, name)| (earlier.refusal, name));
        standing.extend(earlier.filter(|(refusal, _)| refusal.stands()));
        standing.sort_unstable_by_key(|(refusal, name)| (refusal.nack, !refusal.is_named, *name));
        standing
    }

    /// Whether the newest content of a resource differs from the one that the client has refused,
    /// and the client has not answered the newest one yet.
    pub(crate) fn is_refusal_superseded(&self, name: Sym, entry: Option<&ResourceEntry>) -> bool {
        let Some(entry) = entry else { return false };
        if entry.state == Presence::Kept || !self.responses.is_pending(entry.order) || !self.refuses(name) {
            return false;
        }
        if let Some(removal) = self.refused.removal(name)
            && (!entry.is_present() || removal.order >= entry.order)
        {
            return false;
        }
        if let Some(refusal) = self.refused.get(name)
            && (refusal.blob == entry.blob || refusal.order >= entry.order)
        {
            return false;
        }
        self.refused_before(name).is_none_or(|earlier| earlier.refusal.blob != entry.blob)
    }

    /// Whether a refused push keeps the newest content of a resource out of use, and no other
    /// version is in force.
    pub(crate) fn is_out_of_use(&self, catalog: &Catalog, name: Sym) -> bool {
        (self.refused.contains(name) || self.refused_before(name).is_some())
            && self.in_force(catalog, name).is_none()
            && !self.is_refusal_superseded(name, self.sent.get(catalog, name).as_ref())
    }

    /// Returns the number of resources whose newest content the client refuses, in NACKs that name
    /// them or name none.
    pub(crate) fn refused_newest(&self, catalog: &Catalog) -> usize {
        let is_superseded =
            |name: &Sym| self.is_refusal_superseded(*name, self.sent.get(catalog, *name).as_ref());
        let earlier = self.refusals_before(catalog).filter(|(earlier, _)| earlier.refusal.is_named);
        let earlier = earlier.filter(|(_, name)| !is_superseded(name)).count();
        let named = self.refused.named();
        if named == 0 || self.responses.pending().next().is_none() {
            return named + earlier;
        }
        let is_named = |name: &Sym| self.refused.get(*name).is_some_and(|refusal| refusal.is_named);
        named + earlier - self.refused.names().filter(is_named).filter(is_superseded).count()
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
        entry: Option<&ResourceEntry>,
    ) -> bool {
        entry.is_some_and(|entry| {
            entry.state == Presence::Removed
                && self.responses.is_pending(entry.order)
                && self.covers(catalog, name, Some(entry))
                && self.in_force(catalog, name).is_some()
        })
    }

    /// Returns the number of resources that the client uses, or has yet to accept or refuse.
    ///
    /// Equals [`Track::present`] as long as nothing is refused, and each removal has a verdict.
    pub(crate) fn in_use(&self, catalog: &Catalog, now: Time, limits: Limits) -> u64 {
        let present = self.present(catalog, now, limits);
        let is_refusing = !self.refused.is_empty() || !self.carried.refusals.is_empty();
        if !is_refusing && self.responses.pending().next().is_none() {
            return present;
        }
        let messages = self.traffic.messages();
        let known =
            self.counts.in_use.get().filter(|(at, _)| *at == messages && self.ttl.deadlines.is_empty());
        if let Some((_, count)) = known {
            return count;
        }
        let mut unused = 0;
        let earlier = self.refusals_before(catalog).map(|(_, name)| name);
        for name in self.refused.names().chain(earlier) {
            if self.is_out_of_use(catalog, name) && self.is_counted(catalog, name, now, limits) {
                unused += 1;
            }
        }
        let mut kept = SymSet::default();
        for name in self.refused.removed_names() {
            if self.is_kept_although_removed(catalog, name, now, limits) {
                kept.insert(name);
            }
        }
        for name in self.responses.removals_without_verdict() {
            if self.is_removal_unanswered(catalog, name, self.sent.get(catalog, name).as_ref()) {
                kept.insert(name);
            }
        }
        let count = present.saturating_sub(unused) + kept.len() as u64;
        self.counts.in_use.set((messages, count));
        count
    }

    /// Whether [`Track::present`] counts a resource.
    fn is_counted(&self, catalog: &Catalog, name: Sym, now: Time, limits: Limits) -> bool {
        match self.sent.get(catalog, name) {
            Some(entry) => {
                entry.is_present()
                    && !self.is_dropped(catalog, name, Some(&entry), now, limits)
                    && !self.is_ignored(catalog, name, &entry)
            }
            None => self.waiting.get(name).is_some_and(|request| request.has_resource),
        }
    }

    /// Whether the client has dropped a resource, at the end of its time to live or because it has
    /// given the resource up.
    fn is_dropped(
        &self,
        catalog: &Catalog,
        name: Sym,
        entry: Option<&ResourceEntry>,
        now: Time,
        limits: Limits,
    ) -> bool {
        let (state, _) = self.resource_state(catalog, name, entry, now, limits);
        matches!(state, ResourceState::Expired | ResourceState::Released)
    }

    /// Whether the client uses a resource after a refused removal, and [`Track::present`] does not
    /// count the resource.
    fn is_kept_although_removed(&self, catalog: &Catalog, name: Sym, now: Time, limits: Limits) -> bool {
        let entry = self.sent.get(catalog, name);
        if entry.is_none() && self.waiting.get(name).is_none() {
            // A glob collection whose members changed has no entry of its own any more, unless the
            // client waits for it.
            return false;
        }
        if let Some(entry) = &entry
            && self.is_ignored(catalog, name, entry)
            && self.is_refusal_superseded(name, Some(entry))
        {
            // The resource was sent again after the refused removal, and not requested.
            return false;
        }
        self.in_force(catalog, name).is_some()
            && !self.is_dropped(catalog, name, entry.as_ref(), now, limits)
            && !self.is_counted(catalog, name, now, limits)
    }
}
