use super::BlobId;

/// Entries in a run. A longer run costs less per entry, but is more often cut by the end of an
/// HTTP/2 frame.
pub(super) const RUN_LEN: usize = 8;

/// Consecutive entries that arrived in the same order before.
///
/// One hash over the run, tags included, replaces splitting and hashing each entry: most of a large
/// push repeats the previous one.
#[derive(Debug)]
pub(super) struct EntryRun {
    /// First bytes of the run, length included, so that nothing is hashed where the order changed.
    pub head: [u8; 4],
    pub hash: u128,
    pub bytes: usize,
    /// Secrets were removed from one of the entries.
    pub redacted: bool,
    pub blobs: [BlobId; RUN_LEN],
}
