use bytes::Bytes;

use super::packed::Packed;

/// Where the bytes of blobs lie: in memory while live, in the file for a recording.
pub trait Bodies: Send {
    /// Keeps the body of the next blob; bodies come in the order of their ids, without gaps.
    fn put(&mut self, bytes: &[u8]);
    /// The body of blob number `index`; `None` if it is lost (a damaged recording).
    fn get(&self, index: u32) -> Option<Bytes>;
}

/// Blocks that stay as they are, 8 MB.
const FRESH: usize = 32;

/// Bodies in memory, compressed but for the newest 8 MB: 100,000 clusters (39 MB) take a few megabytes more.
pub struct MemoryBodies(Packed);

impl Default for MemoryBodies {
    fn default() -> Self {
        MemoryBodies(Packed::new(FRESH))
    }
}

impl Bodies for MemoryBodies {
    fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    fn get(&self, index: u32) -> Option<Bytes> {
        self.0.get(index)
    }
}
