use bytes::Bytes;

use super::packed::Packed;

/// Storage for the bodies of blobs: memory for live sources, the file for a recording.
pub trait BodyStore: Send {
    /// Stores the body of the next blob. Bodies arrive in the order of blob ids, without gaps.
    fn put(&mut self, bytes: &[u8]);
    /// Returns the body of blob `index`; `None` if a damaged recording has lost it.
    fn get(&self, index: u32) -> Option<Bytes>;
}

/// Newest blocks that stay uncompressed, 8 MB in total.
const UNCOMPRESSED_BLOCKS: usize = 32;

/// Bodies in memory, compressed except for the newest 8 MB.
///
/// 100,000 clusters (39 MB) add a few megabytes.
pub struct MemoryBodies(Packed);

impl Default for MemoryBodies {
    fn default() -> Self {
        MemoryBodies(Packed::new(UNCOMPRESSED_BLOCKS))
    }
}

impl BodyStore for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        self.0.get(index)
    }
}
