//! Texts without invisible characters, and with letters of full width as plain letters.

use std::ops::Range;

use crate::schema::secret_names::plain_char;

/// A text whose words are spelled plainly.
pub(super) struct PlainText {
    pub bytes: Vec<u8>,
    /// The offset in the text of the character that each byte comes from, and the text's length.
    offsets: Vec<usize>,
}

impl PlainText {
    /// Returns the plain spelling of a text, or `None` if the text is spelled plainly.
    pub(super) fn of(text: &[u8]) -> Option<PlainText> {
        let text = std::str::from_utf8(text).ok().filter(|text| !text.is_ascii())?;
        text.contains(|c| plain_char(c) != Some(c)).then_some(())?;
        let mut out = PlainText { bytes: Vec::new(), offsets: Vec::new() };
        for (at, c) in text.char_indices() {
            let Some(c) = plain_char(c) else { continue };
            out.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            out.offsets.resize(out.bytes.len(), at);
        }
        out.offsets.push(text.len());
        Some(out)
    }

    /// Returns the part of the text that some bytes come from.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(*self.offsets.get(range.start)?..*self.offsets.get(range.end)?)
    }
}
