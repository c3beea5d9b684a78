use super::BlobId;

/// So many entries make a stretch. The hash of a longer one costs less an entry, but more of them are cut by the ends
/// of HTTP/2's frames.
pub(super) const LEN: usize = 8;

/// Entries in a row that came again in the same order. A hash over all of them, tags included, then takes the place of
/// splitting and hashing each: most of a large push is what the last one was.
#[derive(Debug)]
pub(super) struct EntryRun {
    /// How the first one begins, with its length: where all are shuffled, nothing is hashed in vain.
    pub head: [u8; 4],
    pub hash: u128,
    pub bytes: usize,
    /// Secrets were taken out of one of them.
    pub redacted: bool,
    pub blobs: [BlobId; LEN],
}
