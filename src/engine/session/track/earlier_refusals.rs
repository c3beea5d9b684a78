//! Refusals of earlier streams that a client continues with.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::session::content::compare::{hollow, key, mark_key};
use crate::session::content::names::SymMap;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Body;
use crate::session::{NackFact, Refusal};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Seq, Sym};

use super::Track;

/// The refusal of the newest content of a resource on an earlier stream of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlierRefusal {
    pub(crate) refusal: Refusal,
    /// Whether the client had accepted no later response when the newest stream before ended.
    pub(crate) was_open: bool,
}

/// Resources whose newest content the client has refused before the stream, and of which it has
/// neither accepted nor refused another content since.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierRefusals {
    by_name: SymMap<EarlierRefusal>,
    /// The NACKs, by number.
    nacks: Arc<[NackFact]>,
}

impl EarlierRefusals {
    /// Marks the contents and names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.by_name.iter().for_each(|(name, earlier)| {
            mark_key(used, *name);
            earlier.refusal.mark(used);
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(crate) fn get(&self, name: Sym) -> Option<EarlierRefusal> {
        self.by_name.get(&name).copied()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = Sym> {
        self.by_name.keys().copied()
    }

    /// Returns the NACKs, oldest first.
    pub(crate) fn nacks(&self) -> &[NackFact] {
        &self.nacks
    }

    /// SotW: whether one of the refused responses has a version.
    pub(crate) fn has_version(&self, version: &str) -> bool {
        let nack = |earlier: &EarlierRefusal| self.nacks.iter().find(|nack| nack.n == earlier.refusal.nack);
        self.by_name.values().filter_map(nack).any(|nack| &*nack.version == version)
    }

    /// Returns those of names that the client continues with.
    pub(super) fn of_names(&self, is_wanted: impl Fn(Sym) -> bool) -> EarlierRefusals {
        let wanted = self.by_name.iter().filter(|(name, _)| is_wanted(**name));
        EarlierRefusals {
            by_name: wanted.map(|(name, earlier)| (*name, *earlier)).collect(),
            nacks: self.nacks.clone(),
        }
    }

    /// Forgets the refusal of a name.
    pub(super) fn forget(&mut self, name: Sym) {
        self.by_name.remove(&name);
    }

    /// Forgets the refusals of what a response with a verdict sends or removes: the verdict counts.
    pub(super) fn settle(&mut self, catalog: &Catalog, body: &Body, is_accepted: bool) {
        if self.is_empty() {
            return;
        }
        if body.full && is_accepted {
            self.by_name.clear();
        }
        let sent = body.list.blobs().iter().filter(|id| !hollow(catalog, **id));
        for name in sent.map(|id| key(catalog, *id)).chain(body.removed.iter().copied()) {
            self.by_name.remove(&name);
        }
    }
}

impl Track {
    /// Returns the refusals that a later stream of the client continues with.
    ///
    /// A client that has another content of the refused version states that version for the content
    /// that it has.
    pub(in crate::session) fn refusals_at_end(&self, catalog: &Catalog) -> EarlierRefusals {
        let earlier = &self.carried.refusals;
        if self.refused.named() + self.refused.unnamed() == 0 && earlier.is_empty() {
            return EarlierRefusals::default();
        }
        let is_settled = self.verdicts.last_at.is_some();
        let mut by_name: SymMap<EarlierRefusal> = earlier.by_name.clone();
        by_name.values_mut().for_each(|earlier| earlier.was_open &= !is_settled);
        for name in self.refused.names() {
            let Some(refusal) = self.refused.get(name) else { continue };
            let was_open = self.verdicts.newest_ack.is_none_or(|ack| ack < refusal.order);
            let accepted = self.accepted.get(catalog, name).filter(ResourceEntry::is_present);
            let is_same_version = accepted.is_some_and(|accepted| accepted.version == refusal.version);
            if refusal.is_unused() && (was_open || refusal.stands()) && !is_same_version {
                by_name.insert(name, EarlierRefusal { refusal, was_open });
            }
        }
        let nacks = by_name.values().filter_map(|earlier| self.nack(earlier.refusal.nack));
        let nacks: BTreeMap<Seq, NackFact> = nacks.map(|nack| (nack.n, nack.clone())).collect();
        EarlierRefusals { by_name, nacks: nacks.into_values().collect() }
    }

    /// Returns a NACK by its number, of the stream or of an earlier one.
    pub(crate) fn nack(&self, n: Seq) -> Option<&NackFact> {
        let earlier = || self.carried.refusals.nacks().iter().find(|nack| nack.n == n);
        self.verdicts.nack(n).or_else(earlier)
    }

    /// Returns the refusal of a name before the stream, unless the client refuses the name on the
    /// stream too.
    pub(crate) fn refused_before(&self, name: Sym) -> Option<EarlierRefusal> {
        let is_own = self.refused.contains(name) || self.refused.removal(name).is_some();
        if is_own { None } else { self.carried.refusals.get(name) }
    }

    /// Returns the refusals before the stream of names that the client wants.
    pub(crate) fn refusals_before<'a>(
        &'a self,
        catalog: &'a Catalog,
    ) -> impl Iterator<Item = (EarlierRefusal, Sym)> + 'a {
        let is_wanted = |name: &Sym| self.covers(catalog, *name, self.sent.get(catalog, *name).as_ref());
        let names = self.carried.refusals.names().filter(is_wanted);
        names.filter_map(|name| Some((self.refused_before(name)?, name)))
    }

    /// Whether the client refuses the newest content of a name, or its removal.
    pub(crate) fn refuses(&self, name: Sym) -> bool {
        self.refused.contains(name)
            || self.refused.removal(name).is_some()
            || self.carried.refusals.get(name).is_some()
    }

    /// Whether the client has refused the newest content of a resource before the stream, and the
    /// server takes it for one that the client has.
    pub(crate) fn is_kept_although_refused(&self, name: Sym, entry: Option<&ResourceEntry>) -> bool {
        entry.is_some_and(|entry| entry.state == Presence::Kept) && self.refused_before(name).is_some()
    }
}
