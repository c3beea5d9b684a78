//! The error codes of HTTP/2.

/// Names of the error codes of HTTP/2 (RFC 9113, "Error Codes").
const ERROR_NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// Returns the words for a stream that was reset with this error code: `RST_STREAM CANCEL`.
pub fn reset_words(code: u32) -> String {
    match usize::try_from(code).ok().and_then(|code| ERROR_NAMES.get(code)) {
        Some(name) => format!("RST_STREAM {name}"),
        None => format!("RST_STREAM with code {code}"),
    }
}
