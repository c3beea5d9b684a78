use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use twox_hash::XxHash3_128;

use super::entry_run::{self, EntryRun};
use super::{Blob, BlobId, Catalog, UsedContent};
use crate::event::{DenseHash, Sym};
use crate::pb::varint_len;

/// The entries of one response, in order. Equal lists of one catalog share one allocation.
#[derive(Debug)]
pub struct List {
    blobs: Box<[BlobId]>,
    fingerprint: u128,
    /// Searches so far.
    searched: AtomicU8,
    /// Shared by lists with the same names in the same order.
    by_name: OnceLock<Arc<HashMap<Sym, u32, DenseHash>>>,
    by_blob: OnceLock<HashMap<BlobId, u32, DenseHash>>,
    kept: OnceLock<(u64, bool)>,
}

/// Searches without an index: few names are looked up in a list that the next push replaces.
const MAX_UNINDEXED_SEARCHES: u8 = 4;
/// Facts are derived from another list if at most one entry in this many differs.
const MIN_ENTRIES_PER_DIFFERENCE: usize = 4;

/// Stored bytes of an entry, with its length prefix.
fn len(blob: &Blob) -> u64 {
    let kept = u64::from(blob.kept);
    varint_len(kept) as u64 + kept
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for List {}

impl List {
    /// The entries, in order.
    pub fn blobs(&self) -> &[BlobId] {
        &self.blobs
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.blobs.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.blobs.is_empty()
    }

    /// Equal lists have equal fingerprints.
    pub fn fingerprint(&self) -> u128 {
        self.fingerprint
    }

    /// Returns the last entry with this name, which must be a first spelling.
    pub fn find(&self, catalog: &Catalog, name: Sym) -> Option<BlobId> {
        self.blobs.get(self.index_of_name(catalog, name)?).copied()
    }

    /// Returns the index of the last entry with this name, which must be a first spelling.
    ///
    /// The first few searches scan the list; then an index is built, which all holders share.
    pub fn index_of_name(&self, catalog: &Catalog, name: Sym) -> Option<usize> {
        let own = |id: &BlobId| catalog.first_spelling(catalog.name(*id));
        if self.is_scanned() {
            return self.blobs.iter().rposition(|id| own(id) == name);
        }
        let index = || Arc::new(self.blobs.iter().enumerate().map(|(i, id)| (own(id), i as u32)).collect());
        self.by_name.get_or_init(index).get(&name).map(|i| *i as usize)
    }

    /// Returns the index of an entry, like [`index_of_name`](List::index_of_name).
    pub fn index_of(&self, entry: BlobId) -> Option<usize> {
        if self.is_scanned() {
            return self.blobs.iter().rposition(|id| *id == entry);
        }
        let index = || self.blobs.iter().enumerate().map(|(i, id)| (*id, i as u32)).collect();
        self.by_blob.get_or_init(index).get(&entry).map(|i| *i as usize)
    }

    /// Counts a search. Returns whether the list was searched so rarely that an index does not pay.
    fn is_scanned(&self) -> bool {
        let is_rare = self.searched.load(Ordering::Relaxed) < MAX_UNINDEXED_SEARCHES;
        if is_rare {
            self.searched.fetch_add(1, Ordering::Relaxed);
        }
        is_rare
    }

    /// Returns the stored bytes of all entries, each with its length prefix and without its tag,
    /// and whether secrets were removed from any of them. Computed on the first call.
    pub fn kept(&self, catalog: &Catalog) -> (u64, bool) {
        *self.kept.get_or_init(|| {
            let entries = self.blobs.iter().map(|id| catalog.blob(*id));
            entries.fold((0, false), |(bytes, redacted), blob| (bytes + len(blob), redacted || blob.redacted))
        })
    }

    /// Derives the sum of [`kept`](List::kept) and the index of names from another list of the same
    /// catalog, if most entries are the same.
    pub fn derive_from(&self, other: &List, catalog: &Catalog) {
        let (sum, index) = (other.kept.get(), other.by_name.get());
        if (sum.is_none() && index.is_none()) || self.len() != other.len() {
            return;
        }
        let most = self.len() / MIN_ENTRIES_PER_DIFFERENCE;
        let pairs = other.blobs.iter().zip(&self.blobs).filter(|(old, new)| old != new);
        let changed: Vec<_> = pairs.take(most + 1).collect();
        // A list in another order gains nothing.
        if changed.len() > most {
            return;
        }
        if let Some((bytes, false)) = sum {
            let blobs = || changed.iter().map(|(old, new)| (catalog.blob(**old), catalog.blob(**new)));
            let bytes = blobs().fold(*bytes, |sum, (old, new)| sum + len(new) - len(old));
            let redacted = blobs().any(|(_, new)| new.redacted);
            self.kept.get_or_init(|| (bytes, redacted));
        }
        let own = |id: &BlobId| catalog.first_spelling(catalog.name(*id));
        if let Some(index) = index
            && changed.iter().all(|(old, new)| own(old) == own(new))
        {
            self.by_name.get_or_init(|| index.clone());
        }
    }

    /// Creates a list of a catalog with this hash secret.
    pub(super) fn new(secret: &[u8], blobs: Vec<BlobId>) -> List {
        let fingerprint = fingerprint(secret, &blobs);
        List {
            blobs: blobs.into_boxed_slice(),
            fingerprint,
            searched: AtomicU8::new(0),
            by_name: OnceLock::new(),
            by_blob: OnceLock::new(),
            kept: OnceLock::new(),
        }
    }
}

/// Entries that are hashed at a time. A copy of a long list would touch fresh memory.
const ENTRIES_PER_HASH: usize = 512;

/// Hashes ids with the secret of their catalog, so that no peer can make lists that collide.
pub(super) fn fingerprint(secret: &[u8], blobs: &[BlobId]) -> u128 {
    const USUAL_LENGTH: &str = "a secret of the usual length";
    let mut room = [0; 4 * ENTRIES_PER_HASH];
    if blobs.len() <= ENTRIES_PER_HASH {
        return XxHash3_128::oneshot_with_secret(secret, put_ids(&mut room, blobs)).expect(USUAL_LENGTH);
    }
    let mut hasher = XxHash3_128::with_seed_and_secret(0, secret).expect(USUAL_LENGTH);
    blobs.chunks(ENTRIES_PER_HASH).for_each(|chunk| hasher.write(put_ids(&mut room, chunk)));
    hasher.finish_128()
}

fn put_ids<'a>(room: &'a mut [u8; 4 * ENTRIES_PER_HASH], blobs: &[BlobId]) -> &'a [u8] {
    for (to, id) in room.chunks_exact_mut(4).zip(blobs) {
        to.copy_from_slice(&id.0.to_le_bytes());
    }
    &room[..4 * blobs.len()]
}

/// Collects the entries of a response while they arrive.
#[derive(Debug, Default)]
pub struct ListBuilder {
    blobs: Vec<BlobId>,
    /// Number of newest entries that followed each other as they did before.
    repeated: usize,
}

impl ListBuilder {
    /// Stores and appends an entry of the response: an `Any` (SotW) or a `Resource` (delta).
    pub fn push(&mut self, catalog: &mut Catalog, bytes: &[u8], delta: bool) -> BlobId {
        let hint = self.next(catalog);
        let id = catalog.intern_entry(bytes, delta, hint);
        self.repeated = if hint == Some(id) { self.repeated + 1 } else { 0 };
        if let Some(last) = self.blobs.last() {
            catalog.set_follower(*last, id);
        }
        self.blobs.push(id);
        id
    }

    /// Returns the entry that is expected next.
    fn next(&self, catalog: &Catalog) -> Option<BlobId> {
        self.blobs.last().and_then(|last| catalog.follower(*last))
    }

    /// Appends the run of known entries at the start of `raw`, tags included.
    ///
    /// Returns the length of the run in bytes, and whether secrets were removed from it.
    pub fn push_known(&mut self, catalog: &Catalog, raw: &[u8]) -> Option<(usize, bool)> {
        let run = catalog.run(self.next(catalog)?, raw)?;
        self.blobs.extend_from_slice(&run.blobs);
        self.repeated = 0;
        Some((run.bytes, run.redacted))
    }

    /// Number of consecutive entries that followed each other as before and are not yet a learned
    /// run.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// Notes that the next entry does not directly follow the previous one.
    pub fn interrupt(&mut self) {
        self.repeated = 0;
    }

    /// Learns that `raw` holds the newest entries, once they are enough for a run.
    ///
    /// Returns whether a new run starts after them.
    pub fn learn(&mut self, catalog: &mut Catalog, raw: &[u8]) -> bool {
        if self.repeated != entry_run::RUN_LEN {
            return false;
        }
        let (Some(&blobs), Some(&head)) = (self.blobs.last_chunk(), raw.first_chunk()) else { return false };
        let redacted = blobs.iter().any(|id| catalog.blob(*id).redacted);
        catalog.set_run(EntryRun { head, hash: catalog.hash(raw), bytes: raw.len(), redacted, blobs });
        self.repeated = 0;
        true
    }

    /// Marks the entries as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.blobs.iter().for_each(|id| used.blob(*id));
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.blobs.len()
    }

    /// Whether there are no entries so far.
    pub fn is_empty(&self) -> bool {
        self.blobs.is_empty()
    }

    /// Returns the shared list of the entries.
    pub fn finish(self, catalog: &mut Catalog) -> Arc<List> {
        catalog.intern_list(self.blobs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content::BlobForm;
    use crate::pb::put_len_field;

    #[test]
    fn lists_have_other_fingerprints_in_other_catalogs() {
        let fingerprint = |seed: u64, len: u32| {
            let catalog = Catalog::new(seed, None, Box::new(crate::content::MemoryBodies::default()));
            catalog.list((0..len).map(BlobId).collect()).fingerprint()
        };
        for len in [1, 100, ENTRIES_PER_HASH as u32 + 1] {
            assert_eq!(fingerprint(1, len), fingerprint(1, len));
            assert_ne!(fingerprint(1, len), fingerprint(2, len), "{len} entries");
        }
    }

    #[test]
    fn index_is_shared_by_lists_with_the_same_names() {
        let mut catalog = Catalog::in_memory();
        let mut entry = |name: u32, content: u8| {
            let (mut cluster, mut any) = (Vec::new(), Vec::new());
            put_len_field(&mut cluster, 1, format!("c{name}").as_bytes());
            put_len_field(&mut cluster, 28, &[content]);
            put_len_field(&mut any, 1, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
            put_len_field(&mut any, 2, &cluster);
            catalog.intern_entry(&any, false, None)
        };
        let old: Vec<BlobId> = (0..16).map(|name| entry(name, 0)).collect();
        let (changed, renamed) = (entry(3, 1), entry(99, 0));
        let with = |at: usize, id| {
            let mut blobs = old.clone();
            blobs[at] = id;
            List::new(&[0; 192], blobs)
        };
        let (same, other) = (with(3, changed), with(3, renamed));
        let old = List::new(&[0; 192], old.clone());
        let name = catalog.name(changed);
        (0..=MAX_UNINDEXED_SEARCHES).for_each(|_| assert_eq!(old.index_of_name(&catalog, name), Some(3)));
        for list in [&same, &other] {
            list.derive_from(&old, &catalog);
        }
        assert!(Arc::ptr_eq(old.by_name.get().unwrap(), same.by_name.get().unwrap()));
        assert!(other.by_name.get().is_none());
        for _ in 0..=MAX_UNINDEXED_SEARCHES {
            assert_eq!(same.find(&catalog, name), Some(changed));
            assert_eq!(other.find(&catalog, name), None);
            assert_eq!(other.find(&catalog, catalog.name(renamed)), Some(renamed));
        }
    }

    proptest! {
        #[test]
        fn sum_from_another_list_equals_direct_sum(
            sizes in prop::collection::vec((1u32..100_000, prop::bool::weighted(0.1)), 8),
            base in prop::collection::vec(0u32..8, 0..12),
            next in prop::collection::vec(0u32..8, 0..12),
        ) {
            let mut catalog = Catalog::in_memory();
            for (hash, (kept, redacted)) in (0..).zip(sizes) {
                catalog.restore(Blob::new(hash, kept, kept, redacted, BlobForm::Other));
            }
            let list = |ids: &[u32]| List::new(&[0; 192], ids.iter().map(|id| BlobId(*id)).collect());
            let (base, from, whole) = (list(&base), list(&next), list(&next));
            base.kept(&catalog);
            from.derive_from(&base, &catalog);
            prop_assert_eq!(from.kept(&catalog), whole.kept(&catalog));
        }
    }
}
