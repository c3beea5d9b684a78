//! The rules of a field in the form that the checker uses.

use regex::Regex;

use super::demand::{Number, Range, WellKnown};

/// Constraints on a number, duration or timestamp.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberRule {
    pub(super) is: Option<Number>,
    pub(super) range: Range,
    pub(super) one_of: Vec<Number>,
    pub(super) none_of: Vec<Number>,
    pub(super) ignore_empty: bool,
}

/// A regular expression that the whole text must match.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The expression as the descriptor states it.
    pub(super) stated: String,
    pub(super) whole: Regex,
}

impl Pattern {
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }
}

/// Constraints on a length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LengthRule {
    pub(super) is: Option<u64>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

/// Constraints on a string or bytes value. `chars` applies to strings only.
#[derive(Clone, Debug, Default)]
pub(super) struct TextRule {
    pub(super) is: Option<Vec<u8>>,
    pub(super) chars: LengthRule,
    pub(super) bytes: LengthRule,
    pub(super) pattern: Option<Pattern>,
    pub(super) prefix: Option<Vec<u8>>,
    pub(super) suffix: Option<Vec<u8>>,
    pub(super) contains: Option<Vec<u8>>,
    pub(super) not_contains: Option<Vec<u8>>,
    pub(super) one_of: Vec<Vec<u8>>,
    pub(super) none_of: Vec<Vec<u8>>,
    pub(super) well_known: Option<WellKnown>,
    pub(super) ignore_empty: bool,
}

/// Constraints on an enum value.
#[derive(Clone, Debug, Default)]
pub(super) struct EnumRule {
    pub(super) is: Option<i32>,
    pub(super) defined_only: bool,
    pub(super) one_of: Vec<i32>,
    pub(super) none_of: Vec<i32>,
}

/// Constraints on a value.
#[derive(Clone, Debug, Default)]
pub(super) enum ValueRule {
    /// No rules; the fields of a message are checked.
    #[default]
    Anything,
    Number(NumberRule),
    Bool(bool),
    Text(TextRule),
    Enum(EnumRule),
    Any {
        one_of: Vec<String>,
        none_of: Vec<String>,
    },
    List {
        items: LengthRule,
        unique: bool,
        each: Box<Rules>,
        ignore_empty: bool,
    },
    Map {
        pairs: LengthRule,
        keys: Box<Rules>,
        values: Box<Rules>,
        ignore_empty: bool,
    },
}

/// Constraints on a field, the items of a list, or the keys or values of a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// Whether a message must be set. Without effect on items, keys and values.
    pub(super) required: bool,
    /// Whether to skip the constraints inside the message.
    pub(super) skip: bool,
    pub(super) value: ValueRule,
}

impl Rules {
    /// Whether there are no constraints on the value itself.
    pub(super) fn is_empty(&self) -> bool {
        !self.required && matches!(self.value, ValueRule::Anything)
    }
}
