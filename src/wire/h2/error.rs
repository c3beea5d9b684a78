use thiserror::Error;

/// The reason why a connection cannot be followed as HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Http2Error {
    #[error("DATA with more padding than frame")]
    DataPadding,
    #[error("padded DATA without a padding length")]
    DataPaddingLength,
    #[error("a header frame over the limit")]
    LongHeaderFrame,
    #[error("a header block over the limit")]
    LongHeaderBlock,
    #[error("a header block that is not HPACK")]
    HeaderBlock,
    #[error("a header block is interrupted by another frame")]
    InterruptedHeaderBlock,
    #[error("HEADERS with more padding than frame")]
    HeadersPadding,
    #[error("HEADERS too short for its priority")]
    ShortHeaders,
    #[error("PUSH_PROMISE with more padding than frame")]
    PushPromisePadding,
    #[error("PUSH_PROMISE too short")]
    ShortPushPromise,
    #[error("CONTINUATION without a header block")]
    UnexpectedContinuation,
    #[error("RST_STREAM of a wrong length")]
    ResetLength,
    #[error("GOAWAY too short")]
    ShortGoAway,
}
