//! Broken constraints as data.

use std::cmp::Ordering;

/// A constraint that a value breaks.
///
/// The `Display` form is a phrase that follows the path of the field, such as `must be at least 1`.
/// Phrases do not repeat values of the message, which are untrusted and may be long.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// The field must be set.
    Set,
    /// One of these fields of a oneof must be set.
    OneOfSet(Vec<String>),
    /// The value must equal this value.
    Equal(Scalar),
    /// The value must be one of these values.
    In(Vec<Scalar>),
    /// The value must be none of these values.
    NotIn(Vec<Scalar>),
    /// The number or duration must lie in this range.
    Range(Range),
    /// The duration must not be negative, must have less than a second of nanoseconds, and must be
    /// shorter than 2^63 nanoseconds. Envoy demands this of every duration; the API does not.
    ValidDuration,
    /// The text, list or map must have this length.
    Length {
        /// Unit of the length.
        unit: Unit,
        /// Required length.
        limit: LengthLimit,
    },
    /// The text must begin with these bytes.
    Prefix(Vec<u8>),
    /// The text must end with these bytes.
    Suffix(Vec<u8>),
    /// The text must contain these bytes.
    Contains(Vec<u8>),
    /// The text must not contain these bytes.
    NotContains(Vec<u8>),
    /// The whole text must match this regular expression.
    Pattern(String),
    /// The text must have this form.
    Form(WellKnown),
    /// The list must not contain equal items.
    Unique,
    /// The enum has no value with this number.
    DefinedEnumValue(i32),
    /// The enum must not have this value: its name, or the number if the value has no name.
    OtherEnumValue(String),
    /// The `Any` must have one of these type URLs.
    TypeIn(Vec<String>),
    /// The `Any` must not have this type URL.
    OtherType(String),
}

/// A value in a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// A number or a time.
    Number(Number),
    /// A text or bytes.
    Text(Vec<u8>),
}

/// A number of any kind, or a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A duration or a point in time, as in the message.
    Time {
        /// Seconds.
        seconds: i64,
        /// Nanoseconds. The order of times ignores them unless the seconds are equal.
        nanos: i32,
    },
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a.partial_cmp(b),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
            (Number::Int(a), Number::Float(b)) => (*a as f64).partial_cmp(b),
            (Number::Float(a), Number::Int(b)) => a.partial_cmp(&(*b as f64)),
            (Number::Time { seconds: a, nanos: x }, Number::Time { seconds: b, nanos: y }) => {
                (a, x).partial_cmp(&(b, y))
            }
            _ => None,
        }
    }
}

/// A bound of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The limit.
    pub value: Number,
    /// Whether the limit itself is allowed.
    pub is_inclusive: bool,
}

/// A range of numbers or times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower bound, if any.
    pub lower: Option<Bound>,
    /// The upper bound, if any.
    pub upper: Option<Bound>,
}

impl Range {
    /// Whether the upper bound is not above the lower bound: the range then excludes the values
    /// between the bounds.
    pub fn is_reversed(&self) -> bool {
        self.lower
            .zip(self.upper)
            .is_some_and(|(lower, upper)| upper.value.partial_cmp(&lower.value) != Some(Ordering::Greater))
    }

    /// Whether a number lies outside the range. NaN never does.
    pub(super) fn excludes(&self, number: Number) -> bool {
        let is_beyond = |bound: Option<Bound>, side: Ordering| {
            let order = bound.and_then(|bound| Some((number.partial_cmp(&bound.value)?, bound.is_inclusive)));
            order.is_some_and(|(order, is_inclusive)| {
                order == side || (order == Ordering::Equal && !is_inclusive)
            })
        };
        let (below, above) =
            (is_beyond(self.lower, Ordering::Less), is_beyond(self.upper, Ordering::Greater));
        if self.is_reversed() { below && above } else { below || above }
    }
}

/// The unit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Unicode code points of a string.
    Character,
    /// Bytes of a string or bytes value.
    Byte,
    /// Items of a list.
    Item,
    /// Entries of a map.
    Entry,
}

/// A limit of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthLimit {
    /// The only valid length.
    Exactly(u64),
    /// The smallest valid length.
    AtLeast(u64),
    /// The largest valid length.
    AtMost(u64),
}

/// A well-known form of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WellKnown {
    /// An e-mail address.
    Email,
    /// A host name.
    Hostname,
    /// An IPv4 or IPv6 address.
    Ip,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// An absolute URI.
    Uri,
    /// An absolute or relative URI.
    UriRef,
    /// A host name or an IP address.
    Address,
    /// A UUID.
    Uuid,
    /// The name of an HTTP header.
    HeaderName {
        /// Whether only the characters of RFC 7230 are valid, rather than all but NUL, CR and LF.
        strict: bool,
    },
    /// The value of an HTTP header.
    HeaderValue {
        /// Whether control characters are invalid, rather than only NUL, CR and LF.
        strict: bool,
    },
}
