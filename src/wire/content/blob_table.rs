use super::kept_ids::KeptIds;
use super::{Blob, BlobForm, BlobId};

/// The blob of an id that was dropped.
static DROPPED: Blob =
    Blob { hash: 0, size: 0, kept: 0, redacted: false, form: BlobForm::Other, follower: BlobId::NONE };

/// The blobs of a catalog, by id. Ids are never used twice.
#[derive(Default)]
pub(super) struct BlobTable {
    /// Blobs that were kept when others were dropped.
    older: Vec<Blob>,
    older_ids: KeptIds,
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
            None => self.older.get(self.older_ids.place(id.0)?),
        }
    }

    pub(super) fn get_mut(&mut self, id: BlobId) -> Option<&mut Blob> {
        match id.0.checked_sub(self.first) {
            Some(at) => self.newer.get_mut(at as usize),
            None => self.older.get_mut(self.older_ids.place(id.0)?),
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
        let ids = self.older_ids.iter().chain(self.first..);
        ids.map(BlobId).zip(self.older.iter().chain(&self.newer))
    }

    /// Returns the number of blobs that were not dropped.
    pub(super) fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    /// Estimates the memory of all blobs, in bytes.
    pub(super) fn memory(&self) -> usize {
        (self.newer.capacity() + self.older.capacity()) * size_of::<Blob>() + self.older_ids.memory()
    }

    /// Drops the blobs that `is_used` does not accept.
    pub(super) fn retain(&mut self, is_used: impl Fn(BlobId) -> bool) {
        let end = self.end();
        let (mut ids, mut kept) = (KeptIds::default(), Vec::new());
        let all_ids = self.older_ids.iter().chain(self.first..);
        let blobs = std::mem::take(&mut self.older).into_iter().chain(std::mem::take(&mut self.newer));
        for (id, blob) in all_ids.zip(blobs).filter(|(id, _)| is_used(BlobId(*id))) {
            ids.push(id);
            kept.push(blob);
        }
        kept.shrink_to_fit();
        ids.shrink_to_fit();
        kept.iter_mut().filter(|blob| !is_used(blob.follower)).for_each(|blob| blob.follower = BlobId::NONE);
        (self.older, self.older_ids, self.first) = (kept, ids, end);
    }
}
