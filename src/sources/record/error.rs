use std::io;

/// Why a source can't be opened. Damage behind the header is a notice, not an error.
#[derive(Debug, thiserror::Error)]
pub enum RecordReadError {
    #[error("can't read the recording")]
    Io(#[from] io::Error),
    /// Neither a recording nor raw JSONL.
    #[error(
        "not a recording: it begins with neither the .xdsrec magic nor a JSON object with \"dir\" (raw JSONL)"
    )]
    Unknown,
    #[error("the file is empty: nothing was recorded")]
    Empty,
    #[error("format version {found} is newer than this xdscope reads ({reads}): update xdscope")]
    TooNew { found: u16, reads: u16 },
    #[error("the recording is cut off at byte {at}, within its header, and can't be read")]
    Cut { at: u64 },
    #[error("the header of the recording (bytes 0 to {end}) is damaged, so that it can't be read")]
    Header { end: u64 },
}
