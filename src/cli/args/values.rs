//! Values of flags, and their parsers.

use std::ffi::OsStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command, ValueEnum};

use super::columns::CustomColumns;
use crate::net::transport::Address;
use xdscope_engine::lint;
use xdscope_present::table::TableForm;
use xdscope_wire::text::{parse_bytes, parse_duration, without_credentials};

/// Formats of `-o`. Each verb accepts some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Table,
    Wide,
    Text,
    Json,
    Jsonl,
    Yaml,
    Name,
    Tree,
    Md,
    /// `custom-columns=SPEC`: JSON objects as rows.
    #[value(skip)]
    Columns(&'static CustomColumns),
}

impl Format {
    /// Whether the verb prints its JSON objects, in some form.
    pub(crate) fn is_of_objects(self) -> bool {
        matches!(self, Format::Json | Format::Jsonl | Format::Yaml | Format::Columns(_))
    }

    /// Returns the language of a table in this format.
    pub(crate) fn table_form(self) -> TableForm {
        if self == Format::Md { TableForm::Markdown } else { TableForm::Text }
    }

    /// Whether the format is for people.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Format::Table | Format::Text | Format::Wide | Format::Tree)
    }
}

/// Parses a format, out of those that a verb has. A verb with tables and JSON has custom columns.
pub(super) fn formats(known: &'static [Format]) -> FormatParser<Format> {
    let has_columns = known.contains(&Format::Table) && known.contains(&Format::Jsonl);
    FormatParser { known, columns: has_columns.then_some(Format::Columns) }
}

/// A parser of `-o`.
#[derive(Clone)]
pub(super) struct FormatParser<F: 'static> {
    /// The formats that are words.
    known: &'static [F],
    /// The format of custom columns, if the verb has it.
    columns: Option<fn(&'static CustomColumns) -> F>,
}

impl<F> FormatParser<F> {
    pub(super) fn with_columns(known: &'static [F], columns: fn(&'static CustomColumns) -> F) -> Self {
        FormatParser { known, columns: Some(columns) }
    }
}

impl<F: ValueEnum + Send + Sync> TypedValueParser for FormatParser<F> {
    type Value = F;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<F, clap::Error> {
        let spec = value.to_str().and_then(|text| text.strip_prefix("custom-columns="));
        if let (Some(spec), Some(columns)) = (spec, self.columns) {
            let parser = StringValueParser::new().try_map(|spec| spec.parse::<CustomColumns>());
            // The flags are read once, and live as long as the program.
            return Ok(columns(Box::leak(Box::new(parser.parse_ref(command, arg, spec.as_ref())?))));
        }
        let values = self.known.iter().filter_map(F::to_possible_value).collect::<Vec<PossibleValue>>();
        let parser = PossibleValuesParser::new(values).try_map(|word| F::from_str(&word, false));
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let columns = self.columns.map(|_| PossibleValue::new("custom-columns="));
        Some(Box::new(self.known.iter().filter_map(F::to_possible_value).chain(columns)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
    #[value(name = "16")]
    Sixteen,
    #[value(name = "256")]
    Many,
    True,
}

/// Formats of messages and of the log of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeFormat {
    Local,
    Utc,
    Relative,
    Delta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportTo {
    Raw,
    Jsonl,
    Script,
    Xdsrec,
    Dot,
    Mermaid,
    Dir,
    Bootstrap,
    Md,
    Parquet,
}

/// Formats of `picture`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureFormat {
    Svg,
    #[value(alias = "txt")]
    Text,
}

/// A value of a flag that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("expected #N")]
    Stream,
    #[error("expected a size such as 512MB")]
    Size,
    #[error("expected a time such as 500ms, 10s or 2m")]
    Time,
    #[error("expected a size such as 100MB, or an age such as 1h")]
    SizeOrAge,
    #[error("expected NAME=TIME such as ack=5s")]
    Timer,
    #[error("unknown timer `{name}`: expected ack, answer, exist or warm")]
    UnknownTimer { name: String },
    #[error("expected a number from 0.25 to 64")]
    ScreenSpeed,
    #[error("expected a number from 0.01 to 1000, or max")]
    ScriptSpeed,
    #[error("{near}one of {known}")]
    UnknownScenario { near: String, known: String },
    #[error("expected a time above 0")]
    ZeroTime,
    #[error("expected COLUMNSxROWS such as 120x36, from 60x15 to 500x200")]
    ScreenSize,
}

/// A selection of one stream, or of all streams of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPick {
    Stream(u32),
    Node(String),
}

impl std::str::FromStr for StreamPick {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        // A shell needs quotes around `#`, and the flag says that a number is meant.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
        match text.strip_prefix('#').or(is_number.then_some(text)) {
            Some(number) => number.parse().map(StreamPick::Stream).map_err(|_| ValueError::Stream),
            None => Ok(StreamPick::Node(text.to_owned())),
        }
    }
}

/// Returns a server or a file as typed, without the credentials of a URL.
///
/// A file whose name looks like a flag becomes `./--name`, so that commands with it can be copied.
pub(super) fn source(text: &str) -> Result<String, std::convert::Infallible> {
    let is_server = text.contains("://") || text.parse::<Address>().is_ok();
    Ok(match text {
        _ if is_server => without_credentials(text),
        _ if text.starts_with('-') && text != "-" => format!("./{text}"),
        _ => text.to_owned(),
    })
}

/// Parses `120x36`.
pub(super) fn screen_size(text: &str) -> Result<(u16, u16), ValueError> {
    let (columns, rows) = text.split_once(['x', 'X']).ok_or(ValueError::ScreenSize)?;
    let size = (columns.parse().ok(), rows.parse().ok());
    match size {
        (Some(columns @ 60..=500), Some(rows @ 15..=200)) => Ok((columns, rows)),
        _ => Err(ValueError::ScreenSize),
    }
}

pub(super) fn bytes(text: &str) -> Result<u64, ValueError> {
    parse_bytes(text).ok_or(ValueError::Size)
}

/// A limit of a session file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMax {
    Bytes(u64),
    Age(Duration),
}

/// Parses `100MB` or `1h`.
pub(super) fn record_max(text: &str) -> Result<RecordMax, ValueError> {
    let age = parse_duration(text).filter(|age| !age.is_zero()).map(RecordMax::Age);
    let size = || parse_bytes(text).filter(|bytes| *bytes > 0).map(RecordMax::Bytes);
    age.or_else(size).ok_or(ValueError::SizeOrAge)
}

/// Parses `ack=5s,answer=15s`. Timers that are missing keep their defaults.
pub(super) fn timers(text: &str) -> Result<lint::Timers, ValueError> {
    let mut timers = lint::Timers::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or(ValueError::Timer)?;
        let slot = match name.trim() {
            "ack" => &mut timers.ack,
            "answer" => &mut timers.answer,
            "exist" => &mut timers.exist,
            "warm" => &mut timers.warm,
            other => return Err(ValueError::UnknownTimer { name: other.to_owned() }),
        };
        *slot = time(value.trim())?;
    }
    Ok(timers)
}

pub(super) fn speed(text: &str) -> Result<f64, ValueError> {
    let speed = text.trim_end_matches('x').parse().ok().filter(|speed| (0.25..=64.0).contains(speed));
    speed.ok_or(ValueError::ScreenSpeed)
}

pub(super) fn time(text: &str) -> Result<Duration, ValueError> {
    parse_duration(text).ok_or(ValueError::Time)
}

/// Parses a time above zero.
pub(super) fn positive_time(text: &str) -> Result<Duration, ValueError> {
    time(text)?.checked_sub(Duration::from_nanos(1)).ok_or(ValueError::ZeroTime)?;
    time(text)
}
