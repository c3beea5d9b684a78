//! The conditions of an expression: a word, a field with a value, a range of message numbers.

use std::time::Duration;

use crate::store::{MessageKind, ResourceState, TypeState};
use xdscope_wire::event::{Dir, Kind, StreamId};
use xdscope_wire::text::near::nearest;

use super::content::ContentPath;
use super::filter_time::FilterTime;
use super::lexer::Char;
use super::pattern::{Extent, Pattern};
use super::{FilterError, RowKind};
use xdscope_wire::text::{parse_bytes, parse_duration};

/// A field of the filter language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterField {
    /// Resource type.
    Type,
    /// Node id.
    Node,
    /// Stream number.
    Stream,
    /// Direction of a message.
    Dir,
    /// Kind of a message.
    Kind,
    /// State of a type or resource.
    State,
    /// Resource name.
    Name,
    /// Owner of a resource.
    Owner,
    /// Version.
    Version,
    /// Nonce.
    Nonce,
    /// Error text.
    Err,
    /// Rule id of a finding.
    Rule,
    /// Later than a point in time.
    After,
    /// Earlier than a point in time.
    Before,
    /// Size in bytes.
    Size,
    /// Latency.
    Lat,
    /// Age.
    Age,
    /// Number of resources.
    Res,
    /// Message number.
    Number,
    /// `has:PATH`.
    Has,
    /// `field:PATH=VALUE`.
    Content,
}

impl FilterField {
    /// The fields that have a word.
    pub const WORDS: [(&'static str, FilterField); 20] = [
        ("type", FilterField::Type),
        ("node", FilterField::Node),
        ("stream", FilterField::Stream),
        ("dir", FilterField::Dir),
        ("kind", FilterField::Kind),
        ("state", FilterField::State),
        ("name", FilterField::Name),
        ("owner", FilterField::Owner),
        ("version", FilterField::Version),
        ("nonce", FilterField::Nonce),
        ("err", FilterField::Err),
        ("rule", FilterField::Rule),
        ("after", FilterField::After),
        ("before", FilterField::Before),
        ("size", FilterField::Size),
        ("lat", FilterField::Lat),
        ("age", FilterField::Age),
        ("res", FilterField::Res),
        ("has", FilterField::Has),
        ("field", FilterField::Content),
    ];

    /// Returns the word of the field, or `#` for message numbers.
    pub fn word(self) -> &'static str {
        FilterField::WORDS.iter().find(|(_, field)| *field == self).map_or("#", |(word, _)| word)
    }

    /// Returns the fields that apply to rows of any kind.
    pub fn in_use() -> impl Iterator<Item = FilterField> {
        let all = FilterField::WORDS.iter().map(|(_, field)| *field).chain([FilterField::Number]);
        all.filter(|field| RowKind::ALL.into_iter().any(|rows| field.applies(rows)))
    }

    fn parse(word: &str) -> Option<FilterField> {
        FilterField::WORDS.iter().find(|(known, _)| *known == word).map(|(_, field)| *field)
    }

    fn is_number(self) -> bool {
        matches!(self, FilterField::Size | FilterField::Lat | FilterField::Age | FilterField::Res)
    }

    /// Whether rows of this kind have the field.
    pub(super) fn applies(self, rows: RowKind) -> bool {
        use FilterField as F;
        match rows {
            RowKind::Messages => !matches!(self, F::State | F::Rule),
            RowKind::States => !matches!(self, F::Dir | F::Kind | F::Rule | F::Owner | F::Has | F::Content),
            RowKind::Findings => matches!(
                self,
                F::Type
                    | F::Node
                    | F::Stream
                    | F::Name
                    | F::Err
                    | F::Rule
                    | F::After
                    | F::Before
                    | F::Age
                    | F::Number
            ),
            RowKind::Resources => !matches!(
                self,
                F::Dir
                    | F::Kind
                    | F::Rule
                    | F::Nonce
                    | F::Err
                    | F::Lat
                    | F::Age
                    | F::Res
                    | F::Number
                    | F::After
                    | F::Before
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

impl Compare {
    pub(super) fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Compare::Less => left < right,
            Compare::AtMost => left <= right,
            Compare::Equal => left == right,
            Compare::AtLeast => left >= right,
            Compare::More => left > right,
        }
    }
}

/// Operators, longest first.
const OPERATORS: [(&str, Compare); 6] = [
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    (":", Compare::Equal),
    ("=", Compare::Equal),
    (">", Compare::More),
    ("<", Compare::Less),
];

#[derive(Clone, Debug)]
pub(super) enum Predicate {
    /// Any text of the row.
    Row(Pattern),
    Type {
        kind: Option<Kind>,
        url: Pattern,
    },
    Stream(StreamId),
    /// The text of a field.
    Text(Pattern),
    Bytes(Compare, u64),
    Time(Compare, Duration),
    Count(Compare, u64),
    /// `#FROM..#TO`, inclusive.
    Numbers(u64, u64),
    Point(FilterTime),
    Content(ContentPath, Option<Pattern>),
}

#[derive(Clone, Debug)]
pub(super) struct Term {
    /// The field with its byte offset. `None` for a word that matches the row.
    field: Option<(FilterField, usize)>,
    /// The value of the field as typed.
    pub value: String,
    pub test: Predicate,
}

impl Term {
    pub(super) fn field(&self) -> Option<(FilterField, usize)> {
        self.field
    }
}

/// Parses a regex without a field.
pub(super) fn regex(at: usize, regex: &str) -> Result<Term, FilterError> {
    Ok(Term { field: None, value: String::new(), test: Predicate::Row(Pattern::regex(at, regex)?) })
}

/// Parses `name:/…/`.
pub(super) fn field_regex(at: usize, word: &str, place: usize, regex: &str) -> Result<Term, FilterError> {
    let field = known(at, word)?;
    let pattern = Pattern::regex(place, regex)?;
    let test = match field {
        FilterField::Type => Predicate::Type { kind: None, url: pattern },
        FilterField::Node
        | FilterField::Name
        | FilterField::Owner
        | FilterField::Version
        | FilterField::Nonce
        | FilterField::Err
        | FilterField::Rule => Predicate::Text(pattern),
        FilterField::Kind | FilterField::State | FilterField::Dir => {
            Predicate::Text(one_of(field, place, regex, pattern)?)
        }
        _ => return Err(FilterError { at: place, reason: format!("`{word}` does not accept a regex") }),
    };
    Ok(Term { field: Some((field, at)), value: format!("/{regex}/"), test })
}

/// Parses a word, a field with a value, or a range of message numbers.
pub(super) fn word(at: usize, word: &[Char]) -> Result<Term, FilterError> {
    if let Some(term) = numbers(at, word)? {
        return Ok(term);
    }
    let letters = word.iter().take_while(|(c, quoted)| !quoted && c.is_ascii_alphabetic()).count();
    let (name, rest) = word.split_at(letters);
    let name = plain(name);
    let operator = OPERATORS.iter().find(|(sign, _)| starts_with(rest, sign));
    if let Some((sign, compare)) = operator
        && !name.is_empty()
    {
        let value = &rest[sign.len()..];
        // `xdstp://…` and unknown words in front of a comparison are text. An unknown word with a
        // colon is an error.
        let is_text = *sign != ":" || starts_with(rest, "://");
        if FilterField::parse(&name).is_some() || !is_text {
            let field = known(at, &name)?;
            let place = at + name.len() + sign.len();
            if !matches!(*sign, ":" | "=") && !field.is_number() {
                return Err(FilterError {
                    at: at + name.len(),
                    reason: format!("`{name}` expects `:`, not `{sign}`"),
                });
            }
            if value.is_empty() {
                return Err(FilterError { at: place, reason: format!("the value of `{name}` is missing") });
            }
            let test = test(field, *compare, place, value)?;
            return Ok(Term { field: Some((field, at)), value: plain(value), test });
        }
    }
    let test = Predicate::Row(Pattern::word(at, word, Extent::Part)?);
    Ok(Term { field: None, value: String::new(), test })
}

/// Returns the field of a name, or an error that suggests near names.
fn known(at: usize, word: &str) -> Result<FilterField, FilterError> {
    FilterField::parse(word).ok_or_else(|| {
        let words: Vec<_> = FilterField::in_use().map(FilterField::word).collect();
        let near = near_words(word, &words);
        let reason = format!(
            "unknown field `{word}`{near} (fields: {}; quote the word to match it as text)",
            words.join(" ")
        );
        FilterError { at, reason }
    })
}

/// Reads the value of a field as the test that the field has.
fn test(field: FilterField, compare: Compare, at: usize, value: &[Char]) -> Result<Predicate, FilterError> {
    let text = plain(value);
    let wrong = |expected: &str| FilterError { at, reason: format!("`{text}` is not {expected}") };
    Ok(match field {
        FilterField::Type => {
            // A full name or URL states the version of the API.
            let kind = if text.contains('.') { None } else { Kind::parse(&text) };
            Predicate::Type { kind, url: Pattern::word(at, value, Extent::Whole)? }
        }
        FilterField::Node
        | FilterField::Name
        | FilterField::Owner
        | FilterField::Version
        | FilterField::Nonce
        | FilterField::Rule => Predicate::Text(Pattern::word(at, value, Extent::Whole)?),
        FilterField::Err => Predicate::Text(Pattern::word(at, value, Extent::Part)?),
        FilterField::Kind | FilterField::State | FilterField::Dir => {
            Predicate::Text(one_of(field, at, &text, Pattern::word(at, value, Extent::Whole)?)?)
        }
        FilterField::Stream => {
            let digits = text.strip_prefix('#').unwrap_or(&text);
            Predicate::Stream(StreamId(digits.parse().map_err(|_| wrong("the number of a stream"))?))
        }
        FilterField::Size => {
            Predicate::Bytes(compare, parse_bytes(&text).ok_or_else(|| wrong("a size such as 1M or 44kB"))?)
        }
        FilterField::Lat | FilterField::Age => Predicate::Time(
            compare,
            parse_duration(&text).ok_or_else(|| wrong("a time such as 100ms or 30s"))?,
        ),
        FilterField::Res | FilterField::Number => {
            Predicate::Count(compare, text.parse().map_err(|_| wrong("a count"))?)
        }
        FilterField::After | FilterField::Before => Predicate::Point(
            FilterTime::parse(&text).ok_or_else(|| wrong("a time such as 14:02:08, +30s or #487"))?,
        ),
        FilterField::Has => {
            Predicate::Content(ContentPath::parse(&text).ok_or_else(|| wrong("a field path"))?, None)
        }
        FilterField::Content => {
            let equal = value.iter().position(|c| *c == ('=', false));
            let Some((path, wanted)) = equal.map(|equal| (&value[..equal], &value[equal + 1..])) else {
                return Err(wrong("PATH=VALUE"));
            };
            let path = ContentPath::parse(&plain(path)).ok_or_else(|| wrong("PATH=VALUE"))?;
            Predicate::Content(path, Some(Pattern::word(at, wanted, Extent::Whole)?))
        }
    })
}

/// The state of a resource that was requested and not sent in time, as views of resources show it.
pub(super) const MISSING: &str = "missing";

/// Returns the words for states of types and of resources, each once.
pub fn state_words() -> impl Iterator<Item = &'static str> {
    let types = TypeState::ALL.map(TypeState::word);
    let resources = ResourceState::ALL.iter().map(|state| state.word());
    types.into_iter().chain(resources.filter(move |word| !types.contains(word)))
}

/// Returns an error if the pattern matches none of the field's words.
fn one_of(field: FilterField, at: usize, word: &str, pattern: Pattern) -> Result<Pattern, FilterError> {
    let words: Vec<&str> = match field {
        FilterField::Kind => MessageKind::ALL.iter().map(|kind| kind.word()).collect(),
        FilterField::Dir => vec![Dir::Req.word(), Dir::Resp.word()],
        _ => state_words().chain([MISSING]).collect(),
    };
    if words.iter().any(|word| pattern.matches(word)) {
        return Ok(pattern);
    }
    let near = near_words(word, &words);
    let reason = format!("not a {}{near} (expected one of: {})", field.word(), words.join(" "));
    Err(FilterError { at, reason })
}

/// `, near: kind name`; empty if no word is near.
fn near_words(word: &str, known: &[&str]) -> String {
    let near = nearest(word, known.iter().copied(), 3);
    if near.is_empty() { String::new() } else { format!(", near: {}", near.join(" ")) }
}

/// Parses `#487`, `#478..#498` or `#478..`. Returns `None` for other words.
fn numbers(at: usize, word: &[Char]) -> Result<Option<Term>, FilterError> {
    let text = plain(word);
    if !text.starts_with('#') || word.iter().any(|(_, quoted)| *quoted) {
        return Ok(None);
    }
    let read = |text: &str| text.trim_start_matches('#').parse::<u64>().ok();
    let range = match text.split_once("..") {
        None => read(&text).map(|n| (n, n)),
        Some((from, "")) => read(from).map(|from| (from, u64::MAX)),
        Some((from, to)) => read(from).zip(read(to)),
    };
    match range {
        Some((from, to)) => {
            let (field, test) = (Some((FilterField::Number, at)), Predicate::Numbers(from, to));
            Ok(Some(Term { field, value: text, test }))
        }
        None => Err(FilterError { at, reason: "expected a message number, #487 or #478..#498".into() }),
    }
}

fn plain(word: &[Char]) -> String {
    word.iter().map(|(c, _)| c).collect()
}

fn starts_with(word: &[Char], sign: &str) -> bool {
    word.len() >= sign.len() && word.iter().zip(sign.chars()).all(|((c, quoted), s)| !quoted && *c == s)
}
