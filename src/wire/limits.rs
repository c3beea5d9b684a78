//! Limits of messages and connections, as docs/limits.md states them.

pub use crate::assembler::{MAX_TYPES, MAX_UNFINISHED_BYTES, MIN_METADATA_BYTES};
pub use crate::builder::MAX_FIELD_BYTES;
pub use crate::builder::parts::{
    MANY_NAME_BYTES, MAX_INLINE_BYTES, MAX_NAME_BYTES, MAX_RESOURCES, NAME_OVERHEAD,
};
pub use crate::discovery::kept_text::{MAX_ERROR_BYTES, MAX_IDENTIFIER_BYTES};
pub use crate::frame::MAX_LIMITED_METHOD_BYTES;
pub use crate::grpc::{INFLATE_BYTES, MAX_UNPACKING_BYTES, ZSTD_BYTES};
pub use crate::h2::headers::{MAX_HEADER_BYTES, MAX_HEADER_EXPANSION, MIN_TOTAL_HEADER_BYTES};
pub use crate::http1::body::MAX_BODY_BYTES;
