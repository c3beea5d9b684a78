//! Drops the contents and names of a catalog to which nothing refers any more.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use super::id_set::IdSet;
use super::{BlobForm, BlobId, Catalog, List};
use crate::event::Sym;

/// Memory of a blob besides its body and its entry in the table: the entries in the indexes.
const BLOB_BYTES: usize = 48;
/// Memory of an entry in a map of names or numbers.
const ENTRY_BYTES: usize = 32;

/// One part in this many of the memory is new before old content is dropped again.
const NEW_DIVISOR: usize = 4;

/// Returns from how many bytes on old content is dropped again, if `memory` bytes are left after it
/// was dropped.
///
/// Dropping visits all that stays, which can be more than the budget: facts of open streams stay.
/// Time passes until a share of that is new, so that each new byte costs the same.
pub fn next_drop(budget: usize, memory: usize) -> usize {
    budget.max(memory.saturating_add(memory.max(budget) / NEW_DIVISOR))
}

/// Contents and names that are in use. Each holder marks its own before a catalog drops the others.
#[derive(Default)]
pub struct UsedContent {
    /// Ids of contents.
    blobs: IdSet,
    /// Ids of names.
    names: IdSet,
    /// Lists that were marked. Many holders share one list.
    lists: HashSet<u128>,
    /// Addresses of shared runs of names that were marked.
    runs: HashSet<usize>,
}

impl UsedContent {
    /// Marks a content.
    pub fn blob(&mut self, id: BlobId) {
        self.blobs.insert(id.0);
    }

    /// Marks a name.
    pub fn name(&mut self, name: Sym) {
        self.names.insert(name.0);
    }

    /// Marks names.
    pub fn names<'a>(&mut self, names: impl IntoIterator<Item = &'a Sym>) {
        for name in names {
            self.names.insert(name.0);
        }
    }

    /// Marks a list of names that has many holders.
    pub fn run(&mut self, run: &Arc<[Sym]>) {
        if self.runs.insert(run.as_ptr() as usize) {
            self.names(run.iter());
        }
    }

    /// Marks the entries of a list.
    pub fn list(&mut self, list: &List) {
        if self.lists.insert(list.fingerprint()) {
            list.blobs().iter().for_each(|id| self.blobs.insert(id.0));
        }
    }

    /// Whether a content is marked.
    pub fn has_blob(&self, id: BlobId) -> bool {
        self.blobs.contains(id.0)
    }

    /// Whether a name is marked.
    pub fn has_name(&self, name: Sym) -> bool {
        self.names.contains(name.0)
    }
}

impl Catalog {
    /// Estimates the memory of all contents and names, in bytes.
    pub fn memory(&self) -> usize {
        let entries = self.runs.len() * 3
            + self.names.len()
            + self.lists.len()
            + self.spelled.len()
            + self.spellings.len()
            + self.canonical_names.len()
            + self.same.borrow().len();
        self.blobs.memory()
            + self.blobs.len() * BLOB_BYTES
            + self.strings.memory()
            + self.bodies.memory()
            + self.recent.memory()
            + self.run_names * size_of::<Sym>()
            + entries * ENTRY_BYTES
    }

    /// Sets the bytes of all texts beyond which messages with many names are not kept.
    pub fn set_max_text_bytes(&mut self, bytes: usize) {
        self.max_text_bytes = bytes;
    }

    /// Whether messages with many names are not kept.
    pub(crate) fn is_full_of_names(&self) -> bool {
        self.strings.memory() > self.max_text_bytes
    }

    /// Drops all contents and names that are not marked. Dropped ids are never used again; a
    /// dropped content is empty and has no name.
    ///
    /// Returns the marks, completed by what the marked contents refer to.
    pub fn retain(&mut self, mut used: UsedContent) -> UsedContent {
        self.mark_references(&mut used);
        self.blobs.retain(|id| used.has_blob(id));
        self.by_hash = self.blobs.iter().map(|(id, blob)| (blob.hash as u64, id.0)).collect();
        self.strings.retain(|name| used.has_name(name));
        self.bodies.retain(&|id| used.has_blob(BlobId(id)));
        self.recent.retain(|id| used.has_blob(BlobId(id)));
        self.lists.retain(|_, list| Weak::strong_count(list) > 0);
        self.lists.shrink_to_fit();
        self.runs.retain(|_, run| run.blobs.iter().all(|id| used.has_blob(*id)));
        self.last_type = None;
        self.names.retain(|id, _| used.has_blob(*id));
        self.run_names = self.names.values().map(|run| run.len()).sum();
        self.unreadable.retain(|id| used.has_blob(*id));
        self.same.borrow_mut().retain(|(a, b)| used.has_blob(*a) && used.has_blob(*b));
        self.spelled.retain(|name| used.has_name(*name));
        self.spellings.retain(|name, _| used.has_name(*name));
        self.canonical_names.retain(|first, _| used.has_name(*first));
        used
    }

    /// Marks what marked contents and names refer to.
    pub fn mark_references(&self, used: &mut UsedContent) {
        let payload = |id: u32| match &self.blob(BlobId(id)).form {
            BlobForm::Wrapper { wrapper, .. } => wrapper.payload,
            _ => None,
        };
        let payloads: Vec<BlobId> = used.blobs.iter().filter_map(payload).collect();
        payloads.into_iter().for_each(|id| used.blob(id));
        let names = &mut used.names;
        for id in used.blobs.iter() {
            match &self.blob(BlobId(id)).form {
                BlobForm::Any { type_url, name } => [type_url, name].map(|name| names.insert(name.0)),
                BlobForm::Wrapper { wrapper, .. } => {
                    wrapper.aliases.iter().for_each(|name| names.insert(name.0));
                    [&wrapper.name, &wrapper.version].map(|name| names.insert(name.0))
                }
                BlobForm::Other => continue,
            };
        }
        for (_, names) in self.names.iter().filter(|(id, _)| used.blobs.contains(id.0)) {
            names.iter().for_each(|name| used.names.insert(name.0));
        }
        // Few names have several spellings.
        let other = self.spellings.iter().filter(|(name, _)| used.names.contains(name.0));
        let firsts: Vec<Sym> = other.map(|(_, first)| *first).collect();
        used.names(&firsts);
        // Further spellings are recognised by the canonical form.
        let canonical = self.canonical_names.iter().filter(|(first, _)| used.names.contains(first.0));
        let canonical: Vec<Sym> = canonical.map(|(_, canonical)| *canonical).collect();
        used.names(&canonical);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::ListBuilder;
    use crate::pb::put_len_field;

    fn any(name: &str) -> Vec<u8> {
        let (mut value, mut any) = (Vec::new(), Vec::new());
        put_len_field(&mut value, 1, name.as_bytes());
        put_len_field(&mut any, 1, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
        put_len_field(&mut any, 2, &value);
        any
    }

    fn wrapper(name: &str) -> Vec<u8> {
        let mut resource = Vec::new();
        put_len_field(&mut resource, 3, name.as_bytes());
        put_len_field(&mut resource, 1, b"v1");
        put_len_field(&mut resource, 2, &any(name));
        resource
    }

    #[test]
    fn keeps_marked_contents_and_drops_others() {
        let mut catalog = Catalog::in_memory();
        let ids: Vec<BlobId> =
            (0..1000).map(|i| catalog.intern_entry(&wrapper(&format!("c{i}")), true, None)).collect();
        let (count, all) = (catalog.blob_count(), catalog.memory());
        let mut used = UsedContent::default();
        ids.iter().step_by(100).for_each(|id| used.blob(*id));
        catalog.retain(used);
        assert!(catalog.memory() < all / 10, "{} of {all}", catalog.memory());
        for (i, id) in ids.iter().enumerate() {
            let is_kept = i % 100 == 0;
            assert_eq!(catalog.bytes(*id).is_some(), is_kept, "{i}");
            assert_eq!(
                catalog.text(catalog.name(*id)),
                if is_kept { format!("c{i}") } else { String::new() }
            );
        }
        assert_eq!(catalog.intern_entry(&wrapper("c300"), true, None), ids[300], "a kept id stays");
        let again = catalog.intern_entry(&wrapper("c301"), true, None);
        assert!(again.0 as usize >= count, "a dropped id is not used again");
        assert_eq!(catalog.bytes(again).as_deref(), Some(wrapper("c301").as_slice()));
        assert_eq!(catalog.text(catalog.name(again)), "c301");
    }

    #[test]
    fn runs_of_dropped_entries_are_not_recognised() {
        let mut catalog = Catalog::in_memory();
        let push = |catalog: &mut Catalog| {
            let mut list = ListBuilder::default();
            for i in 0..100 {
                list.push(catalog, &any(&format!("c{i}")), false);
            }
            list.finish(catalog)
        };
        let before = push(&mut catalog);
        assert_eq!(push(&mut catalog).blobs(), before.blobs());
        let mut used = UsedContent::default();
        used.blob(before.blobs()[50]);
        catalog.retain(used);
        let after = push(&mut catalog);
        for (i, (old, new)) in before.blobs().iter().zip(after.blobs()).enumerate() {
            assert_eq!(old == new, i == 50, "{i}");
            assert_eq!(catalog.text(catalog.name(*new)), format!("c{i}"));
        }
    }
}
