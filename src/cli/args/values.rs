//! Values of flags, and their parsers.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::engine::{diff, filter, lint};

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
}

/// Parses a format, out of those that a verb has.
pub(super) fn formats(known: &'static [Format]) -> impl clap::builder::TypedValueParser<Value = Format> {
    use clap::builder::TypedValueParser as _;
    let values = known.iter().filter_map(|format| format.to_possible_value()).collect::<Vec<PossibleValue>>();
    clap::builder::PossibleValuesParser::new(values).try_map(|word| Format::from_str(&word, false))
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
}

/// A selection of one stream, or of all streams of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamPick {
    Stream(u32),
    Node(String),
}

impl std::str::FromStr for StreamPick {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('#') {
            Some(number) => number.parse().map(StreamPick::Stream).map_err(|_| "expected #N".into()),
            None => Ok(StreamPick::Node(text.to_owned())),
        }
    }
}

pub(super) fn ignored(text: &str) -> Result<diff::IgnorePattern, String> {
    diff::IgnorePattern::parse(text).map_err(|error| error.to_string())
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    filter::bytes(text).ok_or_else(|| "expected a size such as 512MB".into())
}

/// Parses `ack=5s,answer=15s`. Timers that are missing keep their defaults.
pub(super) fn timers(text: &str) -> Result<lint::Timers, String> {
    let mut timers = lint::Timers::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or("expected NAME=TIME such as ack=5s")?;
        let slot = match name.trim() {
            "ack" => &mut timers.ack,
            "answer" => &mut timers.answer,
            "exist" => &mut timers.exist,
            "warm" => &mut timers.warm,
            other => return Err(format!("unknown timer `{other}`: expected ack, answer, exist or warm")),
        };
        *slot = time(value.trim())?;
    }
    Ok(timers)
}

pub(super) fn speed(text: &str) -> Result<f64, String> {
    let speed = text.trim_end_matches('x').parse().ok().filter(|speed| (0.25..=64.0).contains(speed));
    speed.ok_or_else(|| "expected a number from 0.25 to 64".into())
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    filter::duration(text).ok_or_else(|| "expected a time such as 500ms, 10s or 2m".into())
}
