//! The rules of a field in the form that the checker uses.

use std::cmp::Ordering;

use regex::Regex;

/// A number of any kind. Times are in nanoseconds.
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

/// A bound of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) value: Number,
    pub(super) is_inclusive: bool,
}

/// Constraints on a number, duration or timestamp.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberRule {
    pub(super) is: Option<Number>,
    pub(super) upper: Option<Bound>,
    pub(super) lower: Option<Bound>,
    pub(super) one_of: Vec<Number>,
    pub(super) none_of: Vec<Number>,
    pub(super) ignore_empty: bool,
    /// Whether the value is a time, shown in seconds.
    pub(super) is_time: bool,
}

/// Constraints on a length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LengthRule {
    pub(super) is: Option<u64>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

/// A well-known form of texts.
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

/// Constraints on a string or bytes value. `chars` applies to strings only.
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
    /// Whether the field must be set.
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
