//! Errors of opening a source.

use std::io;
use std::path::PathBuf;
use std::str::Utf8Error;

use crate::pcap::CaptureError;
use crate::record::RecordReadError;
use crate::script::{LoadError, ScriptError};
use xdscope_engine::applied::DumpError;
use xdscope_wire::text::{plural, size};

use super::SourceFormat;

/// Follows a folder of which not everything was looked at.
const FIRST_ENTRIES: &str = " among its first 20,000 files and folders";

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file or pipe cannot be read, or raw JSONL breaks off.
    #[error("cannot read {name}")]
    Io {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The recording is damaged at its start, or has an unknown version.
    #[error("cannot read {name}")]
    Recording {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: RecordReadError,
    },
    /// The packet capture has no usable header.
    #[error("cannot read {name}")]
    Capture {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: CaptureError,
    },
    /// The source is read as a whole, and needs more memory than the caller allows.
    #[error("cannot read {name}: it needs {} of memory, and the limit is {}", size(*needed), size(*limit))]
    TooLarge {
        /// The source, as the user typed it.
        name: String,
        /// Estimated bytes of memory.
        needed: u64,
        /// Bytes of memory that the source may take.
        limit: u64,
    },
    /// The source begins with a byte order mark of UTF-16.
    #[error("cannot read {name}: the text is in UTF-16, and xdscope reads UTF-8")]
    Utf16 {
        /// The source, as the user typed it.
        name: String,
    },
    /// The arrow script is not UTF-8.
    #[error("cannot read {name} as an arrow script, which is text in UTF-8")]
    Text {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: Utf8Error,
    },
    /// The arrow script has a syntax error.
    #[error("cannot read {name}")]
    Script {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: ScriptError,
    },
    /// The arrow script holds a message that cannot be encoded.
    #[error("cannot read {name}")]
    Load {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: LoadError,
    },
    /// A config dump or CSDS response is cut or damaged.
    #[error("cannot read {name}, which looks like a dump of a client")]
    Dump {
        /// The source, as the user typed it.
        name: String,
        /// The cause.
        source: DumpError,
    },
    /// A CSDS response lists no client.
    #[error("{name} is a CSDS response without a client")]
    NoClient {
        /// The source, as the user typed it.
        name: String,
    },
    /// The file is a bootstrap, which has neither messages nor resources.
    #[error("{name} is a bootstrap: expected a session or a response")]
    Bootstrap {
        /// The source, as the user typed it.
        name: String,
    },
    /// The file has no format that is known.
    #[error("{name} is neither a recording nor a file of resources: {reasons}")]
    NoResources {
        /// The source, as the user typed it.
        name: String,
        /// Why no format fits.
        reasons: String,
    },
    /// The source has no message of xDS, and no failed stream or connection.
    #[error("{name} holds no xDS message: {found}")]
    Empty {
        /// The source, as the user typed it.
        name: String,
        /// The contents of the source, in words.
        found: String,
    },
    /// A folder has no file whose name ends like that of a response.
    #[error("no files of resources in {}{}", dir.display(), if *has_more { FIRST_ENTRIES } else { "" })]
    EmptyFolder {
        /// The folder.
        dir: PathBuf,
        /// Whether there are more files and folders than were looked at.
        has_more: bool,
    },
    /// A folder has files of messages, each a source of its own, and no file of resources.
    #[error("{} is a folder with {} of messages: name a file", dir.display(), plural(files.len() as u64, "file"))]
    FolderOfMessages {
        /// The folder.
        dir: PathBuf,
        /// The files, sorted by path.
        files: Vec<PathBuf>,
    },
    /// The source lists applied resources, and the caller needs messages.
    #[error("{name} is a {}: it lists what a client has applied, and has no messages", format.word())]
    NoMessages {
        /// The source, as the user typed it.
        name: String,
        /// The recognised format.
        format: SourceFormat,
    },
    /// The caller needs `expect` lines, which only arrow scripts have.
    #[error("{name} is not an arrow script: it has no `expect` lines")]
    NotScript {
        /// The source, as the user typed it.
        name: String,
    },
}

impl SourceError {
    /// The error of a recording. An empty one is an empty source.
    pub fn recording(name: &str, source: RecordReadError) -> SourceError {
        let name = name.to_owned();
        match source {
            RecordReadError::Empty => SourceError::Empty { name, found: "the file is empty".to_owned() },
            source => SourceError::Recording { name, source },
        }
    }
}
