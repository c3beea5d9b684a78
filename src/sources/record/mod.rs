//! Recordings and the raw interchange form: reading and writing over std `Read` and `Write`.
//!
//! # The .xdsrec format
//!
//! `proto/recording.proto` is the description, byte by byte. In short: a header with the format version, then
//! checked *blocks* of at most 128 KiB before packing. Blocks make up *segments* of at most some 2 MiB (192 KiB
//! packed); a segment is one zstd stream that is flushed at the end of each block, and holds content, frames
//! and lists of entries in the order of time. Content is written once a file; a list is written as what differs
//! from the one before.
//!
//! What a file promises:
//!
//! * Whatever was flushed can be read, whenever the writer was killed. A live recorder flushes each tenth of a
//!   second while there is something new; the promise is one second. (Of a machine that fails, only what the
//!   system had brought to the disk.)
//! * How often it is flushed does not change what a file holds at its end: a flush of less than a block is
//!   written *loose*, as it is, and the packed block takes its place once it is full. It is written behind the
//!   loose blocks first and cut off last, so that at no moment it or they are not whole.
//! * There is no index: reading in order is fast enough, and a file that was not finished opens as fast as one
//!   that was.
//! * A segment says where it stands (counts, time, what its streams are), so damage costs at most the rest of
//!   one segment, and what it cost is known.
//! * Hashes are keyed by the header's seed and follow from the bytes: 16 incompressible bytes a blob would be
//!   half as much again as what is recorded.
//! * Names, versions and hashes are read from the bytes again, on opening.
//! * Times are kept in microseconds: the noise of a clock below that is most of what a small message costs.
//!
//! Considered and rejected: *a packed block for each flush* (27 bytes of zstd's and 13 of ours, where an update with
//! its ACK packs to 40); *a journal in a second file* (a session that is copied or mailed after a crash would lack
//! its end); *independent blocks* (each flush packs its own: three times the size for single
//! delta updates); *a dictionary from the first block* (good for those, but that block is lost with all others,
//! and a file of rare messages has none); *content apart from frames* (opening need not unpack bodies, but names
//! are packed twice and hashes must be written; unpacking is faster than what reading them would save); *an
//! index at the end* (is missing exactly after a crash; reading in order is fast enough to need none).

mod block;
mod bodies;
mod decode;
mod encode;
mod error;
mod header;
mod list;
mod order;
mod output;
mod part;
pub mod raw;
mod reader;
mod reading;
mod response_file;
pub mod state_dir;
mod tls;
mod writer;

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use crate::wire::Frame;
use crate::wire::content::Catalog;
use crate::wire::event::{Clock, Time};

pub use error::RecordReadError;
pub use header::{Header, MAGIC, VERSION};
pub use part::part;
pub use reading::Reading;
pub use response_file::ResponseFile;
pub use writer::Writer;

/// A source read from a file, whichever format it had.
pub struct Loaded {
    pub catalog: Catalog,
    pub clock: Clock,
    /// In recorded order.
    pub frames: Vec<Frame>,
    /// Where the source's clock stops (its last line, even without a frame).
    pub end: Time,
    /// What a person must know: damage, a truncated tail, lines skipped.
    pub notices: Vec<String>,
    /// It is a recording that was made with `--keep-secrets`.
    pub secrets: bool,
}

/// Opens a recording or raw JSONL, told apart by content. Bodies of a recording stay in the file and are read
/// from it while the catalog is used.
pub fn open(path: &Path) -> Result<Loaded, RecordReadError> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return read(file);
    }
    let mut input = BufReader::new(file);
    match detect(input.fill_buf()?) {
        Format::Recording => reading::read(input, Box::new(File::open(path)?)),
        Format::Raw => Ok(raw::read(input)?),
        Format::Other => Err(RecordReadError::Unknown),
    }
}

/// Begins to read a recording whose frames are not wanted all at once. `None`: the file is none.
pub fn start(path: &Path) -> Result<Option<(Catalog, Reading<impl Read>)>, RecordReadError> {
    let mut input = BufReader::new(File::open(path)?);
    if input.get_ref().metadata()?.is_file() && detect(input.fill_buf()?) == Format::Recording {
        return Reading::new(input, Box::new(File::open(path)?)).map(Some);
    }
    Ok(None)
}

/// Reads what can't be read twice, such as standard input. A recording is kept in memory, packed.
pub fn read(input: impl Read) -> Result<Loaded, RecordReadError> {
    let mut input = BufReader::with_capacity(DETECT, input);
    // A pipe may hand over a byte at a time.
    let mut first = Vec::new();
    (&mut input).take(DETECT as u64).read_to_end(&mut first)?;
    let format = detect(&first);
    let mut input = Cursor::new(first).chain(input);
    match format {
        Format::Recording => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            let bytes: Arc<[u8]> = bytes.into();
            reading::read(&bytes[..], Box::new(Cursor::new(bytes.clone())))
        }
        Format::Raw => Ok(raw::read(input)?),
        Format::Other => Err(RecordReadError::Unknown),
    }
}

/// Bytes that are looked at to tell what a file is.
const DETECT: usize = 8 << 10;

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An .xdsrec, of whatever version; also the empty file, and one cut within its magic.
    Recording,
    Raw,
    /// Nothing of this module: an arrow script, a config dump, a bootstrap.
    Other,
}

/// Tells what a file is by its first 8 KiB, or all of it.
pub fn detect(first: &[u8]) -> Format {
    let shared = first.len().min(MAGIC.len());
    if first[..shared] == MAGIC[..shared] {
        return Format::Recording;
    }
    // The first line may go on beyond what there is; its keys need not.
    let line = first.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let whole = serde_json::from_slice::<serde_json::Value>(line);
    let raw = match whole {
        Ok(value) => value.get("dir").is_some(),
        Err(error) => {
            error.is_eof() && line.starts_with(b"{") && memchr::memmem::find(line, b"\"dir\"").is_some()
        }
    };
    if raw { Format::Raw } else { Format::Other }
}

/// Creates a recording's file, readable by its owner only (0600). A file that exists is written over if it is
/// empty or a recording, and refused if it is anything else.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    if file.metadata()?.is_file() {
        let mut magic = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if !magic.is_empty() && magic != MAGIC {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists and is no recording"));
        }
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.set_len(0)?;
        io::Seek::rewind(&mut file)?;
    }
    Ok(file)
}
