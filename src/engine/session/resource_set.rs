//! The resources of a track: what a client was sent, or what it has accepted.
//!
//! A set is a base and a patch. The base is the entry list of one large response and is shared with
//! the catalog and with the sets of other clients that were sent an equal list. The patch is a map
//! of the names for which something else is known.
//!
//! Invariants, which `tests` checks against a plain map after arbitrary operations:
//!
//! 1. Each entry of the base has a payload, and no key occurs twice. The key of an entry is its
//!    name, or its content if it has no known name; the empty name is never a key.
//! 2. The patch wins: a name in the patch is what the patch says, whether or not the base has the
//!    name. A name in neither is unknown.
//! 3. All entries of the base are [`Presence::Present`], or all are [`Presence::Kept`]. Only
//!    [`ResourceSet::carry`] makes a base of kept entries, with order 0, and such a base is never
//!    folded: folding would lose the difference.
//! 4. `count` is the number of present names, those of base and patch together.
//! 5. `dirty` is at least the number of patch entries that are present or hide an entry of the
//!    base. It can be too large, which only brings the next fold forward. If `dirty` is 0, the
//!    present resources are exactly the base, in its order.
//! 6. A present entry without content (claimed by version only) is in the patch, never in the base.
//! 7. `Base::versions`, if set, has one version for each entry of the list. It is set only if
//!    entries without a version of their own were sent with different versions.
//! 8. The patch is bounded: it is folded into a new base once `dirty` exceeds
//!    [`MAX_SMALL_RESPONSE`] plus an eighth of the base, and of names that have ended about
//!    [`MAX_ENDED_NAMES`] are kept.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::wire::content::{BlobId, Catalog, List};
use crate::wire::event::{DenseHash, Sym};

use super::AbsentBy;
use super::compare::{Compare, align, hollow, key, nameless, same_content, version, without_repeats};
use super::names::SymSet;
use super::responses::Order;

/// The state of one resource on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceEntry {
    pub(crate) state: Presence,
    /// The entry with the newest content.
    pub(crate) blob: Option<BlobId>,
    pub(crate) version: Sym,
    /// The response with that entry.
    pub(crate) order: Order,
}

/// Whether and why a client has a resource or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Sent on this stream.
    Present,
    /// Sent on an earlier stream, and not on this one.
    Kept,
    /// Requested again after it was released.
    Again,
    /// Removed by the server.
    Removed,
    /// Does not exist.
    Absent(AbsentBy),
    /// Its time to live is over.
    Expired,
    /// Released by the client, and then missing in a full-state response.
    Released,
}

impl ResourceEntry {
    /// Whether the client has the resource.
    pub(crate) fn is_present(&self) -> bool {
        matches!(self.state, Presence::Present | Presence::Kept)
    }
}

/// Names without a resource that are kept, so that their end can be shown.
const MAX_ENDED_NAMES: usize = 1 << 14;
/// Entries of a response up to which it is handled entry by entry.
const MAX_SMALL_RESPONSE: usize = 64;

/// The resources of a track. See the module for its invariants.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResourceSet {
    base: Option<Base>,
    patch: IndexMap<Sym, ResourceEntry, DenseHash>,
    /// Number of present resources.
    count: usize,
    /// Upper bound of the patch entries that differ from the base.
    dirty: usize,
}

#[derive(Clone, Debug)]
struct Base {
    /// The entries, without repeated names and without entries that have no payload.
    list: Arc<List>,
    /// Version of entries that have none of their own.
    version: Sym,
    /// Version of each entry, if they differ.
    versions: Option<Arc<[Sym]>>,
    order: Order,
    state: Presence,
}

/// The changes that a response makes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) added: Vec<Sym>,
    pub(crate) changed: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    pub(crate) same: u64,
    /// Bytes of new and changed entries.
    pub(crate) bytes_new: u64,
    /// Entries without a payload.
    pub(crate) hollow: Vec<BlobId>,
    /// Names that occur twice in the response.
    pub(crate) twice: Vec<Sym>,
    /// Names whose content changed although the version did not.
    pub(crate) rewritten: Vec<Sym>,
}

/// A response to be added to a set.
#[derive(Clone, Copy)]
pub(crate) struct IncomingResponse<'a> {
    pub(crate) list: &'a Arc<List>,
    pub(crate) version: Sym,
    pub(crate) order: Order,
}

fn own_version(catalog: &Catalog, id: BlobId, else_version: Sym) -> Sym {
    match version(catalog, id) {
        Sym::EMPTY => else_version,
        version => version,
    }
}

impl Base {
    fn new(
        catalog: &mut Catalog,
        blobs: Vec<BlobId>,
        versions: Vec<Sym>,
        order: Order,
        state: Presence,
    ) -> Base {
        let first = versions.first().copied().unwrap_or_default();
        let mut pairs = blobs.iter().zip(&versions);
        let mixed = pairs.any(|(id, own)| *own != first && version(catalog, *id) == Sym::EMPTY);
        let versions = mixed.then(|| versions.into());
        Base { list: catalog.intern_list(blobs), version: first, versions, order, state }
    }

    fn of(taken: IncomingResponse<'_>, list: Arc<List>) -> Base {
        Base { list, version: taken.version, versions: None, order: taken.order, state: Presence::Present }
    }

    fn slot(&self, catalog: &Catalog, blob: BlobId, at: impl FnOnce() -> Option<usize>) -> ResourceEntry {
        let version = self.versions.as_ref().and_then(|versions| versions.get(at()?).copied());
        let version = own_version(catalog, blob, version.unwrap_or(self.version));
        ResourceEntry { state: self.state, blob: Some(blob), version, order: self.order }
    }

    fn get(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        let blobs = self.list.blobs();
        let blob = match nameless(name) {
            Some(blob) => blobs.contains(&blob).then_some(blob),
            // Entries without a name have keys of their own: the empty name is not the name of any
            // of them.
            None if name == Sym::EMPTY => None,
            // The index is worth its memory for long lists only.
            // Entries without a name share the empty name in the index, and have keys of their own.
            None if blobs.len() > 8 => self.list.find(catalog, name).filter(|id| key(catalog, *id) == name),
            None => blobs.iter().copied().find(|id| key(catalog, *id) == name),
        }?;
        Some(self.slot(catalog, blob, || blobs.iter().position(|id| *id == blob)))
    }
}

impl ResourceSet {
    /// The number of present resources.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        match self.patch.get(&name) {
            Some(slot) => Some(*slot),
            None => self.base.as_ref()?.get(catalog, name),
        }
    }

    pub(crate) fn is_present(&self, catalog: &Catalog, name: Sym) -> bool {
        self.get(catalog, name).is_some_and(|slot| slot.is_present())
    }

    /// Sets the entry of one name.
    pub(crate) fn put(&mut self, catalog: &mut Catalog, name: Sym, slot: ResourceEntry) {
        let was = self.get(catalog, name);
        self.replace_slot(name, was, slot);
        self.settle(catalog);
    }

    fn replace_slot(&mut self, name: Sym, was: Option<ResourceEntry>, slot: ResourceEntry) {
        self.count -= usize::from(was.is_some_and(|was| was.is_present()));
        self.count += usize::from(slot.is_present());
        // Counting an entry twice only brings the next fold forward.
        self.dirty += usize::from(match self.patch.insert(name, slot) {
            Some(old) => slot.is_present() && !old.is_present(),
            None => slot.is_present() || was.is_some(),
        });
    }

    /// All entries, in order of appearance: the base, then later names.
    pub(crate) fn slots(&self, catalog: &Catalog) -> Vec<(Sym, ResourceEntry)> {
        let mut out = Vec::with_capacity(self.count + self.patch.len());
        let mut shown = SymSet::default();
        if let Some(base) = &self.base {
            for (at, id) in base.list.blobs().iter().enumerate() {
                let name = key(catalog, *id);
                match self.patch.get(&name) {
                    Some(slot) => {
                        shown.insert(name);
                        out.push((name, *slot));
                    }
                    None => out.push((name, base.slot(catalog, *id, || Some(at)))),
                }
            }
        }
        out.extend(self.patch.iter().filter(|(name, _)| !shown.contains(*name)).map(|(n, s)| (*n, *s)));
        out
    }

    /// The entries of the patch.
    pub(crate) fn exceptions(&self) -> impl Iterator<Item = (Sym, &ResourceEntry)> {
        self.patch.iter().map(|(name, slot)| (*name, slot))
    }

    /// The contents of present entries, in order. Entries known by version only have no content.
    fn flat(&self, catalog: &Catalog) -> Cow<'_, [BlobId]> {
        let blobs = self.base.as_ref().map_or(&[][..], |base| base.list.blobs());
        if self.dirty == 0 {
            return Cow::Borrowed(blobs);
        }
        let slots = self.slots(catalog);
        Cow::Owned(
            slots
                .into_iter()
                .filter(|(_, slot)| slot.is_present())
                .filter_map(|(_, slot)| slot.blob)
                .collect(),
        )
    }

    /// Version under which an entry was sent on this stream; empty if it was sent on an earlier
    /// one.
    fn version_here(&self, catalog: &Catalog, name: Sym, id: BlobId) -> Sym {
        match self.base.as_ref().is_some_and(|base| base.state == Presence::Kept) {
            true => Sym::EMPTY,
            false => self.version_of(catalog, name, id),
        }
    }

    /// Version under which an entry of the base was sent.
    fn version_of(&self, catalog: &Catalog, name: Sym, id: BlobId) -> Sym {
        match &self.base {
            Some(base) if self.dirty == 0 && base.versions.is_none() => {
                own_version(catalog, id, base.version)
            }
            _ => self.get(catalog, name).map_or(Sym::EMPTY, |slot| slot.version),
        }
    }

    /// Folds the patch into a new base once it is large, and drops old ended names.
    fn settle(&mut self, catalog: &mut Catalog) {
        let len = self.base.as_ref().map_or(0, |base| base.list.len());
        let kept = self.base.as_ref().is_some_and(|base| base.state == Presence::Kept);
        if self.dirty > MAX_SMALL_RESPONSE + len / 8 && !kept {
            self.fold(catalog);
        }
        if self.patch.len() - self.dirty.min(self.patch.len()) > MAX_ENDED_NAMES {
            let mut over = MAX_ENDED_NAMES / 2;
            let base = &self.base;
            self.patch.retain(|name, slot| {
                let goes = over > 0
                    && !slot.is_present()
                    && base.as_ref().is_none_or(|base| base.get(catalog, *name).is_none());
                over -= usize::from(goes);
                !goes
            });
        }
    }

    /// Makes a new base of the present entries, in order of appearance. Other entries stay in the
    /// patch.
    fn fold(&mut self, catalog: &mut Catalog) {
        let patch = std::mem::take(&mut self.patch);
        let most = self.base.as_ref().map_or(0, |base| base.list.len()) + patch.len();
        let (mut blobs, mut versions) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut order = 0;
        let mut take =
            |name: Sym, slot: ResourceEntry, rest: &mut IndexMap<Sym, ResourceEntry, DenseHash>| match slot
                .blob
            {
                Some(blob) if slot.state == Presence::Present => {
                    blobs.push(blob);
                    versions.push(slot.version);
                    order = slot.order.max(order);
                }
                _ => {
                    rest.insert(name, slot);
                }
            };
        let mut in_base = vec![false; patch.len()];
        if let Some(base) = &self.base {
            for (at, id) in base.list.blobs().iter().enumerate() {
                let name = key(catalog, *id);
                let slot = match patch.get_full(&name) {
                    Some((index, _, slot)) => {
                        in_base[index] = true;
                        *slot
                    }
                    None => base.slot(catalog, *id, || Some(at)),
                };
                take(name, slot, &mut self.patch);
            }
        }
        for ((name, slot), _) in patch.iter().zip(in_base).filter(|(_, in_base)| !in_base) {
            take(*name, *slot, &mut self.patch);
        }
        self.base = Some(Base::new(catalog, blobs, versions, order, Presence::Present));
        self.dirty = self.patch.values().filter(|slot| slot.is_present()).count();
    }

    /// Adds a full-state response. Resources that it leaves out are removed if `covered` (the
    /// client still wants them), else released (docs/protocol.md#e-32, docs/protocol.md#e-44).
    pub(crate) fn take_full(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        taken: IncomingResponse<'_>,
        covered: impl Fn(Sym) -> bool,
    ) -> Change {
        let old = self.flat(catalog);
        let found = align(catalog, &old, taken.list.blobs());
        let mut change = Change { same: found.same, ..Change::default() };
        let mut blobs = found.unique;
        for (was, id) in &found.pairs {
            let version = self.version_here(catalog, key(catalog, *id), *was);
            change.pair(catalog, compare, (*was, version), (*id, taken.version));
        }
        for id in &found.fresh {
            change.fresh(catalog, self, *id, taken.version);
        }
        change.twice = found.twice;
        if !change.hollow.is_empty() {
            // A heartbeat keeps the resource and its content (docs/protocol.md#g-10).
            let content: IndexMap<BlobId, BlobId, DenseHash> =
                found.pairs.iter().map(|(was, id)| (*id, *was)).collect();
            let list = blobs.as_deref().unwrap_or(taken.list.blobs());
            let with_content = list.iter().filter_map(|id| match hollow(catalog, *id) {
                true => content.get(id).copied(),
                false => Some(*id),
            });
            blobs = Some(with_content.collect());
        }
        let mentioned: SymSet = match self.dirty {
            0 => SymSet::default(),
            _ => taken.list.blobs().iter().map(|id| key(catalog, *id)).collect(),
        };
        let mut ended: Vec<(Sym, ResourceEntry)> = Vec::new();
        for id in found.gone {
            let name = key(catalog, id);
            let version = self.version_of(catalog, name, id);
            ended.push((
                name,
                ResourceEntry { state: Presence::Removed, blob: Some(id), version, order: taken.order },
            ));
        }
        let bare = |slot: &ResourceEntry| slot.is_present() && slot.blob.is_none();
        let gone = self.patch.iter().filter(|(name, slot)| bare(slot) && !mentioned.contains(*name));
        ended.extend(gone.map(|(name, slot)| {
            (*name, ResourceEntry { state: Presence::Removed, order: taken.order, ..*slot })
        }));
        let beating: SymSet = change.hollow.iter().map(|id| key(catalog, *id)).collect();
        let list = match blobs {
            Some(blobs) => catalog.intern_list(blobs),
            None => taken.list.clone(),
        };
        let fresh: SymSet = found.fresh.iter().map(|id| key(catalog, *id)).collect();
        self.patch.retain(|name, slot| match slot.is_present() {
            true => bare(slot) && beating.contains(name),
            false => !fresh.contains(name) || beating.contains(name),
        });
        self.dirty = self.patch.values().filter(|slot| slot.is_present()).count();
        self.count = list.len() + self.dirty;
        for (name, mut slot) in ended {
            if covered(name) {
                change.removed.push(name);
            } else {
                slot.state = Presence::Released;
            }
            self.patch.insert(name, slot);
        }
        self.base = Some(Base::of(taken, list));
        self.settle(catalog);
        change
    }

    /// Adds a response that does not affect the names that it leaves out (docs/protocol.md#e-33).
    pub(crate) fn take_partial(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        taken: IncomingResponse<'_>,
    ) -> Change {
        if taken.list.len() > MAX_SMALL_RESPONSE || (self.count == 0 && taken.list.len() > 8) {
            return self.take_large(catalog, compare, taken);
        }
        let (blobs, twice) = without_repeats(catalog, taken.list.blobs());
        let mut change = Change { twice, ..Change::default() };
        for id in blobs {
            if hollow(catalog, id) {
                change.hollow.push(id);
                continue;
            }
            let name = key(catalog, id);
            let was = self.get(catalog, name);
            match was.filter(ResourceEntry::is_present) {
                Some(ResourceEntry { blob: Some(blob), version, state, .. }) => {
                    // The entry was not sent on this stream at that version.
                    let version = if state == Presence::Present { version } else { Sym::EMPTY };
                    change.pair(catalog, compare, (blob, version), (id, taken.version));
                }
                _ => change.fresh(catalog, self, id, taken.version),
            }
            let version = own_version(catalog, id, taken.version);
            let slot =
                ResourceEntry { state: Presence::Present, blob: Some(id), version, order: taken.order };
            self.replace_slot(name, was, slot);
        }
        self.settle(catalog);
        change
    }

    fn take_large(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        taken: IncomingResponse<'_>,
    ) -> Change {
        let old = self.flat(catalog);
        let found = align(catalog, &old, taken.list.blobs());
        let mut change = Change { same: found.same, twice: found.twice, ..Change::default() };
        for (was, id) in &found.pairs {
            let version = self.version_here(catalog, key(catalog, *id), *was);
            change.pair(catalog, compare, (*was, version), (*id, taken.version));
        }
        for id in &found.fresh {
            change.fresh(catalog, self, *id, taken.version);
        }
        let list = if change.hollow.is_empty() && found.unique.is_none() {
            taken.list.clone()
        } else {
            let all = found.unique.as_deref().unwrap_or(taken.list.blobs());
            catalog.intern_list(all.iter().copied().filter(|id| !hollow(catalog, *id)).collect())
        };
        // Present resources that the response leaves out move to the patch.
        let left_out: Vec<(Sym, ResourceEntry)> =
            match found.gone.is_empty() && change.hollow.is_empty() && self.dirty == 0 {
                true => Vec::new(),
                false => {
                    let now: SymSet = list.blobs().iter().map(|id| key(catalog, *id)).collect();
                    let slots = self.slots(catalog).into_iter();
                    slots.filter(|(name, slot)| slot.is_present() && !now.contains(name)).collect()
                }
            };
        // A heartbeat has no content, so the patch entry of its name stays.
        let fresh = found.fresh.iter().filter(|id| !hollow(catalog, **id));
        let fresh: SymSet = fresh.map(|id| key(catalog, *id)).collect();
        self.patch.retain(|name, slot| !slot.is_present() && !fresh.contains(name));
        self.count = list.len() + left_out.len();
        self.dirty = left_out.len();
        self.patch.extend(left_out);
        self.base = Some(Base::of(taken, list));
        self.settle(catalog);
        change
    }

    /// Adds an acknowledged response. `sent` is the set of everything that the server has sent.
    pub(crate) fn accept(
        &mut self,
        catalog: &mut Catalog,
        sent: &ResourceSet,
        taken: IncomingResponse<'_>,
        full: bool,
    ) {
        // The accepted set equals the sent set, unless the client still has resources whose removal
        // it has not acknowledged.
        let nothing_else = full || self.count == 0 || self.is_just(taken.list);
        let whole = sent.base.as_ref().filter(|base| {
            nothing_else
                && sent.dirty == 0
                && base.order == taken.order
                && Arc::ptr_eq(&base.list, taken.list)
        });
        match whole {
            Some(base) => {
                *self = ResourceSet {
                    count: base.list.len(),
                    base: Some(base.clone()),
                    ..ResourceSet::default()
                };
            }
            None if full => {
                self.take_full(catalog, None, taken, |_| true);
                self.patch.retain(|_, slot| slot.is_present());
            }
            None => {
                self.take_partial(catalog, None, taken);
            }
        }
    }

    /// Whether the present resources are exactly the entries of the list.
    fn is_just(&self, list: &Arc<List>) -> bool {
        self.dirty == 0 && self.base.as_ref().is_some_and(|base| Arc::ptr_eq(&base.list, list))
    }

    /// Returns the names in a refused response whose content the client does not have.
    pub(crate) fn refused(
        &self,
        catalog: &Catalog,
        compare: Option<Compare<'_>>,
        list: &List,
        order: Order,
    ) -> Vec<Sym> {
        let newer =
            |name: Sym| self.get(catalog, name).is_some_and(|slot| slot.is_present() && slot.order > order);
        let names = |ids: Vec<BlobId>| ids.into_iter().map(|id| key(catalog, id));
        if list.len() <= MAX_SMALL_RESPONSE {
            let differs = list.blobs().iter().copied().filter(|id| {
                let held = self
                    .get(catalog, key(catalog, *id))
                    .filter(ResourceEntry::is_present)
                    .and_then(|slot| slot.blob);
                !hollow(catalog, *id) && !held.is_some_and(|held| same_content(catalog, compare, held, *id))
            });
            return names(differs.collect()).filter(|name| !newer(*name)).collect();
        }
        let found = align(catalog, &self.flat(catalog), list.blobs());
        let pairs = found.pairs.into_iter().filter(|(was, id)| !same_content(catalog, compare, *was, *id));
        let differs = found.fresh.into_iter().chain(pairs.map(|(_, id)| id));
        names(differs.filter(|id| !hollow(catalog, *id)).collect()).filter(|name| !newer(*name)).collect()
    }

    /// Returns the present resources that `wanted` accepts, as kept resources of the next stream.
    pub(crate) fn carry(
        &self,
        catalog: &mut Catalog,
        wanted: impl Fn(&Catalog, Sym, &ResourceEntry) -> bool,
    ) -> ResourceSet {
        let slots: Vec<_> = self.slots(catalog).into_iter().filter(|(_, slot)| slot.is_present()).collect();
        let all = slots.len();
        let slots: Vec<_> = slots.into_iter().filter(|(name, slot)| wanted(catalog, *name, slot)).collect();
        if slots.len() == all && self.dirty == 0 {
            let base = self.base.clone().map(|base| Base { state: Presence::Kept, order: 0, ..base });
            return ResourceSet { count: all, base, ..ResourceSet::default() };
        }
        let mut kept = ResourceSet::default();
        let (mut blobs, mut versions) = (Vec::new(), Vec::new());
        for (name, slot) in slots {
            match slot.blob {
                Some(blob) => {
                    blobs.push(blob);
                    versions.push(slot.version);
                }
                None => {
                    kept.replace_slot(name, None, ResourceEntry { state: Presence::Kept, order: 0, ..slot })
                }
            }
        }
        kept.count += blobs.len();
        kept.base = Some(Base::new(catalog, blobs, versions, 0, Presence::Kept));
        kept
    }
}

impl Change {
    /// Compares an entry and its version with the previous one of the name.
    fn pair(
        &mut self,
        catalog: &Catalog,
        compare: Option<Compare<'_>>,
        (was, version): (BlobId, Sym),
        (id, response_version): (BlobId, Sym),
    ) {
        if hollow(catalog, id) {
            self.hollow.push(id);
        } else if same_content(catalog, compare, was, id) {
            self.same += 1;
        } else {
            self.changed.push(key(catalog, id));
            self.bytes_new += u64::from(catalog.blob(id).size);
            if version != Sym::EMPTY && version == own_version(catalog, id, response_version) {
                self.rewritten.push(key(catalog, id));
            }
        }
    }

    /// Adds an entry whose name is new, or known by version only.
    fn fresh(&mut self, catalog: &Catalog, set: &ResourceSet, id: BlobId, version: Sym) {
        if hollow(catalog, id) {
            return self.hollow.push(id);
        }
        let name = key(catalog, id);
        match set.patch.get(&name).filter(|slot| slot.is_present()) {
            Some(kept) if kept.version == own_version(catalog, id, version) => self.same += 1,
            Some(_) => {
                self.changed.push(name);
                self.bytes_new += u64::from(catalog.blob(id).size);
            }
            None => {
                self.added.push(name);
                self.bytes_new += u64::from(catalog.blob(id).size);
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/resource_set.rs"]
mod tests;
