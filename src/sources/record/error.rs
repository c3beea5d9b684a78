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
    /// A compressed file, whatever is in it.
    #[error("the file is compressed ({})", .0.word())]
    Compressed(Compression),
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

impl RecordReadError {
    /// Returns the error for a file that begins like no source.
    pub(super) fn unknown(first: &[u8]) -> RecordReadError {
        Compression::detect(first).map_or(RecordReadError::Unknown, RecordReadError::Compressed)
    }
}

/// The format of a compressed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
    /// LZ4.
    Lz4,
    /// An archive of zip.
    Zip,
}

impl Compression {
    /// Recognises a compressed file by its first bytes.
    pub fn detect(first: &[u8]) -> Option<Compression> {
        let magics: [(&[u8], Compression); 6] = [
            (b"\x1f\x8b\x08", Compression::Gzip),
            (b"BZh", Compression::Bzip2),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
            (b"\x04\x22\x4d\x18", Compression::Lz4),
            (b"PK\x03\x04", Compression::Zip),
        ];
        magics.into_iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, compression)| compression)
    }

    /// Name for people.
    pub fn word(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
            Compression::Zip => "zip",
        }
    }

    /// The command that writes the content of a file, whose name follows, to standard output.
    pub fn command(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip -dc",
            Compression::Bzip2 => "bzip2 -dc",
            Compression::Xz => "xz -dc",
            Compression::Zstd => "zstd -dc",
            Compression::Lz4 => "lz4 -dc",
            Compression::Zip => "unzip -p",
        }
    }
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
