use std::sync::Arc;

use crate::session::content::compare::{Compare, hollow, key, same_content, version};
use crate::session::content::responses::Order;
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::Sym;

use super::entry::{Presence, ResourceEntry};

/// The changes that a response makes.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub(crate) added: Vec<Sym>,
    pub(crate) changed: Vec<Sym>,
    pub(crate) removed: Vec<Sym>,
    /// Those of the added names that were removed before.
    pub(crate) restored: Vec<Sym>,
    pub(crate) same: u64,
    /// Bytes of new and changed entries.
    pub(crate) bytes_new: u64,
    /// Entries without a payload.
    pub(crate) hollow: Vec<BlobId>,
    /// Names that occur twice in the response.
    pub(crate) duplicates: Vec<Sym>,
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

/// An entry and a version for it: the one it was sent at, or that of its response.
#[derive(Clone, Copy)]
pub(super) struct VersionedEntry {
    pub(super) blob: BlobId,
    pub(super) version: Sym,
}

/// Returns the version of an entry, or `else_version` if the entry has none.
pub(super) fn own_version(catalog: &Catalog, id: BlobId, else_version: Sym) -> Sym {
    match version(catalog, id) {
        Sym::EMPTY => else_version,
        version => version,
    }
}

impl Change {
    /// Compares an entry of a response with the previous entry of the name.
    pub(super) fn pair(
        &mut self,
        catalog: &Catalog,
        compare: Option<Compare<'_>>,
        old: VersionedEntry,
        new: VersionedEntry,
    ) {
        let id = new.blob;
        if hollow(catalog, id) {
            self.hollow.push(id);
        } else if same_content(catalog, compare, old.blob, id) {
            self.same += 1;
        } else {
            self.changed.push(key(catalog, id));
            self.bytes_new += u64::from(catalog.blob(id).size);
            if old.version == own_version(catalog, id, new.version) {
                self.rewritten.push(key(catalog, id));
            }
        }
    }

    /// Adds an entry whose name is new, or known by version only. `known` is the state of the name.
    pub(super) fn fresh(&mut self, catalog: &Catalog, known: Option<&ResourceEntry>, new: VersionedEntry) {
        let id = new.blob;
        if hollow(catalog, id) {
            return self.hollow.push(id);
        }
        let name = key(catalog, id);
        match known.filter(|entry| entry.is_present()) {
            Some(kept) if kept.version == own_version(catalog, id, new.version) => self.same += 1,
            Some(_) => {
                self.changed.push(name);
                self.bytes_new += u64::from(catalog.blob(id).size);
            }
            None => {
                if known.is_some_and(|entry| entry.state == Presence::Removed) {
                    self.restored.push(name);
                }
                self.added.push(name);
                self.bytes_new += u64::from(catalog.blob(id).size);
            }
        }
    }
}
