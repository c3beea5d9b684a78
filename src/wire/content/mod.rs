//! Content, stored once however often it is sent: texts, resource entries, lists of entries.
//!
//! A [`Catalog`] belongs to one source. Later modules refer to content by [`BlobId`] and
//! [`Sym`](crate::event::Sym): a push that repeats 100,000 resources is one pointer, and a
//! thousand streams with the same resources hold them once. The bodies lie behind [`BodyStore`], in
//! memory or in a recording. The only protobuf messages known here are `Any` and `Resource`.

mod blob;
mod blob_id;
mod blob_table;
mod bodies;
mod body_cache;
mod catalog;
mod compared;
mod entry;
mod entry_run;
mod id_set;
mod index;
mod kept_ids;
mod list;
mod packed;
mod spellings;
mod strings;
mod used;

pub use blob::{Blob, BlobForm};
pub use blob_id::BlobId;
pub use bodies::{BodyStore, MemoryBodies};
pub use catalog::{Catalog, ContentTotals};
pub use entry::{ResponseEntry, Wrapper};
pub use list::{List, ListBuilder};
pub use packed::Packed;
pub use strings::Strings;
pub use used::{UsedContent, next_drop};

/// Removes secrets before content is stored. Implemented over the descriptors.
pub trait Redact: Send + Sync {
    /// Does what the first message on this thread would otherwise wait for.
    fn warm(&self) {}
    /// Returns the `Any` in `bytes` without its secrets; `None` if it has none.
    ///
    /// The result is an `Any` of the same type and may have another length. A malformed `Any` is
    /// cleaned up to the damage, and from there on like [`raw`](Redact::raw).
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>>;
    /// Returns a text of a peer, such as an error detail, without its secrets; `None` if it has
    /// none.
    fn text(&self, text: &str) -> Option<String>;
    /// Returns an `Any` of the details of a status without its secrets; `None` if it has none.
    fn detail(&self, any: &[u8]) -> Option<Vec<u8>> {
        self.resource(any)
    }
    /// Returns a `Resource` without the secrets around its payload; `None` if there are none.
    fn wrapper(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
    /// Returns a `ResourceLocator` or `ResourceName` without the secrets of its parameters; `None`
    /// if it has none. The name stays.
    fn parameters(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
    /// Returns a `Node` without secrets, except for private keys that [`raw`](Redact::raw) finds;
    /// `None` if it has none.
    fn node(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }
    /// Returns a `Node` without its secrets; `None` if it has none.
    fn whole_node(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = self.node(bytes);
        self.raw(clean.as_deref().unwrap_or(bytes)).or(clean)
    }
    /// Returns the value of a metadata entry without its secrets; `None` if it has none.
    fn metadata(&self, _name: &str, _value: &str) -> Option<String> {
        None
    }
    /// Overwrites private keys in bytes that cannot be read as fields; `None` if there are none.
    ///
    /// The length stays the same.
    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>>;
    /// Removes secrets from a run of unknown fields and from unreadable bytes after them; `None` if
    /// there are none. Tags and lengths stay the same.
    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>>;
}
