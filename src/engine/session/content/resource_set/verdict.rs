//! Verdicts of the client, applied to a set, and the resources that outlive a stream.

use std::sync::Arc;

use crate::session::content::compare::{Compare, align, hollow, key, same_content};
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::Sym;

use super::base::Base;
use super::change::{IncomingResponse, own_version};
use super::entry::{Presence, ResourceEntry};
use super::{MAX_SMALL_RESPONSE, ResourceSet};

impl ResourceSet {
    /// Adds an acknowledged response. `sent` is the set of everything that the server has sent.
    pub(crate) fn accept(
        &mut self,
        catalog: &mut Catalog,
        sent: &ResourceSet,
        incoming: IncomingResponse<'_>,
        full: bool,
    ) {
        // The accepted set equals the sent set, unless the client still has resources whose removal
        // it has not acknowledged.
        let nothing_else = full || self.count == 0 || self.is_just(incoming.list);
        let shared = sent.base.as_ref().filter(|base| {
            nothing_else
                && sent.dirty == 0
                && base.order == incoming.order
                && Arc::ptr_eq(&base.list, incoming.list)
        });
        match shared {
            Some(base) => {
                *self = ResourceSet {
                    count: base.list.len(),
                    base: Some(base.clone()),
                    ..ResourceSet::default()
                };
            }
            None if full => {
                self.apply_full(catalog, None, incoming, |_| true);
                self.patch.retain(|_, entry| entry.is_present());
            }
            None => {
                self.apply_partial(catalog, None, incoming);
            }
        }
    }

    /// Adds a delta response that is acknowledged after a later one: entries of the later one stay.
    pub(crate) fn accept_late(&mut self, catalog: &mut Catalog, incoming: IncomingResponse<'_>) {
        for id in incoming.list.blobs().iter().copied() {
            let name = key(catalog, id);
            let is_newer = self.get(catalog, name).is_some_and(|entry| entry.order > incoming.order);
            if !is_newer && !hollow(catalog, id) {
                let version = own_version(catalog, id, incoming.version);
                let state = Presence::Present;
                self.put(
                    catalog,
                    name,
                    ResourceEntry { state, blob: Some(id), version, order: incoming.order },
                );
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
        response: IncomingResponse<'_>,
    ) -> Vec<Sym> {
        let IncomingResponse { list, version, order } = response;
        let mut differing: Vec<BlobId> = if list.len() <= MAX_SMALL_RESPONSE {
            let has = |id: &BlobId| self.has_content(catalog, compare, *id, version);
            list.blobs().iter().copied().filter(|id| !has(id)).collect()
        } else {
            let found = align(catalog, &self.flat(catalog), list.blobs());
            let is_changed = |(was, id): &(BlobId, BlobId)| !same_content(catalog, compare, *was, *id);
            let changed = found.pairs.into_iter().filter(is_changed).map(|(_, id)| id);
            found.fresh.into_iter().chain(changed).filter(|id| !hollow(catalog, *id)).collect()
        };
        // A later response counts more.
        let is_newest = |name: Sym| self.get(catalog, name).is_none_or(|entry| entry.order <= order);
        differing.retain(|id| is_newest(key(catalog, *id)));
        differing.into_iter().map(|id| key(catalog, id)).collect()
    }

    /// Whether the client has the content of an entry. `version`: that of the response.
    ///
    /// An entry with a time to live and no payload names a version: that of a heartbeat, or another
    /// one, which the client does not have.
    fn has_content(&self, catalog: &Catalog, compare: Option<Compare<'_>>, id: BlobId, version: Sym) -> bool {
        let entry = self.get(catalog, key(catalog, id)).filter(ResourceEntry::is_present);
        if hollow(catalog, id) {
            let received = catalog.entry(id);
            return match entry {
                Some(entry) if received.ttl.is_some() => {
                    entry.version == received.version || entry.version == version
                }
                _ => true,
            };
        }
        let known = entry.and_then(|entry| entry.blob);
        known.is_some_and(|known| same_content(catalog, compare, known, id))
    }

    /// Returns the present resources that `wanted` accepts, as kept resources of the next stream.
    pub(crate) fn carry(
        &self,
        catalog: &mut Catalog,
        wanted: impl Fn(&Catalog, Sym, &ResourceEntry) -> bool,
    ) -> ResourceSet {
        let entries: Vec<_> = self.present_entries(catalog).collect();
        let all = entries.len();
        let entries: Vec<_> =
            entries.into_iter().filter(|(name, entry)| wanted(catalog, *name, entry)).collect();
        if entries.len() == all && self.dirty == 0 {
            let base = self.base.clone().map(|base| Base { state: Presence::Kept, order: 0, ..base });
            return ResourceSet { count: all, base, ..ResourceSet::default() };
        }
        let mut kept = ResourceSet::default();
        let (mut blobs, mut versions) = (Vec::new(), Vec::new());
        for (name, entry) in entries {
            match entry.blob {
                Some(blob) => {
                    blobs.push(blob);
                    versions.push(entry.version);
                }
                None => {
                    kept.replace_entry(name, None, ResourceEntry { state: Presence::Kept, order: 0, ..entry })
                }
            }
        }
        kept.count += blobs.len();
        kept.base = Some(Base::new(catalog, blobs, versions, 0, Presence::Kept));
        kept
    }
}
