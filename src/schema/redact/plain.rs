//! Texts without invisible characters, with letters of full width as plain letters, and with plain
//! letters for their escapes.

use std::ops::Range;

use crate::schema::secret_names::plain_char;

/// Most backslashes of an escape, and most `25` of a letter that is percent-encoded several times.
const MAX_REPEATS: usize = 8;

/// A text whose words are spelled plainly.
pub(super) struct PlainText {
    pub bytes: Vec<u8>,
    /// The offset in the text of the character that each byte comes from, and the text's length.
    offsets: Vec<usize>,
}

impl PlainText {
    /// Returns the plain spelling of a text, or `None` if the text is spelled plainly.
    pub(super) fn of(text: &[u8]) -> Option<PlainText> {
        let text = std::str::from_utf8(text).ok()?;
        let may_change = !text.is_ascii() || memchr::memchr3(b'\\', b'%', b'&', text.as_bytes()).is_some();
        if !may_change {
            return None;
        }
        let mut out = PlainText { bytes: Vec::with_capacity(text.len()), offsets: Vec::new() };
        let mut is_changed = false;
        let mut at = 0;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let (plain, len) = match escaped_letter(&text.as_bytes()[at..]) {
                Some((letter, len)) => (Some(char::from(letter)), len),
                None => (plain_char(c), c.len_utf8()),
            };
            is_changed |= plain != Some(c);
            if let Some(plain) = plain {
                out.bytes.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
                out.offsets.resize(out.bytes.len(), at);
            }
            at += len;
        }
        out.offsets.push(text.len());
        is_changed.then_some(out)
    }

    /// Returns the part of the text that some bytes come from.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(*self.offsets.get(range.start)?..*self.offsets.get(range.end)?)
    }
}

/// Returns the letter, digit, `_`, `-` or `.` that an escape stands for, and the length of the
/// escape.
fn escaped_letter(text: &[u8]) -> Option<(u8, usize)> {
    let number = |at: usize, len: usize, radix: u32| {
        let digits = text.get(at..at + len).filter(|digits| digits.iter().all(u8::is_ascii_alphanumeric))?;
        let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
        u8::try_from(number).ok().map(|letter| (letter, at + len))
    };
    let (letter, len) = match text.first()? {
        b'\\' => {
            let at = text.iter().take(MAX_REPEATS).take_while(|byte| **byte == b'\\').count();
            match text.get(at)? {
                b'u' if text.get(at + 1) == Some(&b'{') => {
                    let len = text.get(at + 2..)?.iter().take(7).position(|byte| *byte == b'}')?;
                    number(at + 2, len, 16).map(|(letter, end)| (letter, end + 1))?
                }
                b'u' => number(at + 1, 4, 16)?,
                b'U' => number(at + 1, 8, 16)?,
                b'x' => number(at + 1, 2, 16)?,
                b'0'..=b'1' => number(at, 3, 8)?,
                _ => return None,
            }
        }
        b'%' => {
            let again = text[1..].chunks_exact(2).take(MAX_REPEATS).take_while(|pair| *pair == b"25").count();
            number(1 + 2 * again, 2, 16)?
        }
        b'&' if text.get(1) == Some(&b'#') => {
            let len = text.get(2..)?.iter().take(8).position(|byte| *byte == b';')?;
            let (letter, end) = match text.get(2)? {
                b'x' | b'X' => number(3, len.checked_sub(1)?, 16)?,
                _ => number(2, len, 10)?,
            };
            (letter, end + 1)
        }
        _ => return None,
    };
    (letter.is_ascii_alphanumeric() || b"_-.".contains(&letter)).then_some((letter, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_escaped_letters() {
        for escaped in [
            "\\u0070w",
            "\\\\u0070w",
            "\\u{70}w",
            "\\U00000070w",
            "\\x70w",
            "\\160w",
            "%70w",
            "%2570w",
            "&#112;w",
            "&#x70;w",
            "\u{ff50}w",
            "p\u{200b}w",
        ] {
            let plain = PlainText::of(escaped.as_bytes()).unwrap_or_else(|| panic!("{escaped}"));
            assert_eq!(plain.bytes, b"pw", "{escaped}");
            assert_eq!(plain.place(&(0..2)), Some(0..escaped.len()));
            assert_eq!(plain.place(&(1..2)), Some(escaped.len() - 1..escaped.len()));
        }
        for text in ["pw", "\\n", "\\u0022", "%3D", "&#", "&#;", "%", "\\", "\\u", "%7", "\\u{}", "é"] {
            assert!(PlainText::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
