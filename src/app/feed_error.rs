//! Requests of the screens that a live source refuses.

use xdscope_sources::SourceError;
use xdscope_sources::record::RecordReadError;

use crate::app::recording::named_recording::NamedRecordingError;

/// A request of the screens that a live source refuses. The text is for the user.
#[derive(Debug, thiserror::Error)]
pub enum LiveFeedError {
    #[error("the run is not recorded (--no-record)")]
    NotRecorded,
    /// The error that stopped the recording.
    #[error("{0}")]
    RecordingStopped(String),
    #[error("cannot read the session file: {0}")]
    SessionFile(#[from] SourceError),
    #[error("cannot copy from the session file: {0}")]
    Copied(#[from] RecordReadError),
    #[error("cannot start reading the session file: {0}")]
    NoReader(std::io::Error),
    #[error("cannot go back: {0}")]
    Rewind(Box<LiveFeedError>),
    #[error("nothing can be held here")]
    NoDesk,
    #[error("this is live: Space holds it")]
    NotHeld,
    #[error("this source takes no commands: the streams are not xdscope's own")]
    NoClient,
    #[error("the client has too much to do, or has ended")]
    ClientBusy,
    #[error("no named recording to end")]
    NoNamedRecording,
    #[error("no session file to copy from (--no-record)")]
    NoSessionFile,
    #[error(transparent)]
    Named(#[from] NamedRecordingError),
}
