//! Common vocabulary: ids, times, directions, type URLs, methods.
//!
//! Imports no other module, does no I/O and does not read bytes.

mod dense;
mod ids;
mod kind;
mod method;
mod time;

pub use dense::DenseHash;
pub use ids::{CODE_NAMES, Code, Dir, Nonce, Seq, Side, StreamId, Sym, TypeUrl, VersionInfo};
pub use kind::{ApiVersion, Kind, TYPE_PREFIX, foreign_type_url, is_asked_once};
pub use method::{Method, Variant};
pub use time::{Clock, Time};
