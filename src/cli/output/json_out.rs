//! Output of JSON objects one by one: `json` is one array, `jsonl` one object per line, `yaml` one
//! document each.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::bodies;
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::event::Seq;
use xdscope_wire::text::{display_safe, json_safe};

/// A writer of objects.
pub(crate) struct Objects<'a> {
    out: &'a mut dyn Write,
    array: bool,
    /// `Some` writes YAML; true if the output is a terminal.
    yaml: Option<bool>,
    count: usize,
}

impl<'a> Objects<'a> {
    /// Writes one array, or one object per line.
    pub(crate) fn new(out: &'a mut dyn Write, array: bool) -> Objects<'a> {
        Objects { out, array, yaml: None, count: 0 }
    }

    /// Writes a YAML document for each object.
    pub(crate) fn yaml(out: &'a mut dyn Write, terminal: bool) -> Objects<'a> {
        Objects { yaml: Some(terminal), ..Objects::new(out, false) }
    }

    pub(crate) fn put(&mut self, object: &Value) -> io::Result<()> {
        if let Some(terminal) = self.yaml {
            writeln!(self.out, "---")?;
            return write_yaml(self.out, object, "", terminal);
        }
        let before = match (self.array, self.count) {
            (false, _) => "",
            (true, 0) => "[\n",
            (true, _) => ",\n",
        };
        self.count += 1;
        let after = if self.array { "" } else { "\n" };
        write!(self.out, "{before}{}{after}", line(object))
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match (self.array, self.count) {
            (false, _) => Ok(()),
            (true, 0) => writeln!(self.out, "[]"),
            (true, _) => writeln!(self.out, "\n]"),
        }
    }
}

/// Formats a value on one line. Characters that a terminal would obey or not show are escaped.
pub(crate) fn line(value: &Value) -> String {
    json_safe(&value.to_string()).into_owned()
}

/// Writes a value as YAML, each line after `indent`. Control characters are escaped for terminals.
pub(crate) fn write_yaml(out: &mut dyn Write, value: &Value, indent: &str, terminal: bool) -> io::Result<()> {
    for line in xdscope_schema::to_yaml(value).lines() {
        if terminal {
            writeln!(out, "{indent}{}", display_safe(line))?;
        } else {
            writeln!(out, "{indent}{line}")?;
        }
    }
    Ok(())
}

/// Adds `body` and `raw` to a `message` object; `null` where the content was lost.
pub(crate) fn add_body(object: &mut Value, store: &Store, schema: &Schema, n: Option<Seq>) {
    if let (Some(n), Value::Object(fields)) = (n, object) {
        let body = bodies::message(store, schema, n, FieldNames::Json).unwrap_or(Value::Null);
        let raw = bodies::message_bytes(store, n).map_or(Value::Null, |bytes| STANDARD.encode(bytes).into());
        fields.insert("body".into(), body);
        fields.insert("raw".into(), raw);
    }
}

/// Adds `original` and `sent` to the `intercepted` member of a `message` object, as far as kept.
pub(crate) fn add_intercepted(object: &mut Value, store: &Store, schema: &Schema, fact: &MessageFact) {
    let Some(bodies) = bodies::intervention(store, schema, fact, FieldNames::Json) else { return };
    if let Some(Value::Object(fields)) = object.get_mut("intercepted") {
        for (name, body) in [("original", bodies.original), ("sent", bodies.sent)] {
            fields.extend(body.map(|body| (name.to_owned(), body)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use xdscope_wire::text::must_escape;

    fn written(array: bool, objects: &[Value]) -> String {
        let mut out = Vec::new();
        let mut list = Objects::new(&mut out, array);
        objects.iter().for_each(|object| list.put(object).unwrap());
        list.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_one_array_and_jsonl_one_object_a_line() {
        assert_eq!(written(true, &[]), "[]\n");
        assert_eq!(written(true, &[json!(1), json!(2)]), "[\n1,\n2\n]\n");
        assert_eq!(written(false, &[]), "");
        assert_eq!(written(false, &[json!({"a": 1}), json!(2)]), "{\"a\":1}\n2\n");
    }

    #[test]
    fn escapes_control_characters() {
        let value = json!("a\x1b[2J\u{9b}2J\x7f\u{202e}\u{e0041} é");
        let text = line(&value);
        assert!(!text.chars().any(must_escape), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
