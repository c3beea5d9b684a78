use std::io::{self, Write};

use serde_json::{Map, Number, Value};

use super::base64;

/// A receiver of JSON tokens, in the order of a JSON text. The sink adds the commas.
pub(crate) trait JsonSink {
    fn begin_object(&mut self);
    fn end_object(&mut self);
    fn begin_array(&mut self);
    fn end_array(&mut self);
    /// Writes a member name that needs no escapes: an identifier, or a marker such as `@type`.
    fn name(&mut self, name: &str);
    /// Writes a member name from the wire.
    fn key(&mut self, key: &str);
    fn string(&mut self, text: &str);
    /// Writes `bytes` in base64.
    fn bytes(&mut self, bytes: &[u8]);
    fn int(&mut self, value: i64);
    fn uint(&mut self, value: u64);
    /// Writes an integer as a string, the form of 64-bit integers in protobuf JSON.
    fn text_int(&mut self, value: i128);
    /// Writes a finite number.
    fn float(&mut self, value: f64);
    fn bool(&mut self, value: bool);
    fn null(&mut self);
}

/// A sink that discards its input, for walks that only collect faults.
pub(crate) struct DiscardSink;

impl JsonSink for DiscardSink {
    fn begin_object(&mut self) {}
    fn end_object(&mut self) {}
    fn begin_array(&mut self) {}
    fn end_array(&mut self) {}
    fn name(&mut self, _: &str) {}
    fn key(&mut self, _: &str) {}
    fn string(&mut self, _: &str) {}
    fn bytes(&mut self, _: &[u8]) {}
    fn int(&mut self, _: i64) {}
    fn uint(&mut self, _: u64) {}
    fn text_int(&mut self, _: i128) {}
    fn float(&mut self, _: f64) {}
    fn bool(&mut self, _: bool) {}
    fn null(&mut self) {}
}

/// A sink that writes compact JSON. Stops writing at the first error and returns the error at the
/// end.
pub(crate) struct JsonWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    needs_comma: bool,
    error: Option<io::Error>,
}

/// Size of the buffer at which the writer flushes, in bytes.
const FLUSH_BYTES: usize = 64 << 10;

impl<W: Write> JsonWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        JsonWriter { out, buffer: Vec::new(), needs_comma: false, error: None }
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.flush();
        self.error.map_or(Ok(self.out), Err)
    }

    fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    fn item(&mut self) {
        if self.needs_comma {
            self.buffer.push(b',');
        }
        if self.buffer.len() >= FLUSH_BYTES {
            self.flush();
        }
        self.needs_comma = true;
    }

    fn begin(&mut self, bracket: u8) {
        self.item();
        self.buffer.push(bracket);
        self.needs_comma = false;
    }

    fn end(&mut self, bracket: u8) {
        self.buffer.push(bracket);
        self.needs_comma = true;
    }
}

impl<W: Write> JsonSink for JsonWriter<W> {
    fn begin_object(&mut self) {
        self.begin(b'{');
    }
    fn end_object(&mut self) {
        self.end(b'}');
    }
    fn begin_array(&mut self) {
        self.begin(b'[');
    }
    fn end_array(&mut self) {
        self.end(b']');
    }
    fn name(&mut self, name: &str) {
        self.item();
        self.buffer.push(b'"');
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\":");
        self.needs_comma = false;
    }
    fn key(&mut self, key: &str) {
        self.item();
        quote(&mut self.buffer, key);
        self.buffer.push(b':');
        self.needs_comma = false;
    }
    fn string(&mut self, text: &str) {
        self.item();
        quote(&mut self.buffer, text);
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.item();
        self.buffer.push(b'"');
        base64::encode_to(&mut self.buffer, bytes);
        self.buffer.push(b'"');
    }
    fn int(&mut self, value: i64) {
        self.item();
        if value < 0 {
            self.buffer.push(b'-');
        }
        digits(&mut self.buffer, value.unsigned_abs());
    }
    fn uint(&mut self, value: u64) {
        self.item();
        digits(&mut self.buffer, value);
    }
    fn text_int(&mut self, value: i128) {
        self.item();
        self.buffer.extend_from_slice(if value < 0 { b"\"-" } else { b"\"" });
        digits(&mut self.buffer, value.unsigned_abs() as u64);
        self.buffer.push(b'"');
    }
    fn float(&mut self, value: f64) {
        self.item();
        // Writing to a Vec never fails.
        let _ = match as_integer(value) {
            Some(integer) => write!(self.buffer, "{integer}"),
            None => write!(self.buffer, "{value:?}"),
        };
    }
    fn bool(&mut self, value: bool) {
        self.item();
        self.buffer.extend_from_slice(if value { b"true" } else { b"false" });
    }
    fn null(&mut self) {
        self.item();
        self.buffer.extend_from_slice(b"null");
    }
}

/// Returns the integer equal to `value`, if JSON parsers can represent the integer exactly.
fn as_integer(value: f64) -> Option<i64> {
    let integer = value as i64;
    (value.fract() == 0.0 && value.abs() < 9e15 && !(value == 0.0 && value.is_sign_negative()))
        .then_some(integer)
}

fn digits(out: &mut Vec<u8>, mut value: u64) {
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break out.extend_from_slice(&text[at..]);
        }
    }
}

/// Bytes that may need an escape: quotes, backslashes, control characters, and the lead byte of the
/// C1 controls.
///
/// Terminals interpret C1 controls, so the writer escapes them, too.
const NEEDS_ESCAPE: [bool; 256] = {
    let mut stops = [false; 256];
    let mut i = 0;
    while i < 0x20 {
        stops[i] = true;
        i += 1;
    }
    stops[b'"' as usize] = true;
    stops[b'\\' as usize] = true;
    stops[0x7f] = true;
    stops[0xc2] = true;
    stops
};

/// Appends `text` as a JSON string with all control characters escaped.
pub(crate) fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if !NEEDS_ESCAPE[*byte as usize] {
            continue;
        }
        let code = match *byte {
            0xc2 => match bytes.get(at + 1) {
                Some(next @ 0x80..=0x9f) => *next,
                _ => continue,
            },
            byte => byte,
        };
        out.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        from = at + if *byte == 0xc2 { 2 } else { 1 };
        match code {
            b'"' | b'\\' => out.extend([b'\\', code]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            code => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
                out.extend_from_slice(b"\\u00");
                out.extend([hex(code >> 4), hex(code)]);
            }
        }
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out.push(b'"');
}

/// A sink that builds a [`Value`].
#[derive(Default)]
pub(crate) struct TreeBuilder {
    open: Vec<(Value, String)>,
    key: String,
    root: Value,
}

impl TreeBuilder {
    pub(crate) fn finish(self) -> Value {
        self.root
    }

    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            Some((Value::Object(members), _)) => {
                members.insert(std::mem::take(&mut self.key), value);
            }
            Some((Value::Array(items), _)) => items.push(value),
            _ => self.root = value,
        }
    }

    fn begin(&mut self, value: Value) {
        self.open.push((value, std::mem::take(&mut self.key)));
    }

    fn end(&mut self) {
        if let Some((value, key)) = self.open.pop() {
            self.key = key;
            self.put(value);
        }
    }
}

impl JsonSink for TreeBuilder {
    fn begin_object(&mut self) {
        self.begin(Value::Object(Map::new()));
    }
    fn end_object(&mut self) {
        self.end();
    }
    fn begin_array(&mut self) {
        self.begin(Value::Array(Vec::new()));
    }
    fn end_array(&mut self) {
        self.end();
    }
    fn name(&mut self, name: &str) {
        name.clone_into(&mut self.key);
    }
    fn key(&mut self, key: &str) {
        key.clone_into(&mut self.key);
    }
    fn string(&mut self, text: &str) {
        self.put(Value::from(text));
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.put(Value::from(base64::encode(bytes)));
    }
    fn int(&mut self, value: i64) {
        self.put(Value::from(value));
    }
    fn uint(&mut self, value: u64) {
        self.put(Value::from(value));
    }
    fn text_int(&mut self, value: i128) {
        self.put(Value::from(value.to_string()));
    }
    fn float(&mut self, value: f64) {
        let number = as_integer(value).map(Number::from).or_else(|| Number::from_f64(value));
        self.put(number.map_or(Value::Null, Value::Number));
    }
    fn bool(&mut self, value: bool) {
        self.put(Value::from(value));
    }
    fn null(&mut self) {
        self.put(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_json_without_control_characters() {
        for text in ["plain", "q\"b\\", "a\nb\r\t\u{1b}[31m", "\u{7f}\u{9b}31m é \u{a0}", "\u{0}", "日本"]
        {
            let mut out = Vec::new();
            quote(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).ok().as_deref(), Some(text));
            let written = String::from_utf8(out).expect("UTF-8");
            assert!(!written.chars().any(char::is_control), "{written}");
        }
    }

    #[test]
    fn write_error_is_returned_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = JsonWriter::new(Full);
        for _ in 0..3 {
            writer.string(&"x".repeat(FLUSH_BYTES));
        }
        assert_eq!(writer.finish().err().map(|e| e.kind()), Some(io::ErrorKind::StorageFull));
    }

    #[test]
    fn floats_have_the_shortest_form() {
        for (value, text) in
            [(8080.0, "8080"), (-0.0, "-0.0"), (0.5, "0.5"), (1e300, "1e300"), (1e-7, "1e-7"), (-3.0, "-3")]
        {
            let mut writer = JsonWriter::new(Vec::new());
            writer.float(value);
            assert_eq!(writer.finish().ok().as_deref(), Some(text.as_bytes()));
        }
    }
}
