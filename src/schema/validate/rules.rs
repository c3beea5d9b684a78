//! The rules of one field, as the checker needs them.

use std::cmp::Ordering;

use regex::Regex;

/// A number of any kind; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.partial_cmp(b),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
            (Number::Int(a), Number::Float(b)) => (*a as f64).partial_cmp(b),
            (Number::Float(a), Number::Int(b)) => a.partial_cmp(&(*b as f64)),
        }
    }
}

/// What numbers, durations and timestamps may be.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberRule {
    pub(super) is: Option<Number>,
    /// The bound, and whether it may be reached.
    pub(super) below: Option<(Number, bool)>,
    pub(super) above: Option<(Number, bool)>,
    pub(super) one_of: Vec<Number>,
    pub(super) none_of: Vec<Number>,
    pub(super) ignore_empty: bool,
    /// In seconds, not plain numbers.
    pub(super) time: bool,
}

/// Lengths that something may have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LengthRule {
    pub(super) is: Option<u64>,
    pub(super) least: Option<u64>,
    pub(super) most: Option<u64>,
}

/// A form that texts have by convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WellKnown {
    Email,
    Hostname,
    Ip,
    Ipv4,
    Ipv6,
    Uri,
    UriRef,
    /// A host name or an IP address.
    Address,
    Uuid,
    HeaderName {
        strict: bool,
    },
    HeaderValue {
        strict: bool,
    },
}

/// What texts and bytes may be. Of bytes, `chars` is not used.
#[derive(Clone, Debug, Default)]
pub(super) struct TextRule {
    pub(super) is: Option<Vec<u8>>,
    pub(super) chars: LengthRule,
    pub(super) bytes: LengthRule,
    pub(super) pattern: Option<Regex>,
    pub(super) prefix: Option<Vec<u8>>,
    pub(super) suffix: Option<Vec<u8>>,
    pub(super) contains: Option<Vec<u8>>,
    pub(super) not_contains: Option<Vec<u8>>,
    pub(super) one_of: Vec<Vec<u8>>,
    pub(super) none_of: Vec<Vec<u8>>,
    pub(super) well_known: Option<WellKnown>,
    pub(super) ignore_empty: bool,
}

/// What one value may be.
#[derive(Clone, Debug, Default)]
pub(super) enum ValueRule {
    #[default]
    Anything,
    Number(NumberRule),
    Bool(bool),
    Text(TextRule),
    Enum {
        is: Option<i32>,
        defined_only: bool,
        one_of: Vec<i32>,
        none_of: Vec<i32>,
    },
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

/// `validate.rules` of a field, of the items of a list, or of the keys or values of a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// It must be there.
    pub(super) required: bool,
    /// Messages in it are not looked into.
    pub(super) skip: bool,
    pub(super) value: ValueRule,
}

impl Rules {
    /// Nothing is demanded of the value itself.
    pub(super) fn is_empty(&self) -> bool {
        !self.required && matches!(self.value, ValueRule::Anything)
    }
}
