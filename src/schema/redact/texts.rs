//! Redaction of the details of a status: messages of any type that repeat what a peer sent.

use super::{Depth, Redactor, overwrite};
use xdscope_wire::content::Redact;
use xdscope_wire::pb::{Fields, Value, WireField, rebuild};

/// Field numbers of an entry of a map.
const KEY: u32 = 1;
const VALUE: u32 = 2;

impl Redactor {
    /// Redacts all texts of a message like the text of an error, whatever the type of the message.
    ///
    /// Fields are told from texts by their bytes, so that a text may be read as a message. Returns
    /// `None` if there is no secret.
    pub(super) fn texts(&self, bytes: &[u8], depth: Depth) -> Option<Vec<u8>> {
        if depth.is_exceeded() {
            return overwrite(bytes, 0);
        }
        let is_named = self.has_secret_key(bytes);
        let clean = |field: &WireField<'_>| match field.value {
            Value::Len(value) if field.number == VALUE && is_named => self.replace(value),
            Value::Len(value) | Value::Group(value) => self.any_text(value, depth),
            _ => None,
        };
        rebuild(bytes, clean, |rest| self.text_in(rest))
    }

    /// Redacts a text, or else a message.
    fn any_text(&self, value: &[u8], depth: Depth) -> Option<Vec<u8>> {
        if value.is_empty() {
            return None;
        }
        if may_be_message(value) {
            return self.texts(value, depth.below());
        }
        self.text_in(value)
    }

    fn text_in(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(text).map(String::into_bytes),
            // Bytes other than text are removed as a whole if they have a secret.
            Err(_) => self.text(&String::from_utf8_lossy(bytes)).and_then(|_| overwrite(bytes, 0)),
        }
    }

    /// Whether a message is an entry of a map with the name of a secret.
    fn has_secret_key(&self, bytes: &[u8]) -> bool {
        let mut fields = Fields::new(bytes).map_while(Result::ok);
        let first = fields.next().filter(|field| field.number == KEY);
        let is_entry = fields.next().is_some_and(|field| field.number == VALUE) && fields.next().is_none();
        is_entry && first.is_some_and(|key| self.names().is_header(&key.text()))
    }
}

/// Whether bytes are more likely fields than a text.
fn may_be_message(bytes: &[u8]) -> bool {
    let is_text = std::str::from_utf8(bytes)
        .is_ok_and(|text| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')));
    // The tag of the first field is a line break.
    let can_begin = !is_text || bytes.first() == Some(&b'\n');
    can_begin && Fields::new(bytes).all(|field| field.is_ok())
}
