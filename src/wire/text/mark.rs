//! Byte order marks, which editors and PowerShell write in front of a text.

/// The mark of UTF-8.
const UTF8: &[u8] = b"\xef\xbb\xbf";
/// The marks of UTF-16, with which no text in UTF-8 and no protobuf message begins.
const UTF16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Returns a text without the mark of UTF-8 in front of it.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(UTF8).unwrap_or(text)
}

/// Whether a text begins with a mark of UTF-16.
pub fn has_utf16_mark(text: &[u8]) -> bool {
    UTF16.iter().any(|mark| text.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_marks() {
        assert_eq!(without_mark("\u{feff}node \u{feff}".as_bytes()), "node \u{feff}".as_bytes());
        assert_eq!(without_mark(b"node"), b"node");
        assert!(has_utf16_mark(b"\xff\xfen\0") && has_utf16_mark(b"\xfe\xff\0n"));
        assert!(!has_utf16_mark(b"\xef\xbb\xbfnode") && !has_utf16_mark(b"\xff"));
    }
}
