//! Texts without invisible characters, with letters of full width as plain letters, and with plain
//! letters and quotes for their escapes.

use std::ops::Range;

use crate::secret_names::plain_char;

/// Most backslashes of an escape, and most `25` of a letter that is percent-encoded several times.
const MAX_REPEATS: usize = 8;

/// A text whose words are spelled plainly.
pub(super) struct PlainText {
    pub bytes: Vec<u8>,
    /// The beginnings of the parts that were not changed, and the changed letters: the offset in
    /// `bytes`, and the offset in the text. The last one that begins at an offset counts.
    parts: Vec<(u32, u32)>,
}

impl PlainText {
    /// Returns the plain spelling of a text, or `None` if the text is spelled plainly.
    pub(super) fn of(text: &[u8]) -> Option<PlainText> {
        let text = std::str::from_utf8(text).ok()?;
        let mut out = PlainText { bytes: Vec::new(), parts: Vec::new() };
        let is_unusual = |byte: &u8| !byte.is_ascii() || matches!(byte, b'\\' | b'%' | b'&');
        // The ends of what was read, of what was copied, and of the newest escaped quote.
        let (mut at, mut copied, mut quote) = (0, 0, None);
        while let Some(next) = text.as_bytes()[at..].iter().position(is_unusual) {
            at += next;
            let Some(c) = text[at..].chars().next() else { break };
            // A colon belongs to a name if it follows the quote of the name.
            let escaped =
                escaped(&text.as_bytes()[at..]).filter(|(letter, _)| *letter != b':' || quote == Some(at));
            let (plain, len) = match escaped {
                Some((letter, len)) => (Some(char::from(letter)), len),
                None => (plain_char(c), c.len_utf8()),
            };
            if escaped.is_some_and(|(letter, _)| letter == b'"') {
                quote = Some(at + len);
            }
            if plain != Some(c) {
                out.push(text, copied, at);
                out.push_part(at);
                out.bytes.extend(plain.map(|plain| plain as u8));
                copied = at + len;
            }
            at += len;
        }
        if out.parts.is_empty() {
            return None;
        }
        out.push(text, copied, text.len());
        out.push_part(text.len());
        Some(out)
    }

    /// Copies a part of the text.
    fn push(&mut self, text: &str, from: usize, to: usize) {
        self.push_part(from);
        self.bytes.extend_from_slice(&text.as_bytes()[from..to]);
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

/// Returns the letter, digit, `_`, `-`, `.`, `:` or `"` that an escape stands for, and the
/// length of the escape.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
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
        b'&' if text.starts_with(b"&quot;") => (b'"', b"&quot;".len()),
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
    (letter.is_ascii_alphanumeric() || b"_-.:\"".contains(&letter)).then_some((letter, len))
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
        for text in ["pw", "\\n", "\\u0020", "%3D", "%3A", "&#", "&#;", "%", "\\", "\\u", "%7", "\\u{}", "é"]
        {
            assert!(PlainText::of(text.as_bytes()).is_none(), "{text}");
        }
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
            assert_eq!(String::from_utf8_lossy(&plain.bytes), "%7B\"pw\":\"a", "{escaped}");
        }
    }
}
