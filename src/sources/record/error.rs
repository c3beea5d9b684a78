use std::io;
use std::path::PathBuf;

/// Why a source can't be opened. Damage behind the header is a notice, not an error.
#[derive(Debug, thiserror::Error)]
pub enum RecordReadError {
    /// Reading failed.
    #[error("can't read the recording")]
    Io(#[from] io::Error),
    /// Neither a recording nor raw JSONL.
    #[error(
        "not a recording: it begins with neither the .xdsrec magic nor a JSON object with \"dir\" (raw JSONL)"
    )]
    Unknown,
    /// The directory has recordings of several sessions.
    #[error("the directory holds {} sessions: name one", sessions.len())]
    ManySessions {
        /// The sessions, in order of time.
        sessions: Vec<FolderSession>,
    },
    /// The file has no bytes.
    #[error("the file is empty: nothing was recorded")]
    Empty,
    /// The recording was written by a later release in a format that this one does not know.
    #[error("format version {found} is newer than this xdscope reads ({reads}): update xdscope")]
    TooNew {
        /// Format version of the file.
        found: u16,
        /// Latest format version that this release reads.
        reads: u16,
    },
    /// The file ends within its header.
    #[error("the recording is cut off at byte {at}, within its header, and can't be read")]
    Cut {
        /// Length of the file, in bytes.
        at: u64,
    },
    /// The length or the checksum of the header is wrong.
    #[error("the header of the recording (bytes 0 to {end}) is damaged, so that it can't be read")]
    Header {
        /// Number of bytes that the header takes, as far as known.
        end: u64,
    },
}

/// A session of several in a directory.
#[derive(Clone, Debug)]
pub struct FolderSession {
    /// Its first file.
    pub first: PathBuf,
    /// Number of its files.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}
