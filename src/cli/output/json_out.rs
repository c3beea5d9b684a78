//! Output of JSON objects one by one: `json` is one array, `jsonl` one object per line, `yaml` one
//! document each, and custom columns are a row each.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::cli::args::{CustomColumns, Format};
use xdscope_engine::store::{MessageFact, Store};
use xdscope_present::bodies;
use xdscope_present::table::{Cell, Table, TableLooks};
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::event::Seq;
use xdscope_wire::text::{display_safe, json_safe};

/// A writer of objects.
pub(crate) struct Objects<'a>(ObjectForm<'a>);

enum ObjectForm<'a> {
    /// One array, with the number of elements so far.
    Array(&'a mut dyn Write, usize),
    Lines(&'a mut dyn Write),
    Yaml {
        out: &'a mut dyn Write,
        terminal: bool,
    },
    Rows(Table<'a>, &'static CustomColumns),
}

/// The looks of objects that people read.
#[derive(Clone, Copy)]
pub(crate) struct ObjectLooks {
    pub table: TableLooks,
    /// Whether the output is a terminal, which obeys control characters.
    pub terminal: bool,
}

impl<'a> Objects<'a> {
    /// Writes objects in the format of `-o`; formats without objects count as `jsonl`.
    pub(crate) fn new(out: &'a mut dyn Write, format: Format, looks: ObjectLooks) -> Objects<'a> {
        Objects(match format {
            Format::Json => ObjectForm::Array(out, 0),
            Format::Yaml => ObjectForm::Yaml { out, terminal: looks.terminal },
            Format::Columns(columns) => {
                ObjectForm::Rows(Table::new(out, looks.table, columns.headings()), columns)
            }
            _ => ObjectForm::Lines(out),
        })
    }

    /// Writes one array.
    pub(crate) fn array(out: &'a mut dyn Write) -> Objects<'a> {
        Objects(ObjectForm::Array(out, 0))
    }

    /// Writes an object per line.
    pub(crate) fn lines(out: &'a mut dyn Write) -> Objects<'a> {
        Objects(ObjectForm::Lines(out))
    }

    pub(crate) fn put(&mut self, object: &Value) -> io::Result<()> {
        match &mut self.0 {
            ObjectForm::Array(out, count) => {
                let before = if *count == 0 { "[" } else { "," };
                *count += 1;
                write!(out, "{before}\n{}", line(object))
            }
            ObjectForm::Lines(out) => writeln!(out, "{}", line(object)),
            ObjectForm::Yaml { out, terminal } => {
                writeln!(out, "---")?;
                write_yaml(out, object, "", *terminal)
            }
            ObjectForm::Rows(table, columns) => match columns.cells(object) {
                Some(cells) => table.row(cells.into_iter().map(Cell::new).collect()),
                None => Ok(()),
            },
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            ObjectForm::Array(out, _) | ObjectForm::Lines(out) | ObjectForm::Yaml { out, .. } => out.flush(),
            ObjectForm::Rows(table, _) => {
                table.flush()?;
                table.out().flush()
            }
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self.0 {
            ObjectForm::Array(out, 0) => writeln!(out, "[]"),
            ObjectForm::Array(out, _) => writeln!(out, "\n]"),
            ObjectForm::Lines(_) | ObjectForm::Yaml { .. } => Ok(()),
            ObjectForm::Rows(table, _) => table.finish_with_titles(),
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
    use xdscope_present::table::{Style, TableForm};
    use xdscope_wire::text::must_escape;

    const LOOKS: ObjectLooks = ObjectLooks {
        table: TableLooks { style: Style::PLAIN, has_titles: true, form: TableForm::Text },
        terminal: false,
    };

    fn written(format: Format, objects: &[Value]) -> String {
        let mut out = Vec::new();
        let mut list = Objects::new(&mut out, format, LOOKS);
        objects.iter().for_each(|object| list.put(object).unwrap());
        list.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_is_one_array_and_jsonl_one_object_a_line() {
        assert_eq!(written(Format::Json, &[]), "[]\n");
        assert_eq!(written(Format::Json, &[json!(1), json!(2)]), "[\n1,\n2\n]\n");
        assert_eq!(written(Format::Jsonl, &[]), "");
        assert_eq!(written(Format::Jsonl, &[json!({"a": 1}), json!(2)]), "{\"a\":1}\n2\n");
    }

    #[test]
    fn objects_without_a_column_have_no_row() {
        let columns: CustomColumns = "NAME:.name,SIZE:.size".parse().unwrap();
        let columns = Format::Columns(Box::leak(Box::new(columns)));
        let objects = [json!({"name": "a\x1b[2J", "size": 12}), json!({"other": 1}), json!({"name": "b"})];
        assert_eq!(written(columns, &objects), "NAME      SIZE\na\\x1b[2J  12\nb         <none>\n");
    }

    #[test]
    fn escapes_control_characters() {
        let value = json!("a\x1b[2J\u{9b}2J\x7f\u{202e}\u{e0041} é");
        let text = line(&value);
        assert!(!text.chars().any(must_escape), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
