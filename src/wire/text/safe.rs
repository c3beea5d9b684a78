use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes text from the wire for one line of a terminal.
///
/// The characters of [`must_escape`] become `\n`, `\x1b`, `\u{202e}`. Everything else stays, even
/// backslashes, so the result cannot be parsed back.
pub fn display_safe(text: &str) -> Cow<'_, str> {
    escape(text, |c, out| {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                // Writing to a String cannot fail.
                let _ = if u32::from(c) < 0x100 {
                    write!(out, "\\x{:02x}", u32::from(c))
                } else {
                    write!(out, "\\u{{{:x}}}", u32::from(c))
                };
            }
        }
    })
}

/// Escapes the characters of [`must_escape`] in JSON without line breaks between values.
///
/// Outside of strings JSON has none of these characters, so the value stays the same.
pub fn json_safe(json: &str) -> Cow<'_, str> {
    escape(json, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Escapes what a terminal would act on. Borrows a text without such characters.
fn escape(text: &str, put: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let is_printable_ascii = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.bytes().all(is_printable_ascii) || !text.chars().any(must_escape) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if must_escape(c) {
            put(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether a character moves the cursor, reorders text or is invisible.
///
/// These are the control characters (C0, DEL, C1), line and paragraph separators, controls of the
/// text direction, and characters without a width: joiners, fillers, tags, variation selectors.
pub fn must_escape(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
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
        assert_eq!(display_safe("a\u{e0041}\u{200d}\u{fe0f}"), "a\\u{e0041}\\u{200d}\\u{fe0f}");
    }

    #[test]
    fn json_safe_keeps_the_value() {
        let value = serde_json::json!({"a\u{202e}": "\u{e0041}\u{9b}2J\u{200b}\x1b é"});
        let text = value.to_string();
        let safe = json_safe(&text);
        assert!(!safe.chars().any(must_escape), "{safe}");
        assert!(safe.contains("\\udb40\\udc41"), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    proptest::proptest! {
        #[test]
        fn display_safe_escapes_any_text(text: String) {
            proptest::prop_assert!(!display_safe(&text).chars().any(must_escape));
        }
    }
}
