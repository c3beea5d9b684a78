/// A blob of one catalog, numbered from 0. Numbers of dropped blobs are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub u32);

impl BlobId {
    /// Marks the absence of a blob.
    pub(super) const NONE: BlobId = BlobId(u32::MAX);
}
