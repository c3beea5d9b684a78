use std::sync::Arc;

use crate::session::content::compare::{key, nameless, version};
use crate::session::content::responses::Order;
use xdscope_wire::content::{BlobId, Catalog, List, UsedContent};
use xdscope_wire::event::Sym;

use super::change::{IncomingResponse, own_version};
use super::entry::{Presence, ResourceEntry};

/// The entry list of one large response, shared with the catalog and with other sets.
#[derive(Clone, Debug)]
pub(super) struct Base {
    /// The entries, without repeated names and without entries that have no payload.
    pub(super) list: Arc<List>,
    /// Version of entries that have none of their own.
    pub(super) version: Sym,
    /// Version of each entry, if they differ.
    pub(super) versions: Option<Arc<[Sym]>>,
    pub(super) order: Order,
    pub(super) state: Presence,
}

impl Base {
    /// Makes a base of entries with the versions under which they were sent.
    pub(super) fn new(
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

    /// Makes a base of the entries of a response.
    pub(super) fn from_response(incoming: IncomingResponse<'_>, list: Arc<List>) -> Base {
        Base {
            list,
            version: incoming.version,
            versions: None,
            order: incoming.order,
            state: Presence::Present,
        }
    }

    /// Marks the contents and versions as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        used.list(&self.list);
        used.name(self.version);
        self.versions.iter().for_each(|versions| used.run(versions));
    }

    /// Returns the state of an entry with this index.
    pub(super) fn entry(&self, catalog: &Catalog, blob: BlobId, at: usize) -> ResourceEntry {
        let version = self.versions.as_ref().and_then(|versions| versions.get(at).copied());
        let version = own_version(catalog, blob, version.unwrap_or(self.version));
        ResourceEntry { state: self.state, blob: Some(blob), version, order: self.order }
    }

    /// Returns the state of a name.
    pub(super) fn get(&self, catalog: &Catalog, name: Sym) -> Option<ResourceEntry> {
        let blobs = self.list.blobs();
        let at = match nameless(name) {
            Some(blob) => self.list.index_of(blob),
            // Entries without a name have keys of their own: the empty name is not the name of any
            // of them.
            None if name == Sym::EMPTY => None,
            // The index is worth its memory for long lists only.
            // Entries without a name share the empty name in the index, and have keys of their own.
            None if blobs.len() > 8 => self.list.index_of_name(catalog, name),
            None => blobs.iter().position(|id| key(catalog, *id) == name),
        }?;
        let blob = blobs.get(at).copied().filter(|id| key(catalog, *id) == name)?;
        Some(self.entry(catalog, blob, at))
    }
}
