use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text from the wire for one line of a terminal.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, and invisible characters that
/// reorder or hide text become `\n`, `\x1b`, `\u{202e}`. Everything else stays, even backslashes,
/// so the result cannot be parsed back.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(must_escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if must_escape(c) => {
                // Writing to a String cannot fail.
                let _ = if u32::from(c) < 0x100 {
                    write!(out, "\\x{:02x}", u32::from(c))
                } else {
                    write!(out, "\\u{{{:x}}}", u32::from(c))
                };
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn must_escape(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a name as people read it: an empty one as `""`.
pub fn shown_name(name: &str) -> &str {
    if name.is_empty() { "\"\"" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_safe_keeps_plain_text() {
        for text in ["", "outbound|9080||reviews", "naïve ✓ 名前", r"back\slash"] {
            assert!(matches!(display_safe(text), Cow::Borrowed(t) if t == text));
        }
    }

    #[test]
    fn display_safe_escapes_control_characters() {
        assert_eq!(display_safe("a\x1b[31mb\x07"), "a\\x1b[31mb\\x07");
        assert_eq!(display_safe("one\r\n\ttwo\x7f\u{9b}2J"), "one\\r\\n\\ttwo\\x7f\\x9b2J");
        assert_eq!(display_safe("abc\u{202e}fed\u{2066}"), "abc\\u{202e}fed\\u{2066}");
    }

    proptest::proptest! {
        #[test]
        fn display_safe_escapes_any_text(text: String) {
            proptest::prop_assert!(!display_safe(&text).chars().any(must_escape));
        }
    }
}
