//! Texts without escapes and invisible characters, and with letters of full width as plain letters.

use std::ops::Range;

use super::escapes::unescape;
use crate::secret_names::plain_char;

/// A text whose characters are spelled plainly.
pub(super) struct PlainText {
    pub bytes: Vec<u8>,
    /// The beginnings of the parts that were not changed, and the changed letters: the offset in
    /// `bytes`, and the offset in the text. The last one that begins at an offset counts.
    parts: Vec<(u32, u32)>,
}

impl PlainText {
    /// Returns the plain spelling of a text, or `None` if the text is spelled plainly.
    pub(super) fn of(text: &[u8]) -> Option<PlainText> {
        let mut out = PlainText { bytes: Vec::new(), parts: Vec::new() };
        let is_unusual = |byte: &u8| !byte.is_ascii() || matches!(byte, b'\\' | b'%' | b'&');
        // The ends of what was read, and of what was copied.
        let (mut at, mut copied) = (0, 0);
        while let Some(next) = text[at..].iter().position(is_unusual) {
            at += next;
            let (plain, len) = match unescape(&text[at..]) {
                Some((byte, len)) => (Some(byte), len),
                None => match first_char(&text[at..]).map(|c| (plain_char(c), c)) {
                    Some((plain, c)) if plain != Some(c) => (plain.map(|plain| plain as u8), c.len_utf8()),
                    Some((_, c)) => {
                        at += c.len_utf8();
                        continue;
                    }
                    None => {
                        at += 1;
                        continue;
                    }
                },
            };
            out.push(text, copied, at);
            out.push_part(at);
            out.bytes.extend(plain);
            at += len;
            copied = at;
        }
        if out.parts.is_empty() {
            return None;
        }
        out.push(text, copied, text.len());
        out.push_part(text.len());
        Some(out)
    }

    /// Copies a part of the text.
    fn push(&mut self, text: &[u8], from: usize, to: usize) {
        self.push_part(from);
        self.bytes.extend_from_slice(&text[from..to]);
    }

    /// Notes that the next byte comes from an offset of the text.
    fn push_part(&mut self, from: usize) {
        let part = (self.bytes.len() as u32, from as u32);
        match self.parts.last_mut().filter(|last| last.0 == part.0) {
            Some(last) => *last = part,
            None => self.parts.push(part),
        }
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

/// Returns the character that bytes begin with.
fn first_char(bytes: &[u8]) -> Option<char> {
    let bytes = &bytes[..bytes.len().min(char::MAX_LEN_UTF8)];
    bytes.utf8_chunks().next()?.valid().chars().next()
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
