//! Everything that yields frames, and the one way to open what was written down.
//!
//! [`open`] reads a whole file or folder, [`read`] a pipe, and [`fold`] a file that is too large to
//! hold in memory. All three recognise the format themselves. The folders below read and write one
//! format each.

#![warn(missing_docs)]

mod evidence;
mod fold;
mod frame_reader;
pub mod observe;
mod open;
mod passes;
pub mod pcap;
pub mod record;
mod replay_until;
mod row_sink;
mod schema_codec;
pub mod script;

pub use fold::{Folded, FrameSink, ReadProgress, fold};
pub use frame_reader::{FrameReader, StartedSource, start};
pub use open::{
    DecodingGaps, MAX_FOLDER_ENTRIES, Source, SourceError, SourceFormat, Spec, VersionedResource,
    check_frames, collect_resources, decoding_gaps, files_of, first_of_session, format_of, format_of_start,
    list_files, open, open_recording, open_script, open_session, parse_documents, read, read_dump, size_of,
    start_recording,
};
pub use passes::{BoundedCatalog, Passes, StoreUntil, Until};
pub use replay_until::{
    InvalidPosition, Limit, PositionError, Replay, ReplayPosition, SourceSpan, is_message, replay,
    replay_all, store,
};
pub use row_sink::{RowSink, Timeline};
pub use schema_codec::SchemaCodec;
