//! Everything that yields frames, and the one way to open what was written down.
//!
//! The crate owns observed connections ([`observe`]), recordings ([`record`]), packet captures
//! ([`pcap`]), arrow scripts ([`script`]), and both peers as state machines ([`peers`]). [`open`]
//! reads a whole file or folder, [`read`] a pipe, and [`fold`] a file that is too large to hold in
//! memory. All three recognise the format themselves.
//!
//! The crate must not touch sockets, clocks and threads. [`open`] is the only part that touches
//! files.
//!
//! Begin reading at [`open`] and [`Source`].
//!
//! ```
//! use xdscope_schema::Schema;
//! use xdscope_sources::{SchemaCodec, script};
//!
//! let text = "stream 1 ads\n> cds\n< cds v=1 n=a [cart]\n> cds v=1 n=a\n";
//! let script = script::parse(text, "session.xds").unwrap();
//! let loaded = script::load(&script, &SchemaCodec(Schema::builtin())).unwrap();
//! assert_eq!(loaded.frames.len(), 4, "the opening of the stream, and three messages");
//! ```

#![cfg_attr(not(test), warn(unreachable_pub, clippy::type_complexity))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(missing_docs)]

mod evidence;
mod fold;
mod frame_reader;
pub mod limits;
pub mod observe;
mod open;
mod passes;
pub mod pcap;
pub mod peers;
pub mod record;
mod replay_until;
mod row_sink;
mod schema_codec;
pub mod script;

pub use fold::{Folded, FrameSink, ReadProgress, fold};
pub use frame_reader::{FrameReader, StartedSource, start, start_session};
pub use open::{
    DecodingGaps, MAX_FOLDER_ENTRIES, Source, SourceError, SourceFormat, Spec, VersionedResource,
    check_frames, collect_resources, decoding_gaps, files_of, first_of_session, format_of, format_of_start,
    list_files, max_response_bytes, open, open_recording, open_script, open_session, parse_documents, read,
    read_dump, read_resources, size_of, start_recording,
};
pub use passes::{BoundedCatalog, Passes, StoreUntil, Until};
pub use replay_until::{
    COMPARED_DIVISOR, InvalidPosition, Limit, PositionError, Replay, ReplayPosition, SourceSpan, is_message,
    replay, replay_all, store,
};
pub use row_sink::{RowSink, Timeline};
pub use schema_codec::SchemaCodec;
