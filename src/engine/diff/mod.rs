//! Differences between two resources, by field path or line, and between two sets of resources.
//!
//! Compares lists whose items have a key (a name, domains, an address) by key, maps by key, and
//! `Any`s by payload. Reports a changed order of a keyed list separately if the order does not
//! matter to the API. The comparison is deterministic. The input is protobuf JSON with the original
//! field names ([`xdscope_schema::FieldNames::Original`]).

#![warn(missing_docs)]

mod align;
mod ignore;
mod keys;
mod lines;
mod path;
mod push;
mod sets;
#[cfg(test)]
mod tests;
mod tree;
mod versions;

pub use ignore::{IgnorePattern, PatternError};
pub use lines::{DiffRow, DiffSide, LineDiff, LinePart, LineTag, SideBySideRow, emphasis, fold_unchanged};
pub use path::{DiffPath, DiffStep, ListKey};
pub use push::{PushDiff, PushEntry, contents_around};
pub use sets::{SetDiff, diff_sets};
pub use tree::{Change, Comparison, Op, Options, compare};
pub use versions::{ResourceVersion, Verdict, extend_versions, versions};
