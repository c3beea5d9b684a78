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
//!    [`MAX_SMALL_RESPONSE`] plus an eighth of base and patch, and of names that have ended about
//!    [`MAX_ENDED_NAMES`] are kept.
//!
//! A partial response costs in proportion to its entries: work on the whole set happens only once
//! changes to an eighth of the set have come.

mod apply;
mod base;
mod change;
mod entry;
mod verdict;

pub(crate) use change::{Change, IncomingResponse};
pub(crate) use entry::{Presence, ResourceEntry};

use std::borrow::Cow;

use indexmap::IndexMap;

use xdscope_wire::content::{BlobId, Catalog, UsedContent};
use xdscope_wire::event::{DenseHash, Sym};

use super::compare::{key, mark_key};
use super::names::SymSet;
use crate::session::engine::visits;
use base::Base;
use change::own_version;

/// Names without a resource that are kept, so that their end can be shown.
const MAX_ENDED_NAMES: usize = 1 << 14;
/// Entries of a response up to which it is handled entry by entry, in a set of any size.
const MAX_SMALL_RESPONSE: usize = 64;
/// One part in this many of a set may change before work on the whole set is due.
const CHANGED_DIVISOR: usize = 8;

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

impl ResourceSet {
    /// The number of present resources.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of entries apart from the shared base.
    pub(crate) fn own_len(&self) -> usize {
        self.patch.len()
    }

    /// Returns the entry of a name.
    pub(crate) fn get(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        match self.patch.get(&name) {
            Some(entry) => Some(*entry),
            None => self.base.as_ref()?.get(catalog, name),
        }
    }

    pub(crate) fn is_present(&self, catalog: &Catalog, name: Sym) -> bool {
        self.get(catalog, name).is_some_and(|entry| entry.is_present())
    }

    /// Sets the entry of one name.
    pub(crate) fn put(&mut self, catalog: &mut Catalog, name: Sym, entry: ResourceEntry) {
        let was = self.get(catalog, name);
        self.replace_entry(name, was, entry);
        self.settle(catalog);
    }

    /// Adds the entries of another set whose names are unknown.
    pub(crate) fn add_missing(&mut self, catalog: &mut Catalog, other: ResourceSet) {
        if self.base.is_none() && self.patch.is_empty() {
            *self = other;
            return;
        }
        for (name, entry) in other.entries(catalog) {
            if self.get(catalog, name).is_none() {
                self.put(catalog, name, entry);
            }
        }
    }

    /// Removes the entry of a name without a resource, so that nothing is known of the name.
    pub(crate) fn drop_ended(&mut self, catalog: &Catalog, name: Sym) {
        let ended = self.patch.get(&name).is_some_and(|entry| !entry.is_present());
        if ended && self.base.as_ref().is_none_or(|base| base.get(catalog, name).is_none()) {
            self.patch.shift_remove(&name);
        }
    }

    /// Puts an entry into the patch, and counts it. `was` is the entry of the name before.
    fn replace_entry(&mut self, name: Sym, was: Option<ResourceEntry>, entry: ResourceEntry) {
        self.count -= usize::from(was.is_some_and(|was| was.is_present()));
        self.count += usize::from(entry.is_present());
        // Counting an entry twice only brings the next fold forward.
        self.dirty += usize::from(match self.patch.insert(name, entry) {
            Some(old) => entry.is_present() && !old.is_present(),
            None => entry.is_present() || was.is_some(),
        });
    }

    /// All entries, in order of appearance: the base, then later names.
    pub(crate) fn entries(&self, catalog: &Catalog) -> Vec<(Sym, ResourceEntry)> {
        let mut out = Vec::with_capacity(self.count + self.patch.len());
        visits::count_many(out.capacity());
        let mut listed = SymSet::default();
        if let Some(base) = &self.base {
            for (at, id) in base.list.blobs().iter().enumerate() {
                let name = key(catalog, *id);
                match self.patch.get(&name) {
                    Some(entry) => {
                        listed.insert(name);
                        out.push((name, *entry));
                    }
                    None => out.push((name, base.entry(catalog, *id, at))),
                }
            }
        }
        out.extend(self.patch.iter().filter(|(name, _)| !listed.contains(*name)).map(|(n, s)| (*n, *s)));
        out
    }

    /// The entries of present resources, in order of appearance.
    pub(crate) fn present_entries(
        &self,
        catalog: &Catalog,
    ) -> impl Iterator<Item = (Sym, ResourceEntry)> + use<> {
        self.entries(catalog).into_iter().filter(|(_, entry)| entry.is_present())
    }

    /// Marks the contents and names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        if let Some(base) = &self.base {
            base.mark(used);
        }
        for (name, entry) in &self.patch {
            mark_key(used, *name);
            entry.mark(used);
        }
    }

    /// The entries of the patch.
    pub(crate) fn exceptions(&self) -> impl Iterator<Item = (Sym, &ResourceEntry)> {
        self.patch.iter().map(|(name, entry)| (*name, entry))
    }

    /// The contents of present entries, in order. Entries known by version only have no content.
    fn flat(&self, catalog: &Catalog) -> Cow<'_, [BlobId]> {
        let blobs = self.base.as_ref().map_or(&[][..], |base| base.list.blobs());
        if self.dirty == 0 {
            return Cow::Borrowed(blobs);
        }
        Cow::Owned(self.present_entries(catalog).filter_map(|(_, entry)| entry.blob).collect())
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
            _ => self.get(catalog, name).map_or(Sym::EMPTY, |entry| entry.version),
        }
    }

    /// Folds the patch into a new base once it is large, and drops old ended names.
    fn settle(&mut self, catalog: &mut Catalog) {
        let len = self.base.as_ref().map_or(0, |base| base.list.len());
        let kept = self.base.as_ref().is_some_and(|base| base.state == Presence::Kept);
        if self.dirty > MAX_SMALL_RESPONSE + (len + self.patch.len()) / CHANGED_DIVISOR && !kept {
            self.fold(catalog);
        }
        if self.patch.len() - self.dirty.min(self.patch.len()) > MAX_ENDED_NAMES {
            visits::count_many(self.patch.len());
            let mut to_drop = MAX_ENDED_NAMES / 2;
            let base = &self.base;
            self.patch.retain(|name, entry| {
                let is_hidden = base.as_ref().is_some_and(|base| base.get(catalog, *name).is_some());
                let is_dropped = to_drop > 0 && !entry.is_present() && !is_hidden;
                to_drop -= usize::from(is_dropped);
                !is_dropped
            });
        }
    }

    /// Makes a new base of the present entries, in order of appearance. Other entries stay in the
    /// patch.
    fn fold(&mut self, catalog: &mut Catalog) {
        let patch = std::mem::take(&mut self.patch);
        let most = self.base.as_ref().map_or(0, |base| base.list.len()) + patch.len();
        visits::count_many(most);
        let (mut blobs, mut versions) = (Vec::with_capacity(most), Vec::with_capacity(most));
        let mut order = 0;
        let mut take =
            |name: Sym, entry: ResourceEntry, rest: &mut IndexMap<Sym, ResourceEntry, DenseHash>| match entry
                .blob
            {
                Some(blob) if entry.state == Presence::Present => {
                    blobs.push(blob);
                    versions.push(entry.version);
                    order = entry.order.max(order);
                }
                _ => {
                    rest.insert(name, entry);
                }
            };
        let mut in_base = vec![false; patch.len()];
        if let Some(base) = &self.base {
            for (at, id) in base.list.blobs().iter().enumerate() {
                let name = key(catalog, *id);
                let entry = match patch.get_full(&name) {
                    Some((index, _, entry)) => {
                        in_base[index] = true;
                        *entry
                    }
                    None => base.entry(catalog, *id, at),
                };
                take(name, entry, &mut self.patch);
            }
        }
        for ((name, entry), _) in patch.iter().zip(in_base).filter(|(_, in_base)| !in_base) {
            take(*name, *entry, &mut self.patch);
        }
        self.base = Some(Base::new(catalog, blobs, versions, order, Presence::Present));
        self.dirty = self.patch.values().filter(|entry| entry.is_present()).count();
    }
}

#[cfg(test)]
mod tests;
