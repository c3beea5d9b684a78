//! Limits of messages, texts and descriptor sets, as docs/limits.md states them.

pub use crate::json::json_text::{MIN_TREE_LIMIT, TREE_BYTES_PER_TEXT_BYTE};
pub use crate::json::size::{MAX_CHECKED_VALUES, MAX_SHOWN_VALUES};
pub use crate::pools::descriptor_set::message::{MAX_ENUM_VALUES, MAX_OPTION_BYTES};
pub use crate::pools::descriptor_set::{MAX_SET_BYTES, MAX_SET_ENTRIES, MAX_SET_FILES, MAX_SET_NAME_BYTES};
pub use crate::resolve::{MAX_PROTO_BYTES, MAX_PROTO_DECLARATIONS};
