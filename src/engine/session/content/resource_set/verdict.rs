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
    ///
    /// An entry with a time to live and no payload names a version: that of a heartbeat, or another
    /// one, which the client does not have.
    pub(crate) fn refused(
        &self,
        catalog: &Catalog,
        compare: Option<Compare<'_>>,
        response: IncomingResponse<'_>,
    ) -> Vec<Sym> {
        let IncomingResponse { list, version, order } = response;
        let newer = |name: Sym| self.get(catalog, name).is_some_and(|entry| entry.order > order);
        let names = |ids: Vec<BlobId>| ids.into_iter().map(|id| key(catalog, id));
        if list.len() <= MAX_SMALL_RESPONSE {
            let differs = list.blobs().iter().copied().filter(|id| {
                let entry = self.get(catalog, key(catalog, *id)).filter(ResourceEntry::is_present);
                if hollow(catalog, *id) {
                    let received = catalog.entry(*id);
                    let is_other = |held: Sym| held != received.version && held != version;
                    return received.ttl.is_some() && entry.is_some_and(|entry| is_other(entry.version));
                }
                let known = entry.and_then(|entry| entry.blob);
                !known.is_some_and(|known| same_content(catalog, compare, known, *id))
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
        let entries: Vec<_> =
            self.slots(catalog).into_iter().filter(|(_, entry)| entry.is_present()).collect();
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
