//! Limits of the texts of messages that are kept in memory. The bytes of a message are kept apart.

use std::borrow::Cow;

use twox_hash::XxHash3_64;

/// Longest identifier that is kept as sent, in bytes: a version, a nonce, a type URL, a node id.
pub const MAX_IDENTIFIER_BYTES: usize = 16 << 10;

/// Longest error text that is kept as sent, in bytes.
pub const MAX_ERROR_BYTES: usize = 256 << 10;

/// Bytes of the beginning of a longer text that are kept.
const BEGINNING_BYTES: usize = 1 << 10;

/// Returns an identifier. A longer one than 16 kB is its beginning with length and hash, so that
/// different identifiers stay different.
pub(crate) fn identifier(bytes: &[u8]) -> Cow<'_, str> {
    if bytes.len() <= MAX_IDENTIFIER_BYTES {
        return String::from_utf8_lossy(bytes);
    }
    let hash = XxHash3_64::oneshot(bytes);
    Cow::Owned(format!("{}… ({} bytes, {hash:016x})", beginning(bytes), bytes.len()))
}

/// Returns the text of an error. A longer one than 256 kB is its beginning with its length.
pub(super) fn error_text(bytes: &[u8]) -> Cow<'_, str> {
    match bytes.get(..MAX_ERROR_BYTES) {
        Some(kept) if bytes.len() > MAX_ERROR_BYTES => {
            let kept = String::from_utf8_lossy(kept);
            let kept = kept.trim_end_matches(char::REPLACEMENT_CHARACTER);
            Cow::Owned(format!("{kept}… ({} bytes)", bytes.len()))
        }
        _ => String::from_utf8_lossy(bytes),
    }
}

fn beginning(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..BEGINNING_BYTES).unwrap_or(bytes));
    text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_identifiers_stay_different() {
        let long = vec![b'a'; 15_000_000];
        let mut other = long.clone();
        other[9_000_000] = b'b';
        let (one, two) = (identifier(&long), identifier(&other));
        assert!(one.len() < 2_000 && one.contains("… (15000000 bytes, "), "{one}");
        assert_ne!(one, two);
        assert_eq!(one, identifier(&long));
        assert_eq!(identifier(b"v1"), "v1");
    }

    #[test]
    fn long_errors_keep_their_beginning() {
        let text = error_text("é".repeat(200_000).as_bytes()).into_owned();
        assert!(text.ends_with("é… (400000 bytes)") && text.len() < 263_000, "{}", text.len());
        assert_eq!(error_text(b"no"), "no");
    }
}
