//! Limits of the readers of files, as docs/limits.md states them.

pub use crate::open::{MAX_RESPONSE_BYTES, MIN_SCRIPT_MEMORY, RESPONSE_MEMORY_PER_BYTE};
pub use crate::pcap::connections::{MAX_CONNECTIONS, MAX_WAITING_BYTES};
pub use crate::record::bodies::MAX_SEGMENT_BYTES;
pub use crate::record::segment_reader::{MIN_BLOB_LIMIT, MIN_ENTRY_LIMIT, MIN_FRAME_LIMIT};
