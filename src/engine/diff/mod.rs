//! What differs between two contents: by field path, by line, and between two sets of resources.
//!
//! By meaning first: a list whose items have a key (a name, domains, an address) is compared by that key, a map
//! by its keys, an `Any` by what is in it. Where the API gives the order of a keyed list no meaning, its order is
//! left out and said so. Same input, same output. Works on protobuf JSON with the API's own field names
//! ([`crate::schema::Names::Original`]); knows no screen and no file.

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

pub use ignore::IgnorePattern;
pub use lines::{DiffRow, DiffSide, LineDiff, LinePart, LineTag, SideBySideRow, emphasis, fold_unchanged};
pub use path::{DiffPath, DiffStep, ListKey};
pub use push::{PushDiff, PushEntry, contents_around};
pub use sets::{SetDiff, diff_sets};
pub use tree::{Change, Comparison, Op, Options, compare};
pub use versions::{ResourceVersion, Verdict, extend_versions, versions};
