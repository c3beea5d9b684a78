use xdscope_schema::without_values;

/// Why a line of raw JSONL is skipped.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("longer than {0} MiB; raise --memory")]
    TooLong(u64),
    #[error("longer than {0} MiB, its message counts as missing; raise --memory")]
    LongMessage(u64),
    #[error("the values need more than {0} MiB of memory; raise --memory")]
    TooManyValues(usize),
    #[error("{0} is longer than {1} KiB")]
    TextTooLong(&'static str, usize),
    #[error("a message with escapes is longer than {0} KiB; raise --memory")]
    EscapedTooLong(usize),
    #[error("{}", without_values(.0))]
    Json(#[from] serde_json::Error),
    #[error("stream is not a number")]
    StreamNumber,
    #[error("unknown dir: expected open, c2s, s2c, status, close or gap")]
    Dir,
    #[error("wrong t: expected seconds or RFC 3339 text, like the first line")]
    Time,
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
    #[error("body: {}", without_values(.0))]
    BodyText(#[source] serde_json::Error),
    #[error("body is not a {0}")]
    Body(String),
}
