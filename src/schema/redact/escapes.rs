//! Escapes in texts: percent-encodings, and those of C, Go, JSON and HTML.

use std::ops::Range;

/// Most backslashes of an escape, and most `25` of a byte that is percent-encoded several times.
const MAX_REPEATS: usize = 8;

/// Longest number with an end of its own, and its end, in bytes.
const MAX_NUMBER_BYTES: usize = 9;

/// Names of characters in HTML.
const ENTITIES: [(&[u8], u8); 5] =
    [(b"&quot;", b'"'), (b"&apos;", b'\''), (b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>')];

/// Whether bytes may contain an escape. Takes little time.
pub(super) fn may_be_in(bytes: &[u8]) -> bool {
    memchr::memchr3_iter(b'%', b'\\', b'&', bytes).any(|at| unescape(&bytes[at..]).is_some())
}

/// Returns the byte that an escape stands for, and the length of the escape.
///
/// A backslash in front of a quote or of another backslash is left to the caller: quoted texts end
/// at the quotes without one.
pub(super) fn unescape(text: &[u8]) -> Option<(u8, usize)> {
    match text.first()? {
        b'\\' => {
            let at = text.iter().take(MAX_REPEATS).take_while(|byte| **byte == b'\\').count();
            match text.get(at)? {
                b'u' if text.get(at + 1) == Some(&b'{') => delimited(text, at + 2, b'}', 16),
                b'u' => number(text, at + 1..at + 5, 16),
                b'U' => number(text, at + 1..at + 9, 16),
                b'x' => number(text, at + 1..at + 3, 16),
                b'0'..=b'3' => number(text, at..at + 3, 8),
                b'n' => Some((b'\n', at + 1)),
                b'r' => Some((b'\r', at + 1)),
                b't' => Some((b'\t', at + 1)),
                b'/' => Some((b'/', at + 1)),
                _ => None,
            }
        }
        b'%' => {
            let again = text[1..].chunks_exact(2).take(MAX_REPEATS).take_while(|pair| *pair == b"25").count();
            let at = 1 + 2 * again;
            // Without digits behind, the last `25` stands for a percent sign.
            number(text, at..at + 2, 16)
                .or_else(|| (again > 0).then(|| number(text, at - 2..at, 16)).flatten())
        }
        b'&' if text.get(1) == Some(&b'#') => match text.get(2)? {
            b'x' | b'X' => delimited(text, 3, b';', 16),
            _ => delimited(text, 2, b';', 10),
        },
        b'&' => {
            let entity = ENTITIES.iter().find(|(name, _)| text.starts_with(name));
            entity.map(|(name, byte)| (*byte, name.len()))
        }
        _ => None,
    }
}

/// Returns the byte with the number in a part of a text, and the end of the part.
fn number(text: &[u8], part: Range<usize>, radix: u32) -> Option<(u8, usize)> {
    let end = part.end;
    let digits = text.get(part).filter(|digits| digits.iter().all(u8::is_ascii_alphanumeric))?;
    let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    Some((u8::try_from(number).ok()?, end))
}

/// Returns the byte with the number from `at` to a delimiter, and the offset behind the delimiter.
fn delimited(text: &[u8], at: usize, delimiter: u8, radix: u32) -> Option<(u8, usize)> {
    let len = text.get(at..)?.iter().take(MAX_NUMBER_BYTES).position(|byte| *byte == delimiter)?;
    number(text, at..at + len, radix).map(|(byte, end)| (byte, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_escapes() {
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
            ("%e9", 0xe9),
        ] {
            let (found, len) = unescape(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found, len), (byte, if text.ends_with("%34") { 3 } else { text.len() }), "{text}");
            assert!(may_be_in(format!("a {text}").as_bytes()), "{text}");
        }
        for text in [
            "", "A", "%", "%4", "%RE", "%+1", "\\", "\\d", "\\\"", "\\\\", "\\u00", "\\u0100", "\\u{}",
            "\\777", "&#;", "&a",
        ] {
            assert_eq!(unescape(text.as_bytes()), None, "{text}");
        }
    }
}
