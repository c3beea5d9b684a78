use bytes::Bytes;

use super::kept_ids::KeptIds;
use super::packed::Packed;

/// Storage for the bodies of blobs: memory for live sources, the file for a recording.
pub trait BodyStore: Send {
    /// Stores the body of the next blob. Bodies arrive in the order of blob ids, without gaps.
    fn put(&mut self, bytes: &[u8]);
    /// Returns the body of blob `index`; `None` if it was dropped, or if a damaged recording has
    /// lost it.
    fn get(&self, index: u32) -> Option<Bytes>;
    /// Estimates the memory of all bodies, in bytes.
    fn memory(&self) -> usize {
        0
    }
    /// Drops the bodies that `is_used` does not accept.
    fn retain(&mut self, _is_used: &dyn Fn(u32) -> bool) {}
}

/// Bytes of the newest bodies that stay uncompressed.
const UNCOMPRESSED_BYTES: usize = 8 << 20;

/// Bodies in memory, compressed except for the newest 8 MB.
///
/// 100,000 clusters (39 MB) add a few megabytes.
pub struct MemoryBodies {
    /// Bodies that were kept when others were dropped.
    older: Packed,
    older_ids: KeptIds,
    /// The number of the first body in `newer`.
    first: u32,
    newer: Packed,
    /// The number of the next body.
    end: u32,
}

impl Default for MemoryBodies {
    fn default() -> Self {
        MemoryBodies {
            older: Packed::new(0),
            older_ids: KeptIds::default(),
            first: 0,
            newer: Packed::new(UNCOMPRESSED_BYTES),
            end: 0,
        }
    }
}

impl BodyStore for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        self.newer.put(bytes);
        self.end += 1;
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        match index.checked_sub(self.first) {
            Some(at) => self.newer.get(at),
            None => self.older.get(u32::try_from(self.older_ids.place(index)?).ok()?),
        }
    }

    fn memory(&self) -> usize {
        self.older.size() + self.newer.size() + self.older_ids.memory()
    }

    fn retain(&mut self, is_used: &dyn Fn(u32) -> bool) {
        let (mut ids, mut kept) = (KeptIds::default(), Packed::new(0));
        for id in self.older_ids.iter().chain(self.first..self.end).filter(|id| is_used(*id)) {
            if let Some(body) = self.get(id) {
                ids.push(id);
                kept.put(&body);
            }
        }
        ids.shrink_to_fit();
        *self =
            MemoryBodies { older: kept, older_ids: ids, first: self.end, end: self.end, ..Self::default() };
    }
}
