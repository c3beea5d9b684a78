use std::collections::HashMap;

use xdscope_wire::content::BlobId;
use xdscope_wire::event::DenseHash;

/// The number in a recording of each blob of a catalog.
#[derive(Default)]
pub(super) struct BlobNumbers {
    /// Numbers of blobs that were kept when others were dropped.
    older: HashMap<BlobId, u32, DenseHash>,
    /// The id of the first blob in `newer`.
    first: u32,
    newer: Vec<Option<u32>>,
}

impl BlobNumbers {
    /// Returns the number of a blob, if the recording has the blob.
    pub(super) fn get(&self, id: BlobId) -> Option<u32> {
        match id.0.checked_sub(self.first) {
            Some(at) => self.newer.get(at as usize).copied().flatten(),
            None => self.older.get(&id).copied(),
        }
    }

    pub(super) fn set(&mut self, id: BlobId, number: u32) {
        let Some(at) = id.0.checked_sub(self.first).map(|at| at as usize) else {
            self.older.insert(id, number);
            return;
        };
        if self.newer.len() <= at {
            self.newer.resize(at + 1, None);
        }
        self.newer[at] = Some(number);
    }

    /// Forgets blobs from this number on: later frames must not refer to them.
    pub(super) fn forget_from(&mut self, first: u32) {
        self.older.retain(|_, number| *number < first);
        for number in &mut self.newer {
            *number = number.filter(|number| *number < first);
        }
    }

    /// Forgets the blobs that `is_used` does not accept.
    pub(super) fn retain(&mut self, is_used: impl Fn(BlobId) -> bool) {
        self.older.retain(|id, _| is_used(*id));
        for (id, number) in (self.first..).zip(std::mem::take(&mut self.newer)) {
            self.first = id + 1;
            if let Some(number) = number
                && is_used(BlobId(id))
            {
                self.older.insert(BlobId(id), number);
            }
        }
        self.older.shrink_to_fit();
    }
}
