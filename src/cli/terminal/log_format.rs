//! The lines on stderr and in `--log-file`: text for people, or a JSON object each.

use std::fmt;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::cli::args::LogFormat;
use crate::cli::error::CliError;
use xdscope_wire::text::display_safe;

/// The format of all lines of the process.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Words before a message that is a warning.
const WARNING: &str = "warning: ";

/// Sets the format. Only the first call of a process has an effect.
pub(super) fn set(format: LogFormat) {
    let _ = FORMAT.set(format);
}

fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// Formats a message to the user, with the line end.
pub(crate) fn message(text: &str) -> String {
    if is_json() { json_message(text) } else { format!("xdscope: {}\n", display_safe(text)) }
}

/// Formats the error of a verb, with line ends.
pub(crate) fn error(error: &CliError) -> String {
    if is_json() && !error.message.is_empty() { json_error(error) } else { error.render() }
}

fn json_message(text: &str) -> String {
    match text.strip_prefix(WARNING) {
        Some(text) => line("warn", text, Map::new()),
        None => line("info", text, Map::new()),
    }
}

fn json_error(error: &CliError) -> String {
    let mut fields = Map::new();
    for (name, lines) in [("shown", &error.shown), ("tried", &error.tried), ("next", &error.next)] {
        if !lines.is_empty() {
            fields.insert(name.into(), json!(lines));
        }
    }
    line("error", &error.summary(), fields)
}

/// Formats an object with the time, and the line end.
fn line(level: &str, message: &str, fields: Map<String, Value>) -> String {
    let mut object = Map::new();
    object.insert("time".into(), jiff::Timestamp::now().to_string().into());
    object.insert("level".into(), level.into());
    object.insert("message".into(), message.into());
    object.extend(fields);
    format!("{}\n", Value::Object(object))
}

/// The events of the log of the program, as JSON.
pub(super) struct JsonEvents;

impl<S, N> FormatEvent<S, N> for JsonEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let EventFields { message, mut others } = fields;
        others.insert("target".into(), event.metadata().target().into());
        writer.write_str(&line(level(*event.metadata().level()), &message, others))
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// The message of an event, and its other fields.
#[derive(Default)]
struct EventFields {
    message: String,
    others: Map<String, Value>,
}

impl EventFields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.others.insert(name.to_owned(), value);
            }
        }
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Value {
        assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
        let mut object: Value = serde_json::from_str(line).expect("an object");
        let time = object.as_object_mut().and_then(|fields| fields.shift_remove("time")).expect("a time");
        time.as_str().expect("a text").parse::<jiff::Timestamp>().expect("a time");
        object
    }

    #[test]
    fn messages_have_a_level() {
        let object = parsed(&json_message("listening on \"a\"\n\x1b[31m"));
        assert_eq!(object, json!({ "level": "info", "message": "listening on \"a\"\n\x1b[31m" }));
        assert_eq!(parsed(&json_message("warning: open"))["level"], "warn");
    }

    #[test]
    fn errors_say_what_to_do_next() {
        let cause = std::io::Error::new(std::io::ErrorKind::AddrInUse, "address in use");
        let error = CliError::usage("--metrics").because(cause).next("--metrics with another port");
        let object = parsed(&json_error(&error));
        assert_eq!(
            object,
            json!({ "level": "error", "message": "--metrics: address in use", "next": ["--metrics with another port"] })
        );
    }

    #[test]
    fn events_of_the_program_are_objects() {
        use std::sync::{Arc, Mutex};
        use tracing_subscriber::prelude::*;
        let lines: Arc<Mutex<Vec<u8>>> = Arc::default();
        let written = lines.clone();
        let writer = move || Written(written.clone());
        let layer = tracing_subscriber::fmt::layer().event_format(JsonEvents).with_writer(writer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(failures = 3_u64, error = %"refused", "accept failed");
        });
        let line = String::from_utf8(lines.lock().expect("lines").clone()).expect("text");
        let object = parsed(&line);
        assert_eq!(
            (&object["level"], &object["message"], &object["failures"], &object["error"]),
            (&json!("warn"), &json!("accept failed"), &json!(3), &json!("refused"))
        );
    }

    struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("lines").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
