//! The protobuf wire format, without descriptors: varints, tags, and splitting a message into its
//! top-level fields, whole or chunk by chunk.
//!
//! Owns no meaning: what a field number stands for is the caller's business. Never panics on any input.

mod fields;
pub mod plain;
mod splitter;
mod varint;

pub use fields::{Field, FieldError, Fields, Value, field_bit, rebuild, text};
pub use splitter::{SplitError, Splitter};
pub use varint::{put_len_field, put_tag, put_varint, read_varint, tag_len, varint_len};

/// Wire types 3 and 4 (groups) are read but never occur in proto3 messages of the API.
pub const WIRE_VARINT: u8 = 0;
pub const WIRE_I64: u8 = 1;
pub const WIRE_LEN: u8 = 2;
pub const WIRE_SGROUP: u8 = 3;
pub const WIRE_EGROUP: u8 = 4;
pub const WIRE_I32: u8 = 5;
