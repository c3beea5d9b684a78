use std::collections::HashMap;

use super::{Blob, BlobForm, BlobId};
use crate::wire::event::DenseHash;

/// The blob of an id that was dropped.
static DROPPED: Blob =
    Blob { hash: 0, size: 0, kept: 0, redacted: false, form: BlobForm::Other, follower: BlobId::NONE };

/// The blobs of a catalog, by id. Ids are never used twice.
#[derive(Default)]
pub(super) struct BlobTable {
    /// Blobs that were kept when others were dropped.
    older: HashMap<u32, Blob, DenseHash>,
    /// The id of the first blob in `newer`.
    first: u32,
    newer: Vec<Blob>,
}

impl BlobTable {
    /// Returns a blob; a dropped one is empty.
    pub(super) fn get(&self, id: BlobId) -> &Blob {
        self.find(id).unwrap_or(&DROPPED)
    }

    fn find(&self, id: BlobId) -> Option<&Blob> {
        match id.0.checked_sub(self.first) {
            Some(at) => self.newer.get(at as usize),
            None => self.older.get(&id.0),
        }
    }

    pub(super) fn get_mut(&mut self, id: BlobId) -> Option<&mut Blob> {
        match id.0.checked_sub(self.first) {
            Some(at) => self.newer.get_mut(at as usize),
            None => self.older.get_mut(&id.0),
        }
    }

    /// Adds a blob under the next id.
    pub(super) fn push(&mut self, blob: Blob) -> BlobId {
        let id = BlobId(self.end());
        self.newer.push(blob);
        id
    }

    /// Returns the next id.
    pub(super) fn end(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.newer.len()).unwrap_or(u32::MAX))
    }

    /// Returns the blobs from an id on, without those that were dropped together with older ones.
    pub(super) fn since(&self, id: u32) -> &[Blob] {
        self.newer.get(id.saturating_sub(self.first) as usize..).unwrap_or_default()
    }

    /// Returns all blobs, in order of their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (BlobId, &Blob)> {
        let mut older: Vec<_> = self.older.iter().map(|(id, blob)| (BlobId(*id), blob)).collect();
        older.sort_unstable_by_key(|(id, _)| *id);
        let newer = (self.first..).zip(&self.newer).map(|(id, blob)| (BlobId(id), blob));
        older.into_iter().chain(newer)
    }

    /// Returns the number of blobs that were not dropped.
    pub(super) fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    /// Estimates the memory of all blobs, in bytes.
    pub(super) fn memory(&self) -> usize {
        (self.newer.capacity() + self.older.capacity()) * size_of::<Blob>()
    }

    /// Drops the blobs that `is_used` does not accept.
    pub(super) fn retain(&mut self, is_used: impl Fn(BlobId) -> bool) {
        let end = self.end();
        self.older.retain(|id, _| is_used(BlobId(*id)));
        let newer = (self.first..).zip(std::mem::take(&mut self.newer));
        self.older.extend(newer.filter(|(id, _)| is_used(BlobId(*id))));
        self.older.shrink_to_fit();
        self.first = end;
        let dropped = self.older.values_mut().filter(|blob| !is_used(blob.follower));
        dropped.for_each(|blob| blob.follower = BlobId::NONE);
    }
}
