use super::sink::JsonSink;
use super::walk::{RawField, Walker};
use crate::MAX_DEPTH;
use xdscope_wire::pb::{Fields, Value};

/// Decoding without a descriptor: member names are field numbers, values depend on the wire type.
///
/// Varints become numbers, texts become strings, and bytes that parse as a message become an
/// object. Other values have a marker (`{"@bytes": …}`, `{"@fixed32": …}`), so that different
/// values never look equal.
impl<'b, S: JsonSink> Walker<'_, 'b, S> {
    pub(crate) fn wire_message(&mut self, bytes: &'b [u8], depth: u32) {
        self.sink.begin_object();
        let mut fields = Vec::new();
        let mut damage = None;
        for field in Fields::new(bytes) {
            match field {
                Ok(field) => fields.push(RawField::unknown(field.number, field.value)),
                Err(error) => damage = Some(error.offset),
            }
        }
        self.wire_fields(&mut fields, depth);
        if let Some(offset) = damage {
            self.damage(bytes, offset);
        }
        self.sink.end_object();
    }

    /// Writes fields as members of the current object. Fields with equal numbers become a list.
    pub(crate) fn wire_fields(&mut self, fields: &mut [RawField<'b>], depth: u32) {
        fields.sort_by_key(|raw| raw.number);
        for run in fields.chunk_by(|a, b| a.number == b.number) {
            let [first, more @ ..] = run else { continue };
            self.sink.key(&first.number.to_string());
            if more.is_empty() {
                self.wire_value(first.value, depth);
                continue;
            }
            self.sink.begin_array();
            for raw in run {
                self.wire_value(raw.value, depth);
            }
            self.sink.end_array();
        }
    }

    pub(crate) fn wire_value(&mut self, value: Value<'b>, depth: u32) {
        match value {
            Value::Varint(value) if value < 1 << 53 => self.sink.uint(value),
            Value::Varint(value) => self.marked("@varint", |sink| sink.text_int(i128::from(value))),
            Value::I64(value) => self.marked("@fixed64", |sink| sink.text_int(i128::from(value))),
            Value::I32(value) => self.marked("@fixed32", |sink| sink.uint(u64::from(value))),
            Value::Group(bytes) if depth < MAX_DEPTH => self.wire_message(bytes, depth + 1),
            Value::Len(bytes) => match guess(bytes) {
                Guess::Text(text) => self.sink.string(text),
                Guess::Message if depth < MAX_DEPTH => self.wire_message(bytes, depth + 1),
                _ => self.marked("@bytes", |sink| sink.bytes(bytes)),
            },
            Value::Group(bytes) => self.marked("@bytes", |sink| sink.bytes(bytes)),
        }
    }

    fn marked(&mut self, mark: &str, value: impl FnOnce(&mut S)) {
        self.sink.begin_object();
        self.sink.name(mark);
        value(self.sink);
        self.sink.end_object();
    }
}

enum Guess<'b> {
    Text(&'b str),
    Message,
    Bytes,
}

fn guess(bytes: &[u8]) -> Guess<'_> {
    let text = std::str::from_utf8(bytes).ok();
    let printable = |text: &&str| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    match text.filter(printable) {
        // Texts rarely begin with a line break or tab. Messages often do: these bytes are the tags
        // of field 1.
        Some(text) if !text.starts_with(['\n', '\t', '\r']) || !parses(bytes) => Guess::Text(text),
        _ if parses(bytes) => Guess::Message,
        _ => Guess::Bytes,
    }
}

fn parses(bytes: &[u8]) -> bool {
    Fields::new(bytes).all(|field| field.is_ok())
}
