use thiserror::Error;

/// The reason why a connection cannot be followed as HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Http1Error {
    #[error("not HTTP/1.1")]
    Protocol,
    #[error("a head of more than 64 KiB")]
    LongHead,
    #[error("a header line without a colon")]
    HeaderLine,
    #[error("a content-length that is not a number")]
    ContentLength,
    #[error("a chunk without a size")]
    ChunkSize,
    #[error("a line that is too long")]
    LongLine,
    #[error("a body that is too large")]
    LargeBody,
    #[error("too many requests without a response")]
    TooManyRequests,
    #[error("a response without a request")]
    UnexpectedResponse,
    #[error("switches to another protocol")]
    Upgrade,
}
