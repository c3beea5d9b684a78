//! The protobuf wire format without descriptors: varints, tags, fields.
//!
//! Splits messages into top-level fields, complete or chunk by chunk. Field numbers have no meaning
//! here. Never panics on any input.

mod fields;
pub mod plain;
mod splitter;
mod varint;

pub use fields::{FieldError, Fields, Value, WireField, field_bit, rebuild, text};
pub use splitter::{SplitError, Splitter};
pub use varint::{put_len_field, put_tag, put_varint, read_varint, tag_len, varint_len};

/// Wire type of a varint.
pub const WIRE_VARINT: u8 = 0;
/// Wire type of eight bytes.
pub const WIRE_I64: u8 = 1;
/// Wire type of a length-delimited field.
pub const WIRE_LEN: u8 = 2;
/// Wire type of the start of a group; the API has no groups.
pub const WIRE_SGROUP: u8 = 3;
/// Wire type of the end of a group.
pub const WIRE_EGROUP: u8 = 4;
/// Wire type of four bytes.
pub const WIRE_I32: u8 = 5;
