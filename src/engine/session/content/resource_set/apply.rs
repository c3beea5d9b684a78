//! Responses that the server sends, applied to a set.

use indexmap::IndexMap;

use crate::session::content::compare::{Compare, align, hollow, key, without_repeats};
use crate::session::content::names::SymSet;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{DenseHash, Sym};

use super::base::Base;
use super::change::{Change, IncomingResponse, VersionedEntry, own_version};
use super::entry::{Presence, ResourceEntry};
use super::{CHANGED_DIVISOR, MAX_SMALL_RESPONSE, ResourceSet};

impl ResourceSet {
    /// Adds a full-state response. Resources that it leaves out are removed if `covered` (the
    /// client still wants them), else released (docs/protocol.md#e-32, docs/protocol.md#e-44).
    pub(crate) fn apply_full(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        incoming: IncomingResponse<'_>,
        covered: impl Fn(Sym) -> bool,
    ) -> Change {
        let old = self.flat(catalog);
        let found = align(catalog, &old, incoming.list.blobs());
        let mut change = Change { same: found.same, ..Change::default() };
        let mut blobs = found.unique;
        for (was, id) in &found.pairs {
            let version = self.version_here(catalog, key(catalog, *id), *was);
            let old = VersionedEntry { blob: *was, version };
            change.pair(catalog, compare, old, VersionedEntry { blob: *id, version: incoming.version });
        }
        for id in &found.fresh {
            let new = VersionedEntry { blob: *id, version: incoming.version };
            change.fresh(catalog, self.patch.get(&key(catalog, *id)), new);
        }
        change.duplicates = found.duplicates;
        if !change.hollow.is_empty() {
            let list = blobs.as_deref().unwrap_or(incoming.list.blobs());
            blobs = Some(with_previous_content(catalog, list, &found.pairs));
        }
        let ended = self.left_out(catalog, incoming, found.gone);
        let heartbeats: SymSet = change.hollow.iter().map(|id| key(catalog, *id)).collect();
        let list = match blobs {
            Some(blobs) => catalog.intern_list(blobs),
            None => incoming.list.clone(),
        };
        let fresh: SymSet = found.fresh.iter().map(|id| key(catalog, *id)).collect();
        self.patch.retain(|name, entry| match entry.is_present() {
            true => is_claimed(entry) && heartbeats.contains(name),
            false => !fresh.contains(name) || heartbeats.contains(name),
        });
        self.dirty = self.patch.values().filter(|entry| entry.is_present()).count();
        self.count = list.len() + self.dirty;
        for (name, mut entry) in ended {
            if covered(name) {
                change.removed.push(name);
            } else {
                entry.state = Presence::Released;
            }
            self.patch.insert(name, entry);
        }
        if let Some(before) = &self.base {
            list.derive_from(&before.list, catalog);
        }
        self.base = Some(Base::from_response(incoming, list));
        self.settle(catalog);
        change
    }

    /// Returns the present resources that a full-state response leaves out, as removed ones. `gone`
    /// are those of them that have content.
    fn left_out(
        &self,
        catalog: &Catalog,
        incoming: IncomingResponse<'_>,
        gone: Vec<BlobId>,
    ) -> Vec<(Sym, ResourceEntry)> {
        let mentioned: SymSet = match self.dirty {
            0 => SymSet::default(),
            _ => incoming.list.blobs().iter().map(|id| key(catalog, *id)).collect(),
        };
        let mut ended: Vec<(Sym, ResourceEntry)> = Vec::new();
        for id in gone {
            let name = key(catalog, id);
            let version = self.version_of(catalog, name, id);
            ended.push((
                name,
                ResourceEntry { state: Presence::Removed, blob: Some(id), version, order: incoming.order },
            ));
        }
        let claimed =
            self.patch.iter().filter(|(name, entry)| is_claimed(entry) && !mentioned.contains(*name));
        ended.extend(claimed.map(|(name, entry)| {
            (*name, ResourceEntry { state: Presence::Removed, order: incoming.order, ..*entry })
        }));
        ended
    }

    /// Adds a response that does not affect the names that it leaves out (docs/protocol.md#e-33).
    pub(crate) fn apply_partial(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        incoming: IncomingResponse<'_>,
    ) -> Change {
        let most = MAX_SMALL_RESPONSE.max((self.count + self.patch.len()) / CHANGED_DIVISOR);
        if incoming.list.len() > most || (self.count == 0 && incoming.list.len() > 8) {
            return self.apply_large(catalog, compare, incoming);
        }
        let (blobs, duplicates) = without_repeats(catalog, incoming.list.blobs());
        let mut change = Change { duplicates, ..Change::default() };
        for id in blobs {
            if hollow(catalog, id) {
                change.hollow.push(id);
                continue;
            }
            let name = key(catalog, id);
            let was = self.get(catalog, name);
            let new = VersionedEntry { blob: id, version: incoming.version };
            match was.filter(ResourceEntry::is_present) {
                Some(ResourceEntry { blob: Some(blob), version, state, .. }) => {
                    // The entry was not sent on this stream at that version.
                    let version = if state == Presence::Present { version } else { Sym::EMPTY };
                    change.pair(catalog, compare, VersionedEntry { blob, version }, new);
                }
                _ => change.fresh(catalog, self.patch.get(&name), new),
            }
            let version = own_version(catalog, id, incoming.version);
            let entry =
                ResourceEntry { state: Presence::Present, blob: Some(id), version, order: incoming.order };
            self.replace_entry(name, was, entry);
        }
        self.settle(catalog);
        change
    }

    /// Applies a large response as a new base.
    fn apply_large(
        &mut self,
        catalog: &mut Catalog,
        compare: Option<Compare<'_>>,
        incoming: IncomingResponse<'_>,
    ) -> Change {
        let old = self.flat(catalog);
        let found = align(catalog, &old, incoming.list.blobs());
        let mut change = Change { same: found.same, duplicates: found.duplicates, ..Change::default() };
        for (was, id) in &found.pairs {
            let version = self.version_here(catalog, key(catalog, *id), *was);
            let old = VersionedEntry { blob: *was, version };
            change.pair(catalog, compare, old, VersionedEntry { blob: *id, version: incoming.version });
        }
        for id in &found.fresh {
            let new = VersionedEntry { blob: *id, version: incoming.version };
            change.fresh(catalog, self.patch.get(&key(catalog, *id)), new);
        }
        let list = if change.hollow.is_empty() && found.unique.is_none() {
            incoming.list.clone()
        } else {
            let all = found.unique.as_deref().unwrap_or(incoming.list.blobs());
            catalog.intern_list(all.iter().copied().filter(|id| !hollow(catalog, *id)).collect())
        };
        // Present resources that the response leaves out move to the patch.
        let left_out: Vec<(Sym, ResourceEntry)> =
            match found.gone.is_empty() && change.hollow.is_empty() && self.dirty == 0 {
                true => Vec::new(),
                false => {
                    let now: SymSet = list.blobs().iter().map(|id| key(catalog, *id)).collect();
                    let entries = self.entries(catalog).into_iter();
                    entries.filter(|(name, entry)| entry.is_present() && !now.contains(name)).collect()
                }
            };
        // A heartbeat has no content, so the patch entry of its name stays.
        let fresh = found.fresh.iter().filter(|id| !hollow(catalog, **id));
        let fresh: SymSet = fresh.map(|id| key(catalog, *id)).collect();
        self.patch.retain(|name, entry| !entry.is_present() && !fresh.contains(name));
        self.count = list.len() + left_out.len();
        self.dirty = left_out.len();
        self.patch.extend(left_out);
        self.base = Some(Base::from_response(incoming, list));
        self.settle(catalog);
        change
    }
}

/// Whether an entry is present and has no content: the client has claimed it by version only.
fn is_claimed(entry: &ResourceEntry) -> bool {
    entry.is_present() && entry.blob.is_none()
}

/// Replaces entries without a payload by the previous entries of their names: a heartbeat keeps the
/// resource and its content (docs/protocol.md#g-10).
fn with_previous_content(catalog: &Catalog, list: &[BlobId], pairs: &[(BlobId, BlobId)]) -> Vec<BlobId> {
    let previous: IndexMap<BlobId, BlobId, DenseHash> = pairs.iter().map(|(was, id)| (*id, *was)).collect();
    let with_content = list.iter().filter_map(|id| match hollow(catalog, *id) {
        true => previous.get(id).copied(),
        false => Some(*id),
    });
    with_content.collect()
}
