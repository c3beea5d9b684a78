use serde_json::Value;

/// Why a line of raw JSONL is skipped.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("longer than {0} MiB")]
    TooLong(u64),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("stream is {0}, not a number")]
    StreamNumber(Value),
    #[error("unknown dir {0:?}: expected open, c2s, s2c, status, close or gap")]
    Dir(String),
    #[error("t is {0}: expected seconds or RFC 3339 text, like the first line")]
    Time(Value),
    #[error("code is not a gRPC status, neither a number nor a name")]
    Status,
    #[error("the method is missing")]
    NoMethod,
    #[error("stream {0} is already open")]
    AlreadyOpen(String),
    #[error("stream {0} has ended")]
    Ended(String),
    #[error("node_hint is not a Node")]
    NodeHint,
    #[error("raw is not base64")]
    Base64,
    #[error("raw is missing")]
    NoContent,
    #[error("body: {0}")]
    BodyText(#[source] serde_json::Error),
    #[error("body is not a {0}")]
    Body(String),
}
