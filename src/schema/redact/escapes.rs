//! Escapes in texts: percent-encodings, and those of C, Go, JSON and HTML.
//!
//! Most escapes of ordinary texts stand for spaces, line breaks and slashes: `%20`, `\n`, `\/`.
//! They hide no letter of a secret, but may touch one. All other escapes are rare and may hide a
//! secret.

use std::ops::Range;

/// Most backslashes of an escape, and most `25` of a byte that is percent-encoded several times.
const MAX_REPEATS: usize = 8;

/// Longest number with an end of its own, and its end, in bytes.
const MAX_NUMBER_BYTES: usize = 9;

/// Names of characters in HTML.
const ENTITIES: [(&[u8], u8); 5] =
    [(b"&quot;", b'"'), (b"&apos;", b'\''), (b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>')];

/// The meaning of an escape: nothing, a byte or a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unescaped {
    Nothing,
    Byte(u8),
    Char(char),
}

impl Unescaped {
    /// Returns the bytes of the text.
    pub(super) fn bytes(self, buffer: &mut [u8; char::MAX_LEN_UTF8]) -> &[u8] {
        match self {
            Unescaped::Nothing => &[],
            Unescaped::Char(c) => c.encode_utf8(buffer).as_bytes(),
            Unescaped::Byte(byte) => {
                buffer[0] = byte;
                &buffer[..1]
            }
        }
    }
}

/// Returns a pattern of escaped letters, digits and signs, of the first bytes of invisible
/// characters and letters of full width, and of the names and numbers of HTML.
pub(super) fn signs() -> String {
    let invisible = r"\\u(?:034f|061c|1(?:1[56]|7b|80)|20|3164|f[ef])";
    let hex = "(?:2[1-9a-e]|[3-7][0-9a-f]|c2|cd|d8|e[123]|ef|f3)";
    let octal = "(?:0[67][0-7]|04[1-7]|05[0-6]|1[0-7]{2}|3(?:02|15|30|4[123]|57|63))";
    format!(r"{}|\\u\{{|{invisible}|&(?:#|amp;|apos;|gt;|lt;|quot;)", numbers(hex, octal))
}

/// Returns a pattern of escaped spaces and line breaks.
pub(super) fn spaces() -> String {
    format!(r"(?:{}|\\[nrt])", numbers("(?:20|0[9ad])", "(?:040|01[125])"))
}

/// Returns a pattern of escaped slashes.
pub(super) fn slashes() -> String {
    format!(r"(?:{}|\\/)", numbers("2f", "057"))
}

/// Returns a pattern of escapes with the numbers of bytes.
fn numbers(hex: &str, octal: &str) -> String {
    format!(r"(?:(?:%(?:25)*|\\x|\\u00|\\U000000){hex}|\\{octal})")
}

/// Returns the meaning of the escape that a text begins with, and the length of the escape.
///
/// A backslash in front of a quote or of another backslash is left to the caller: quoted texts end
/// at the quotes without one.
pub(super) fn unescape(text: &[u8]) -> Option<(Unescaped, usize)> {
    let byte = |byte: u8, len: usize| Some((Unescaped::Byte(byte), len));
    match text.first()? {
        b'\\' => {
            let at = text.iter().take(MAX_REPEATS + 1).position(|byte| *byte != b'\\')?;
            match text.get(at)? {
                b'u' if text.get(at + 1) == Some(&b'{') => delimited(text, at + 2, b'}', 16),
                b'u' => character(text, at + 1..at + 5, 16),
                b'U' => character(text, at + 1..at + 9, 16),
                b'x' => byte(number(text, at + 1..at + 3, 16)? as u8, at + 3),
                b'0'..=b'3' => byte(number(text, at..at + 3, 8)? as u8, at + 3),
                b'n' => byte(b'\n', at + 1),
                b'r' => byte(b'\r', at + 1),
                b't' => byte(b'\t', at + 1),
                b'/' => byte(b'/', at + 1),
                _ => None,
            }
        }
        b'%' => {
            let mut at = 1;
            while at < 2 * MAX_REPEATS && text[at..].starts_with(b"25") {
                at += 2;
            }
            match number(text, at..at + 2, 16) {
                Some(number) => byte(number as u8, at + 2),
                // Without digits behind, the last `25` stands for a percent sign.
                None if at > 1 => byte(b'%', at),
                None => None,
            }
        }
        b'&' if text.get(1) == Some(&b'#') => match text.get(2)? {
            b'x' | b'X' => delimited(text, 3, b';', 16),
            _ => delimited(text, 2, b';', 10),
        },
        b'&' => {
            let (name, sign) = ENTITIES.iter().find(|(name, _)| text.starts_with(name))?;
            byte(*sign, name.len())
        }
        _ => None,
    }
}

/// Returns the number in a part of a text, of at most eight digits.
fn number(text: &[u8], part: Range<usize>, radix: u32) -> Option<u32> {
    let mut number = 0;
    for byte in text.get(part)? {
        number = number * radix + char::from(*byte).to_digit(radix)?;
    }
    Some(number)
}

/// Returns the character with the number in a part of a text, and the end of the part.
fn character(text: &[u8], part: Range<usize>, radix: u32) -> Option<(Unescaped, usize)> {
    let end = part.end;
    let c = char::from_u32(number(text, part, radix)?)?;
    Some((Unescaped::Char(c), end))
}

/// Returns the character with the number from `at` to a delimiter, and the offset behind the
/// delimiter.
fn delimited(text: &[u8], at: usize, delimiter: u8, radix: u32) -> Option<(Unescaped, usize)> {
    let len = text.get(at..)?.iter().take(MAX_NUMBER_BYTES).position(|byte| *byte == delimiter)?;
    let (c, end) = character(text, at..at + len, radix).filter(|_| len > 0)?;
    Some((c, end + 1))
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn reads_escapes() {
        let pattern = |part: String| Regex::new(&format!("(?i){part}")).expect("a pattern of ours");
        let patterns = [signs(), spaces(), slashes()].map(pattern);
        for (text, byte) in [
            ("%41", b'A'),
            ("%252541", b'A'),
            ("%25", b'%'),
            ("%25%34", b'%'),
            ("\\u0041", b'A'),
            ("\\\\u0041", b'A'),
            ("\\u{41}", b'A'),
            ("\\U00000041", b'A'),
            ("\\x41", b'A'),
            ("\\101", b'A'),
            ("\\n", b'\n'),
            ("\\/", b'/'),
            ("&#65;", b'A'),
            ("&#x41;", b'A'),
            ("&quot;", b'"'),
            ("%20", b' '),
            ("%2520", b' '),
            ("\\u000a", b'\n'),
            ("\\057", b'/'),
            ("%2F", b'/'),
            ("%e2", 0xe2),
            ("\\xe2", 0xe2),
        ] {
            let (found, len) = unescape(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(found.bytes(&mut [0; 4]), [byte], "{text}");
            assert_eq!(len, if text.ends_with("%34") { 3 } else { text.len() }, "{text}");
            assert!(patterns.iter().any(|pattern| pattern.is_match(text)), "{text}");
        }
        for text in ["\\u00e9", "\\\\u{e9}", "\\U000000e9", "&#233;", "&#xE9;"] {
            let c = Some((Unescaped::Char('\u{e9}'), text.len()));
            assert_eq!(unescape(text.as_bytes()), c, "{text}");
        }
        for text in [
            "", "A", "%", "%4", "%RE", "%+1", "\\", "\\d", "\\\"", "\\\\", "\\u00", "\\ud800", "\\u{}",
            "\\777", "&#;", "&a",
        ] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
        for text in
            ["%20", "%0A", "%2F", "\\n", "\\/", "\\u0020", "%REQ(A)%", "100% of", "&&", "\\d", "%D0%B6"]
        {
            assert!(!patterns[0].is_match(text), "{text}");
        }
    }
}
