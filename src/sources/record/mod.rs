//! Recordings and raw JSONL, read and written over std `Read` and `Write`.
//!
//! # The .xdsrec format
//!
//! `proto/recording.proto` describes the format byte by byte. In short: a header with the format
//! version is followed by checksummed *blocks* of up to 128 KiB of uncompressed data. Blocks make
//! up *segments* of about 2 MiB (192 KiB compressed). A segment is one zstd stream, flushed at the
//! end of each block. It holds content, frames and lists of entries in order of time. Content is
//! written once per file; a list is written as the difference from an earlier list.
//!
//! Guarantees:
//!
//! * Everything that was flushed can be read, whenever the writer is killed. A live recorder
//!   flushes every 100 ms while there is new data; the documented limit is one second. (If the
//!   machine fails, only what the system had written to disk remains.)
//! * The frequency of flushes does not change the finished file. A flush of less than a block is
//!   written *loose*, that is uncompressed, and the compressed block replaces the loose blocks once
//!   it is full. The compressed block is first written behind the loose blocks, and that copy is
//!   cut off last, so that one of the two is complete at any moment.
//! * There is no index. Reading in order is fast enough, and an unfinished file opens as fast as a
//!   finished one.
//! * Every segment states its position (counts, time, open streams), so that damage costs at most
//!   the rest of one segment, and readers know what is missing.
//! * Hashes are keyed by the seed in the header and computed from the content. Storing 16
//!   incompressible bytes per blob would make a recording half as large again.
//! * Names, versions and hashes are parsed from the content again when a file is opened.
//! * Times have microsecond resolution. Below that, clock noise would be most of the size of a
//!   small message.
//!
//! Rejected alternatives: *a compressed block per flush* (40 bytes of overhead, as much as an
//! update with its ACK); *a journal in a second file* (a session copied after a crash would lack
//! its end); *independent blocks* (three times the size for single delta updates); *a dictionary
//! from the first block* (damage to that block would cost all others, and a file of rare messages
//! has none); *content apart from frames* (names would be compressed twice and hashes stored;
//! decompressing is faster than reading them would be); *an index at the end* (missing exactly
//! after a crash).

mod blob_numbers;
mod block;
mod block_sink;
pub(crate) mod bodies;
mod decode;
mod encode;
mod encoder;
mod error;
mod header;
mod journal;
mod list;
mod loaded;
mod missing;
mod order;
mod output;
mod part;
pub mod raw;
mod recording_reader;
mod response_file;
pub(crate) mod segment_reader;
mod settled;
mod tls;
mod writer;

#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Cursor, Read, Seek};
use std::sync::Arc;

use xdscope_wire::text::without_mark;

pub use error::{Compression, FolderSession, RecordReadError};
pub use header::{Header, MAGIC, VERSION};
pub use journal::{JournalPart, JournalReader, JournalWriter, PartSink};
pub use loaded::Loaded;
pub use output::RewritableFile;
pub use part::{Part, SeqSet, retain_part};
pub use recording_reader::{RecordingPart, RecordingReader};
pub use response_file::ResponseFile;
pub use segment_reader::UNFINISHED;
pub use settled::settled_end;
pub use writer::Writer;

/// Opens a recording or raw JSONL, whichever the content says.
///
/// `bodies` is a second handle on the bytes of `input`. The catalog of a recording reads bodies
/// from there, on demand.
///
/// # Errors
///
/// The input can't be read, or is neither a recording nor raw JSONL.
pub fn open(input: impl Read, bodies: impl Read + Seek + Send + 'static) -> Result<Loaded, RecordReadError> {
    let mut input = BufReader::new(input);
    let first = input.fill_buf()?;
    match detect(first) {
        FileFormat::Recording => recording_reader::read(input, Box::new(bodies)),
        FileFormat::Raw => Ok(raw::read(input)?),
        FileFormat::Other => Err(RecordReadError::unknown(first)),
    }
}

/// Reads input that can't be read twice, such as standard input.
///
/// A recording stays in memory, compressed.
///
/// # Errors
///
/// The input can't be read, or is neither a recording nor raw JSONL.
pub fn read(input: impl Read) -> Result<Loaded, RecordReadError> {
    let mut input = BufReader::with_capacity(DETECT, input);
    // A pipe may return one byte at a time.
    let mut first = Vec::new();
    (&mut input).take(DETECT as u64).read_to_end(&mut first)?;
    let format = detect(&first);
    let unknown = RecordReadError::unknown(&first);
    let mut input = Cursor::new(first).chain(input);
    match format {
        FileFormat::Recording => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            let bytes: Arc<[u8]> = bytes.into();
            recording_reader::read(&bytes[..], Box::new(Cursor::new(bytes.clone())))
        }
        FileFormat::Raw => Ok(raw::read(input)?),
        FileFormat::Other => Err(unknown),
    }
}

/// How many bytes decide the format of a file.
const DETECT: usize = 8 << 10;

/// The format of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// An .xdsrec of any version, an empty file, or a file that ends within the magic.
    Recording,
    /// Raw JSONL.
    Raw,
    /// Another format: an arrow script, a config dump, a bootstrap.
    Other,
}

/// Detects the format of a file by its first 8 KiB, or all of it.
pub fn detect(first: &[u8]) -> FileFormat {
    let shared = first.len().min(MAGIC.len());
    if first[..shared] == MAGIC[..shared] {
        return FileFormat::Recording;
    }
    // The first line may be longer than `first`; its keys rarely are.
    let text = without_mark(first);
    let line = text.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let whole = serde_json::from_slice::<serde_json::Value>(line);
    let raw = match whole {
        Ok(value) => value.get("dir").is_some(),
        Err(error) => {
            error.is_eof() && line.starts_with(b"{") && memchr::memmem::find(line, b"\"dir\"").is_some()
        }
    };
    if raw { FileFormat::Raw } else { FileFormat::Other }
}
