//! Texts without escapes and invisible characters, and with letters of full width as plain letters.

use std::ops::Range;

use super::escapes::{Unescaped, unescape};
use crate::secret_names::plain_char;

/// A text whose characters are spelled plainly.
pub(super) struct PlainText {
    pub bytes: Vec<u8>,
    /// The beginnings of the parts that were not changed: the offset in `bytes`, and the offset in
    /// the text. The last one that begins at an offset counts.
    parts: Vec<(u32, u32)>,
}

impl PlainText {
    /// Returns the plain spelling of a text, or `None` if the text is spelled plainly.
    pub(super) fn of(text: &[u8]) -> Option<PlainText> {
        let mut out = PlainText { bytes: Vec::new(), parts: Vec::new() };
        let is_ascii = text.is_ascii();
        // The ends of what was read, and of what was copied.
        let (mut at, mut copied) = (0, 0);
        while let Some(next) = next_unusual(&text[at..], is_ascii) {
            at += next;
            let Some((plain, len)) = unescape(&text[at..]).or_else(|| respelled(&text[at..])) else {
                at += 1;
                continue;
            };
            if out.parts.is_empty() {
                out.bytes.reserve(text.len());
                out.parts.push((0, 0));
            }
            out.bytes.extend_from_slice(&text[copied..at]);
            out.bytes.extend_from_slice(plain.bytes(&mut [0; char::MAX_LEN_UTF8]));
            at += len;
            copied = at;
            out.parts.push((out.bytes.len() as u32, at as u32));
        }
        if out.parts.is_empty() {
            return None;
        }
        out.bytes.extend_from_slice(&text[copied..]);
        Some(out)
    }

    /// Returns the part of the text that some bytes come from.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(self.offset(range.start)?..self.offset(range.end)?)
    }

    fn offset(&self, at: usize) -> Option<usize> {
        let next = self.parts.partition_point(|(plain, _)| *plain as usize <= at);
        let (plain, offset) = self.parts.get(next.checked_sub(1)?)?;
        Some(*offset as usize + at - *plain as usize)
    }
}

/// Whether a text has a byte that may begin an escape.
pub(super) fn may_have_escapes(text: &[u8]) -> bool {
    next_unusual(text, true).is_some()
}

/// Whether a text has a byte that may begin an escape or an unusual character.
pub(super) fn may_be_unusual(text: &[u8]) -> bool {
    !text.is_ascii() || may_have_escapes(text)
}

/// Returns the offset of the next byte that may begin an escape or an unusual character.
fn next_unusual(text: &[u8], is_ascii: bool) -> Option<usize> {
    match is_ascii {
        true => memchr::memchr3(b'\\', b'%', b'&', text),
        false => text.iter().position(|byte| !byte.is_ascii() || matches!(byte, b'\\' | b'%' | b'&')),
    }
}

/// Returns the plain spelling of the invisible character or the letter of full width that a text
/// begins with, and the length of the character.
fn respelled(text: &[u8]) -> Option<(Unescaped, usize)> {
    let bytes = &text[..text.len().min(char::MAX_LEN_UTF8)];
    let c = bytes.utf8_chunks().next()?.valid().chars().next()?;
    match plain_char(c) {
        Some(plain) if plain == c => None,
        Some(plain) => Some((Unescaped::Char(plain), c.len_utf8())),
        None => Some((Unescaped::Nothing, c.len_utf8())),
    }
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
        for text in ["pw", "&#", "&#;", "%", "\\", "\\u", "%7", "\\u{}", "é", "\\\""] {
            assert!(PlainText::of(text.as_bytes()).is_none(), "{text}");
        }
        let plain = PlainText::of(b"\xff%3D\xff").expect("an escape");
        assert_eq!((&*plain.bytes, plain.place(&(1..2))), (&b"\xff=\xff"[..], Some(1..4)));
    }

    #[test]
    fn spells_escaped_quotes() {
        for escaped in [
            "%7B%22pw%22%3A%22a",
            "%7B%2522pw%2522%253A%2522a",
            "%7B&quot;pw&quot;:&quot;a",
            "%7B\\u0022pw&#34;:&#x22;a",
        ] {
            let plain = PlainText::of(escaped.as_bytes()).unwrap_or_else(|| panic!("{escaped}"));
            assert_eq!(String::from_utf8_lossy(&plain.bytes), "{\"pw\":\"a", "{escaped}");
        }
    }
}
