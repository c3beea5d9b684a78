//! Moves of the time cursor that are refused.

/// A move of the time cursor that is refused. The text is for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SeekError {
    #[error("this is the start")]
    AtStart,
    #[error("this is the end")]
    AtEnd,
    #[error("this is the end: ^ goes to the start, , a message back")]
    NothingToPlay,
    #[error("no message in this source is a NACK")]
    NoNack,
    #[error("no {problem} after this moment")]
    NoProblemAfter { problem: &'static str },
    #[error("no {problem} before this moment")]
    NoProblemBefore { problem: &'static str },
    #[error("there is no message #{n}; the last one is #{last}")]
    NoMessage { n: u64, last: u64 },
    #[error("message #{n} is beyond --memory: the first message to go to is #{first}")]
    BeyondMemory { n: u64, first: u64 },
    #[error("the source is not open yet")]
    NotOpen,
}
