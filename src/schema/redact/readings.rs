//! Readings of a text: the text without escapes, line breaks and case, and what its hexadecimal and
//! base64 parts stand for.

use std::ops::Range;

use super::escapes::{Unescaped, unescape};
use crate::json::base64;

/// Fewest digits or letters of an encoded part that is read.
const MIN_ENCODED: usize = 11;

/// Fewest bytes of a part that is written as bytes with separators.
const MIN_SEPARATED: usize = 8;

/// Most separators between two such bytes: a line break and an indent.
const MAX_SEPARATORS: usize = 64;

/// The decoded bytes of a text, and where each byte comes from.
#[derive(Default)]
pub(super) struct TextReading {
    pub bytes: Vec<u8>,
    /// The place in the text of each byte.
    places: Vec<(u32, u32)>,
}

impl TextReading {
    fn push(&mut self, byte: u8, from: usize, to: usize) {
        self.bytes.push(byte);
        self.places.push((from as u32, to as u32));
    }

    /// Returns the part of the text that some bytes of the reading come from.
    pub(super) fn place(&self, range: Range<usize>) -> Option<Range<usize>> {
        let places = self.places.get(range)?;
        Some(places.first()?.0 as usize..places.last()?.1 as usize)
    }

    /// Returns all readings of a text: of the text itself, then of its encoded parts.
    pub(super) fn all(text: &[u8]) -> impl Iterator<Item = TextReading> {
        let encoded =
            (0..2).map(|shift| hexadecimal(text, shift)).chain((0..4).map(|shift| of_base64(text, shift)));
        let whole = [TextReading::raw(text), separated(text)];
        whole.into_iter().chain(encoded).map(|reading| reading.folded())
    }

    /// Returns a text without escapes, line breaks and case.
    pub(super) fn of(text: &[u8]) -> TextReading {
        TextReading::raw(text).folded()
    }

    /// Decodes base64 from its beginning.
    pub(super) fn of_base64(text: &[u8]) -> Vec<u8> {
        of_base64(text, 0).bytes
    }

    fn raw(text: &[u8]) -> TextReading {
        let places = (0..text.len() as u32).map(|at| (at, at + 1)).collect();
        TextReading { bytes: text.to_vec(), places }
    }

    /// Resolves escapes, leaves out other backslashes, joins lines and folds the case.
    fn folded(&self) -> TextReading {
        let mut out = TextReading::default();
        let mut at = 0;
        let mut starts_line = false;
        while let Some(byte) = self.bytes.get(at) {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let (value, len) = unescape(rest).unwrap_or((Unescaped::Byte(*byte), 1));
            let mut buffer = [0; char::MAX_LEN_UTF8];
            let value = value.bytes(&mut buffer);
            let is_break = matches!(value, b"\n" | b"\r");
            let is_indent = starts_line && matches!(value, b" " | b"\t");
            // A quoted text has a backslash in front of its quotes and backslashes.
            let is_backslash = len == 1 && *byte == b'\\';
            if !is_break
                && !is_indent
                && !is_backslash
                && let Some(place) = self.place(at..at + len)
            {
                for byte in value {
                    out.push(byte.to_ascii_lowercase(), place.start, place.end);
                }
            }
            starts_line = is_break || is_indent;
            at += len;
        }
        out
    }
}

/// Returns the runs of a text of bytes that `digit` accepts, each as pairs of offset and value.
///
/// A run continues behind line breaks, and behind a byte that `joins` accepts.
fn runs(
    text: &[u8],
    digit: impl Fn(u8) -> Option<u8>,
    joins: impl Fn(u8) -> bool,
) -> impl Iterator<Item = Vec<(usize, u8)>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut run = Vec::new();
        while let Some(byte) = text.get(at) {
            match digit(*byte) {
                Some(value) => run.push((at, value)),
                None if matches!(byte, b'\n' | b'\r') || joins(*byte) => {}
                None if run.len() >= MIN_ENCODED => break,
                None => run.clear(),
            }
            at += 1;
        }
        (run.len() >= MIN_ENCODED).then_some(run)
    })
}

/// Reads hexadecimal parts, each from its digit at `shift` on. A zero ends each part.
fn hexadecimal(text: &[u8], shift: usize) -> TextReading {
    let mut out = TextReading::default();
    let digit = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
    for run in runs(text, digit, |byte| byte == b':') {
        for pair in run.get(shift..).unwrap_or_default().chunks_exact(2) {
            if let [(from, high), (to, low)] = pair {
                out.push(high << 4 | low, *from, to + 1);
            }
        }
        out.push(0, 0, 0);
    }
    out
}

/// Reads bytes of two hexadecimal digits each, with separators: `5a 51` or `0x5a, 0x51`. A zero
/// ends each part.
fn separated(text: &[u8]) -> TextReading {
    let (mut out, mut run, mut at) = (TextReading::default(), Vec::new(), 0);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let prefix = if rest.starts_with(b"0x") || rest.starts_with(b"0X") { 2 } else { 0 };
        let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let digits = rest.get(prefix..word).filter(|digits| digits.len() == 2);
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        run.extend(value.map(|value| (at, at + word, value)));
        let is_separator = |byte: &&u8| byte.is_ascii_whitespace() || b",;-".contains(byte);
        let behind = rest.get(word..).unwrap_or_default().iter().take(MAX_SEPARATORS);
        let separators = behind.take_while(is_separator).count();
        if value.is_none() || separators == 0 {
            let part: Vec<(usize, usize, u8)> = std::mem::take(&mut run);
            if part.len() >= MIN_SEPARATED {
                part.iter().for_each(|(from, to, byte)| out.push(*byte, *from, *to));
                out.push(0, 0, 0);
            }
        }
        if rest.is_empty() {
            return out;
        }
        at += (word + separators).max(1);
    }
}

/// Reads base64 parts in either alphabet, each from its letter at `shift` on. A zero ends each
/// part.
fn of_base64(text: &[u8], shift: usize) -> TextReading {
    let mut out = TextReading::default();
    let letter = |byte: u8| match byte {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        _ => (byte.is_ascii_alphanumeric() || b"+/".contains(&byte)).then_some(byte),
    };
    for run in runs(text, letter, |_| false) {
        let run = run.get(shift..).unwrap_or_default();
        // A group of one letter stands for no byte.
        let run = if run.len() % 4 == 1 { &run[..run.len() - 1] } else { run };
        let letters: String = run.iter().map(|(_, letter)| char::from(*letter)).collect();
        for (at, byte) in base64::decode(&letters).unwrap_or_default().into_iter().enumerate() {
            let group = at / 3 * 4;
            out.push(byte, run[group].0, run[run.len().min(group + 4) - 1].0 + 1);
        }
        out.push(0, 0, 0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_escapes_and_encodings() {
        let text = "x%41\\x42\\103\\u0044&#69;\n   F\\U00000047\\u{48}";
        assert_eq!(TextReading::of(text.as_bytes()).bytes, b"xabcdefgh");
        let read = |text: &str, wanted: &str| {
            let found = TextReading::all(text.as_bytes()).find_map(|reading| {
                let at = memchr::memmem::find(&reading.bytes, wanted.as_bytes())?;
                reading.place(at..at + wanted.len())
            });
            found.map(|place| text[place].to_owned())
        };
        assert_eq!(read("id 73656372657431!", "secret1").as_deref(), Some("73656372657431"));
        assert_eq!(read("73:65:63:72:65:74:31", "secret1").as_deref(), Some("73:65:63:72:65:74:31"));
        let spaced = "73 65 63 72 65 74 31 32";
        assert_eq!(read(&format!("it is {spaced} so"), "secret12").as_deref(), Some(spaced));
        let listed = "0x73, 0x65, 0x63, 0x72, 0x65,\n  0x74, 0x31, 0X32";
        assert_eq!(read(&format!("[{listed}]"), "secret12").as_deref(), Some(listed));
        assert_eq!(read("73 65 63 72 65 74 3 132", "secret1"), None);
        assert_eq!(read("Basic dXNlcjpzZWNyZXQx", "secret1").as_deref(), Some("cjpzZWNyZXQx"));
        assert_eq!(read("AAdXNlcjpz\nZWNyZXQx", "secret1").as_deref(), Some("cjpz\nZWNyZXQx"));
        assert_eq!(read("an other text", "secret1"), None);
        for text in [
            "", "%", "%4", "\\", "\\x", "\\u00", "&#", "&#;", "&#999;", "\\777", "%+1", "é%é", "\\U1",
            "\\u{", "\\u{}", "0x", "0x5",
        ] {
            assert_eq!(TextReading::all(text.as_bytes()).count(), 8, "{text}");
        }
    }
}
