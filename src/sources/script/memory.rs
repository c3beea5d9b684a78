//! The memory that a script takes, known before it is parsed.

/// Memory of a line and of its frame, in bytes. Measured, with growth, as the other constants.
const LINE_BYTES: usize = 1200;
/// Memory of an entry of a list or mapping, and of its encoded form, in bytes.
const ENTRY_BYTES: usize = 500;
/// Memory of a byte of text in bytes: the text, its decoded form and the content.
const TEXT_BYTES: usize = 3;

/// Estimates the memory that a script takes as a whole, in bytes.
pub fn memory_of(text: &[u8]) -> usize {
    let (mut lines, mut entries) = (1usize, 0usize);
    let (mut depth, mut before, mut is_quoted) = (0usize, b'\n', false);
    for byte in text {
        match byte {
            b'\n' => (lines, depth, is_quoted) = (lines + 1, 0, false),
            b'"' if before != b'\\' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'[' | b'{' => (depth, entries) = (depth + 1, entries + 1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth > 0 => entries += 1,
            b' ' if depth > 0 && !matches!(before, b',' | b':' | b' ') => entries += 1,
            _ => {}
        }
        // A backslash that is escaped escapes nothing.
        before = if *byte == b'\\' && before == b'\\' { b' ' } else { *byte };
    }
    let parts = [(lines, LINE_BYTES), (entries, ENTRY_BYTES), (text.len(), TEXT_BYTES)];
    parts.iter().fold(0, |sum: usize, (count, bytes)| sum.saturating_add(count.saturating_mul(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_entries() {
        let entries =
            |text: &str| (memory_of(text.as_bytes()) - LINE_BYTES - TEXT_BYTES * text.len()) / ENTRY_BYTES;
        for (text, wanted) in [
            ("> cds v=1 n=1", 0),
            ("< cds [a b c]", 3),
            ("< cds [a{x: 1, y: [1, 2]} b]", 6),
            (r#"< cds [a{x: "1, 2 \" [3, 4] \\"} b]"#, 3),
        ] {
            assert_eq!(entries(text), wanted, "{text}");
        }
        let lines = "> cds\n".repeat(9);
        assert_eq!(memory_of(lines.as_bytes()), 10 * LINE_BYTES + TEXT_BYTES * lines.len());
    }
}
