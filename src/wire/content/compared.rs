//! Payloads that are compared with earlier ones.

use bytes::Bytes;

use super::{BlobId, Catalog};

impl Catalog {
    /// Returns the bytes of a payload that is compared with an earlier one.
    ///
    /// The bytes are cached: the payload is compared again when it is the earlier one.
    pub fn compared(&self, payload: BlobId) -> Option<Bytes> {
        self.recent.get(payload.0, &*self.bodies)
    }

    /// Returns the bytes of the earlier payload of a comparison, which the later one replaces.
    pub fn compared_before(&self, payload: BlobId) -> Option<Bytes> {
        self.recent.get_once(payload.0, &*self.bodies)
    }

    /// Caches this many bytes of payloads that are compared, or may be because they are new in a
    /// recording: another look at one would decompress its segment. 0 caches no new ones.
    pub fn cache_compared(&mut self, bytes: usize) {
        self.recent.set_limit(bytes);
        self.caches_read = bytes > 0;
    }

    /// Notes the payload of a blob that was just read from a recording: caches it if payloads are
    /// compared.
    pub fn note_read(&mut self, payload: BlobId, body: &[u8]) {
        self.search_structured(body);
        if self.caches_read {
            self.recent.put(payload.0, body);
        }
    }
}
