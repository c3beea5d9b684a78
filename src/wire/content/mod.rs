//! Content, stored once however often it is sent: texts, resource entries, lists of entries.
//!
//! A [`Catalog`] belongs to one source. Everything right of the wire refers to content by [`BlobId`] and
//! [`Sym`](crate::wire::event::Sym), so a re-push of 100,000 unchanged resources is one pointer, and a thousand
//! streams that hold the same resources hold them once. Owns the ids; bodies lie behind [`Bodies`] (memory, or
//! a recording).
//! Knows the wrapper messages `Any` and `Resource`, and no other protobuf schema.

mod bodies;
mod body_cache;
mod catalog;
mod entry;
mod entry_run;
mod index;
mod list;
mod packed;
mod strings;

pub use bodies::{Bodies, MemoryBodies};
pub use catalog::{Blob, BlobId, Catalog, Form};
pub use entry::{Entry, Wrapper};
pub use list::{List, ListBuilder};
pub use packed::Packed;
pub use strings::Strings;

/// Removes secrets before anything is kept. Implemented over the descriptors; `content` only calls it.
pub trait Redact: Send + Sync {
    /// The `Any` in `bytes` without its secrets, or `None` if it holds none. Length may change, the result
    /// is an `Any` of the same type. Damaged ones are cleaned as far as they can be read, [`raw`](Redact::raw)
    /// from there on.
    fn resource(&self, bytes: &[u8]) -> Option<Vec<u8>>;
    /// The same for a text that a peer wrote, such as an error detail.
    fn text(&self, text: &str) -> Option<String>;
    /// The same for bytes that can't be read field by field: what is known by its looks, private keys, is
    /// overwritten in place. The length stays.
    fn raw(&self, bytes: &[u8]) -> Option<Vec<u8>>;
    /// The same for fields in a row of which nothing is known, and what may stand behind them unreadable: their tags
    /// and lengths stay, so that they are still the same fields.
    fn fields(&self, bytes: &[u8]) -> Option<Vec<u8>>;
}
