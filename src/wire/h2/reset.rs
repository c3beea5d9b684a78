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

/// Most characters of the debug data of a GOAWAY that its words have.
const MAX_DEBUG_CHARS: usize = 300;

/// Returns the words for a stream that was reset with this error code: `RST_STREAM CANCEL`.
pub fn reset_words(code: u32) -> String {
    frame_words("RST_STREAM", code)
}

/// Returns the words for a GOAWAY with this error code: `GOAWAY ENHANCE_YOUR_CALM
/// (too_many_pings)`.
pub fn go_away_words(code: u32, debug: &str) -> String {
    let words = frame_words("GOAWAY", code);
    let debug: String = debug.trim().chars().take(MAX_DEBUG_CHARS).collect();
    if debug.is_empty() { words } else { format!("{words} ({debug})") }
}

/// Returns the error code in the words for a GOAWAY; `None` for other words.
pub fn go_away_code(words: &str) -> Option<u32> {
    let words = words.strip_prefix("GOAWAY ")?;
    let name = words.split_once(' ').map_or(words, |(name, _)| name);
    let unnamed = || words.strip_prefix("with code ")?.split(' ').next()?.parse().ok();
    let named = ERROR_NAMES.iter().position(|known| *known == name);
    named.and_then(|code| u32::try_from(code).ok()).or_else(unnamed)
}

/// Returns the name of a frame with the name of its error code.
fn frame_words(frame: &str, code: u32) -> String {
    match usize::try_from(code).ok().and_then(|code| ERROR_NAMES.get(code)) {
        Some(name) => format!("{frame} {name}"),
        None => format!("{frame} with code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_goaway_have_its_code() {
        for (code, debug, words) in [
            (0, "", "GOAWAY NO_ERROR"),
            (0, "max_age", "GOAWAY NO_ERROR (max_age)"),
            (11, " too_many_pings\n", "GOAWAY ENHANCE_YOUR_CALM (too_many_pings)"),
            (77, "odd", "GOAWAY with code 77 (odd)"),
        ] {
            assert_eq!(go_away_words(code, debug), words);
            assert_eq!(go_away_code(words), Some(code));
        }
        assert_eq!(go_away_code("the connection was closed"), None);
        assert!(go_away_words(2, &"x".repeat(5000)).len() < 400);
    }
}
