//! Resources in refused responses: those that the NACK names, and those that the client uses.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::nack::ClientKind;
use crate::nack::NackScope;
use crate::nack::RestUse;
use xdscope_wire::ErrorDetail;
use xdscope_wire::content::{BlobId, Catalog, UsedContent};
use xdscope_wire::event::{DenseHash, Kind, Seq, Sym};

use super::compare::{hollow, key, mark_key, nameless};
use super::names::SymMap;
use super::resource_set::{Presence, ResourceEntry, ResourceSet};
use super::responses::{Body, Order};

/// The refusal of the newest content of a resource, or of its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The newest refused response with the resource.
    pub(crate) order: Order,
    /// The message of that response.
    pub(crate) response: Seq,
    /// The NACK of that response.
    pub(crate) nack: Seq,
    /// Whether the NACK names the resource, or names none at all.
    pub(crate) is_named: bool,
    /// Whether the refusal is certainly about the resource: the NACK names the resource, or the
    /// response has no other.
    pub(crate) is_certain: bool,
    /// Whether the client uses the resources that the NACK does not name.
    pub(crate) rest: RestUse,
    /// Whether the response is of a delta stream: the server does not send the resource again.
    pub(crate) is_delta: bool,
    /// The refused content; `None` for a removal, and if the source lacks the content.
    pub(crate) blob: Option<BlobId>,
    /// The version of the refused content.
    pub(crate) version: Sym,
}

/// Refused resources of a track.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    /// Names whose newest content was refused and not accepted since (docs/protocol.md#f-34).
    by_name: SymMap<Refusal>,
    /// Names that a refused response removes and that the client keeps.
    removals: SymMap<Refusal>,
    /// Resources that the client uses of refused responses, newer than those that it has accepted.
    applied: SymMap<ResourceEntry>,
    /// Names in `by_name` and `removals`, counted.
    counts: RefusedCounts,
    /// Number of names out of use because of a refused response, by the newest one with the name.
    unused: BTreeMap<Order, usize>,
    /// The scope of the newest NACK, for servers that repeat what was refused.
    newest: Option<KnownScope>,
}

/// Refused names by what their NACKs say.
#[derive(Clone, Copy, Debug, Default)]
struct RefusedCounts {
    /// Names that their NACKs name, or whose removal they refuse.
    named: usize,
    /// Other names, unless the client uses them.
    unnamed: usize,
}

impl RefusedCounts {
    fn count<'a>(refusals: impl Iterator<Item = &'a Refusal>) -> RefusedCounts {
        let mut counts = RefusedCounts::default();
        refusals.for_each(|refusal| counts.add(refusal));
        counts
    }

    fn add(&mut self, refusal: &Refusal) {
        self.named += usize::from(refusal.is_named);
        self.unnamed += usize::from(refusal.is_unused_rest());
    }

    /// A removal that a NACK does not name is not counted.
    fn add_removal(&mut self, removal: &Refusal) {
        self.named += usize::from(removal.is_named);
    }

    fn remove_removal(&mut self, removal: &Refusal) {
        self.named -= usize::from(removal.is_named);
    }

    fn remove(&mut self, refusal: &Refusal) {
        self.named -= usize::from(refusal.is_named);
        self.unnamed -= usize::from(refusal.is_unused_rest());
    }
}

impl Refusals {
    /// Marks the contents and names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        for refused in [&self.by_name, &self.removals] {
            refused.iter().for_each(|(name, refusal)| {
                mark_key(used, *name);
                refusal.mark(used);
            });
        }
        let removed = self.newest.iter().flat_map(|known| &known.removed);
        self.applied.keys().chain(removed).for_each(|name| mark_key(used, *name));
        self.applied.values().for_each(|entry| entry.mark(used));
    }
}

impl Refusal {
    /// Marks the content and the version as used.
    pub(in crate::session) fn mark(&self, used: &mut UsedContent) {
        if let Some(blob) = self.blob {
            used.blob(blob);
        }
        used.name(self.version);
    }

    /// Whether the NACK does not name the resource, and the client is not known to use it.
    fn is_unused_rest(&self) -> bool {
        !self.is_named && self.rest != RestUse::Used
    }

    /// Whether the refusal outlives an ACK of a later response that is not about the resource.
    ///
    /// A NACK rejects a response as a whole, so a delta client lacks also the resources that the
    /// NACK does not name, unless the client is known to use them (docs/protocol.md#f-34).
    pub(crate) fn stands(&self) -> bool {
        self.is_named || (self.is_delta && self.rest == RestUse::NotUsed)
    }

    /// Whether the refusal keeps the newest content, or the removal, out of use.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_named || self.rest != RestUse::Used
    }
}

/// The scope of a NACK, and what the scope was read from.
#[derive(Clone, Debug)]
struct KnownScope {
    text: Arc<str>,
    list: u128,
    removed: Box<[Sym]>,
    agent: Option<ClientKind>,
    scope: Arc<NackScope>,
}

/// A refused response, with what is known of the NACK.
pub(crate) struct RefusedResponse<'a> {
    pub(crate) body: &'a Body,
    pub(crate) order: Order,
    pub(crate) response: Seq,
    pub(crate) nack: Seq,
    pub(crate) error: Option<&'a ErrorDetail>,
    /// The implementation of the client by its node.
    pub(crate) agent: Option<ClientKind>,
    pub(crate) kind: Option<Kind>,
}

impl Refusals {
    /// Whether nothing is refused, and the client has what it has accepted.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.removals.is_empty() && self.applied.is_empty()
    }

    /// Whether the newest content of a name was refused.
    pub(crate) fn contains(&self, name: Sym) -> bool {
        self.by_name.contains_key(&name)
    }

    /// Returns the refusal of the newest content of a name.
    pub(crate) fn get(&self, name: Sym) -> Option<Refusal> {
        self.by_name.get(&name).copied()
    }

    /// Returns the refusal of the removal of a name.
    pub(crate) fn removal(&self, name: Sym) -> Option<Refusal> {
        self.removals.get(&name).copied()
    }

    /// Returns the names whose newest content was refused.
    pub(crate) fn names(&self) -> impl Iterator<Item = Sym> {
        self.by_name.keys().copied()
    }

    /// Returns the names that a refused response removes and that the client keeps.
    pub(crate) fn removed_names(&self) -> impl Iterator<Item = Sym> {
        self.removals.keys().copied()
    }

    /// Whether a refused response removes a name that the client keeps.
    pub(crate) fn has_removals(&self) -> bool {
        !self.removals.is_empty()
    }

    /// Returns the names in refused responses after `order`, sent or removed.
    pub(crate) fn names_after(&self, order: Option<Order>) -> impl Iterator<Item = Sym> {
        let all = self.by_name.iter().chain(&self.removals);
        let is_later = move |refusal: &Refusal| order.is_none_or(|order| refusal.order > order);
        all.filter(move |(_, refusal)| is_later(refusal)).map(|(name, _)| *name)
    }

    /// Returns the number of names that their NACKs name.
    pub(crate) fn named(&self) -> usize {
        self.counts.named
    }

    /// Returns the number of names in refused responses that their NACKs do not name, without those
    /// that the client uses.
    pub(crate) fn unnamed(&self) -> usize {
        self.counts.unnamed
    }

    /// Returns what the client uses of a name from a refused response, if that is newer than what
    /// the client has accepted.
    pub(crate) fn applied(&self, name: Sym) -> Option<ResourceEntry> {
        self.applied.get(&name).copied()
    }

    /// Returns the resources that the client uses from refused responses.
    pub(crate) fn all_applied(&self) -> impl Iterator<Item = (Sym, ResourceEntry)> {
        let applied = self.applied.iter().map(|(name, entry)| (*name, *entry));
        applied.filter(|(_, entry)| entry.is_present())
    }

    /// Returns the newest refused response with a name that is out of use because of it.
    pub(crate) fn newest_unused(&self) -> Option<Order> {
        self.unused.last_key_value().map(|(order, _)| *order)
    }

    /// Adds a refused response. `differing` are the names whose content the client does not have.
    /// Returns whether the refusal keeps a name out of use.
    pub(crate) fn add(
        &mut self,
        catalog: &Catalog,
        accepted: &ResourceSet,
        refused: &RefusedResponse<'_>,
        differing: Vec<Sym>,
    ) -> bool {
        let scope = self.scope(catalog, refused);
        let is_about = |name: Sym| match nameless(name) {
            Some(_) => scope.is_about(""),
            None => scope.is_about(catalog.text(name)),
        };
        let is_certain = scope.names_any() || refused.body.list.len() == 1;
        let is_explicit = refused.error.is_some() && is_certain;
        let differing: HashSet<Sym, DenseHash> = differing.into_iter().collect();
        for id in refused.body.list.blobs() {
            let name = key(catalog, *id);
            let is_named = is_about(name);
            let blob = if hollow(catalog, *id) { None } else { Some(*id) };
            // A client that has the content may refuse another version of it, if it says so.
            let refuses_version = is_explicit
                && is_named
                && blob.is_some()
                && refused.has_other_version(catalog, accepted, *id, name);
            if differing.contains(&name) || refuses_version {
                let version = refused.version_of(catalog, *id);
                let refusal = refused.refusal(is_named, scope.rest(), blob, version);
                self.refuse(name, Refusal { is_certain: is_certain && is_named, ..refusal });
            }
        }
        if scope.rest() == RestUse::Used {
            self.apply(catalog, refused, &differing, is_about);
        } else {
            for name in &refused.body.removed {
                self.refuse_removal(catalog, accepted, refused, *name, scope.rest());
            }
        }
        self.unused.contains_key(&refused.order)
    }

    /// Adds the refusal of the removal of a name, if the client has the resource.
    fn refuse_removal(
        &mut self,
        catalog: &Catalog,
        accepted: &ResourceSet,
        refused: &RefusedResponse<'_>,
        name: Sym,
        rest: RestUse,
    ) {
        let has_resource = match self.applied.get(&name) {
            Some(applied) => applied.is_present(),
            None => accepted.is_present(catalog, name),
        };
        let is_newest = self.removals.get(&name).is_none_or(|old| old.order <= refused.order);
        if has_resource && is_newest {
            self.forget_removal(name);
            // A delta response that only removes resources is refused for that.
            let is_named = refused.body.list.is_empty() && !refused.body.full;
            let removal = refused.refusal(is_named, rest, None, Sym::EMPTY);
            self.counts.add_removal(&removal);
            self.note_unused(refused.order);
            self.removals.insert(name, removal);
        }
    }

    /// Forgets the refusals of a name. Returns whether there was one.
    pub(crate) fn forget(&mut self, name: Sym) -> bool {
        let (content, removal) = (self.forget_content(name), self.forget_removal(name));
        content || removal
    }

    /// Forgets the refusal of the content of a name. Returns whether there was one.
    fn forget_content(&mut self, name: Sym) -> bool {
        let Some(old) = self.by_name.remove(&name) else { return false };
        self.counts.remove(&old);
        if old.is_unused() {
            self.note_used(old.order);
        }
        true
    }

    /// Forgets the refusal of the removal of a name. Returns whether there was one.
    fn forget_removal(&mut self, name: Sym) -> bool {
        let Some(old) = self.removals.remove(&name) else { return false };
        self.counts.remove_removal(&old);
        self.note_used(old.order);
        true
    }

    /// Counts a name that is out of use because of a refused response.
    fn note_unused(&mut self, order: Order) {
        *self.unused.entry(order).or_default() += 1;
    }

    /// Counts a name that is out of use no longer because of a refused response.
    fn note_used(&mut self, order: Order) {
        if let Some(names) = self.unused.get_mut(&order) {
            *names -= 1;
            if *names == 0 {
                self.unused.remove(&order);
            }
        }
    }

    /// Adds the refusal of a name, unless the name was refused later.
    fn refuse(&mut self, name: Sym, new: Refusal) {
        if self.by_name.get(&name).is_some_and(|old| old.order > new.order) {
            return;
        }
        self.forget(name);
        self.counts.add(&new);
        if new.is_unused() {
            self.note_unused(new.order);
        }
        self.by_name.insert(name, new);
    }

    /// Adds the content that the client uses although it refuses the response.
    fn apply(
        &mut self,
        catalog: &Catalog,
        refused: &RefusedResponse<'_>,
        differing: &HashSet<Sym, DenseHash>,
        is_about: impl Fn(Sym) -> bool,
    ) {
        let RefusedResponse { body, order, .. } = *refused;
        let mut apply = |name: Sym, entry: ResourceEntry| {
            if self.applied.get(&name).is_none_or(|old| old.order <= order) {
                self.applied.insert(name, entry);
            }
        };
        for id in body.list.blobs().iter().filter(|id| !hollow(catalog, **id)) {
            let name = key(catalog, *id);
            if is_about(name) || !(differing.contains(&name) || self.removals.contains_key(&name)) {
                continue;
            }
            let version = refused.version_of(catalog, *id);
            apply(name, ResourceEntry { state: Presence::Present, blob: Some(*id), version, order });
        }
        for name in &body.removed {
            apply(*name, ResourceEntry { state: Presence::Removed, blob: None, version: Sym::EMPTY, order });
        }
    }

    /// Forgets what an accepted response replaces. `names` are the names that the response sends or
    /// removes.
    pub(crate) fn accept(&mut self, order: Order, is_full: bool, names: impl Iterator<Item = Sym>) {
        let is_later = |refused: &Refusal| refused.order > order;
        if is_full {
            self.by_name.retain(|_, refused| is_later(refused));
            self.removals.retain(|_, refused| is_later(refused));
            self.counts = RefusedCounts::count(self.by_name.values());
            self.removals.values().for_each(|removal| self.counts.add_removal(removal));
            self.unused.retain(|refused, _| *refused > order);
            self.applied.retain(|_, entry| entry.order > order);
        } else {
            for name in names {
                if self.by_name.get(&name).is_some_and(|refused| !is_later(refused)) {
                    self.forget_content(name);
                }
                if self.removals.get(&name).is_some_and(|refused| !is_later(refused)) {
                    self.forget_removal(name);
                }
                if self.applied.get(&name).is_some_and(|entry| entry.order <= order) {
                    self.applied.remove(&name);
                }
            }
        }
    }

    /// Returns what the NACK says about the resources of the response.
    fn scope(&mut self, catalog: &Catalog, refused: &RefusedResponse<'_>) -> Arc<NackScope> {
        let Body { list, removed, .. } = refused.body;
        let Some(error) = refused.error else { return Arc::default() };
        if list.is_empty() {
            return Arc::default();
        }
        let is_known = |known: &&KnownScope| {
            known.list == list.fingerprint()
                && known.removed == *removed
                && known.agent == refused.agent
                && known.text == error.message
        };
        if let Some(known) = self.newest.as_ref().filter(is_known) {
            return known.scope.clone();
        }
        let text = |name: Sym| Arc::from(if nameless(name).is_some() { "" } else { catalog.text(name) });
        let sent: Vec<Arc<str>> = list.blobs().iter().map(|id| text(key(catalog, *id))).collect();
        let gone: Vec<Arc<str>> = removed.iter().map(|name| text(*name)).collect();
        let scope = NackScope::read(&error.message, &sent, &gone, refused.agent, refused.kind);
        let scope = Arc::new(scope);
        self.newest = Some(KnownScope {
            text: error.message.clone(),
            list: list.fingerprint(),
            removed: removed.clone(),
            agent: refused.agent,
            scope: scope.clone(),
        });
        scope
    }
}

impl RefusedResponse<'_> {
    /// Returns the refusal of a resource by its content and version.
    fn refusal(&self, is_named: bool, rest: RestUse, blob: Option<BlobId>, version: Sym) -> Refusal {
        let RefusedResponse { order, response, nack, .. } = *self;
        let is_delta = self.body.version == Sym::EMPTY && !self.body.full;
        Refusal { order, response, nack, is_named, is_certain: is_named, rest, is_delta, blob, version }
    }

    /// Whether the client has accepted another version of an entry before the response.
    fn has_other_version(&self, catalog: &Catalog, accepted: &ResourceSet, id: BlobId, name: Sym) -> bool {
        match accepted.get(catalog, name) {
            Some(known) if known.is_present() => {
                known.order <= self.order && known.version != self.version_of(catalog, id)
            }
            _ => false,
        }
    }

    /// Returns the version of an entry: its own, else that of the response.
    fn version_of(&self, catalog: &Catalog, id: BlobId) -> Sym {
        match catalog.entry(id).version {
            Sym::EMPTY => self.body.version,
            own => own,
        }
    }
}
