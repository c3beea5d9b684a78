use std::io;

/// Why a source can't be opened at all. Damage past the header is no error but a notice.
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
    #[error("the recording ends at byte {at}, within its header: nothing of it can be read")]
    Cut { at: u64 },
    #[error("the recording's header (bytes 0 to {end}) is damaged: without it nothing can be read")]
    Header { end: u64 },
}
