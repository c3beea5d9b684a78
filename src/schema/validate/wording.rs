//! Phrases for broken constraints.

use std::fmt::{self, Display, Formatter};

use super::demand::{Bound, Demand, LengthLimit, Number, Range, Scalar, Unit, WellKnown};

/// Maximum number of violations in a text.
const MAX_LISTED_VIOLATIONS: usize = 8;

/// Lists the first 8 violations of a resource in one line, and counts the others.
pub fn list_violations<T: Display>(violations: &[T]) -> String {
    let listed = violations.iter().take(MAX_LISTED_VIOLATIONS);
    let mut text = listed.map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if violations.len() > MAX_LISTED_VIOLATIONS {
        text.push_str(&format!("; and {} more", violations.len() - MAX_LISTED_VIOLATIONS));
    }
    text
}

impl Display for Demand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Demand::Set => f.write_str("must be set"),
            Demand::OneOfSet(members) => match members.as_slice() {
                [one] => write!(f, "must be set: {one}"),
                _ => write!(f, "must be set: one of {}", members.join(", ")),
            },
            Demand::Equal(value) => write!(f, "must be {value}"),
            Demand::In(values) => write!(f, "must be one of {}", list(values)),
            Demand::NotIn(values) => write!(f, "must be none of {}", list(values)),
            Demand::Range(range) => write!(f, "must be {range}"),
            Demand::ValidDuration => f.write_str("must be a duration from 0s to 9223372035s"),
            Demand::Length { unit: Unit::Character | Unit::Byte, limit: LengthLimit::AtLeast(1) } => {
                f.write_str("must not be empty")
            }
            Demand::Length { unit, limit } => length(f, *unit, *limit),
            Demand::Prefix(text) => write!(f, "must begin with {}", quoted(text)),
            Demand::Suffix(text) => write!(f, "must end with {}", quoted(text)),
            Demand::Contains(text) => write!(f, "must contain {}", quoted(text)),
            Demand::NotContains(text) => write!(f, "must not contain {}", quoted(text)),
            Demand::Pattern(pattern) => write!(f, "must match {pattern:?}"),
            Demand::Form(form) => write!(f, "must be {}", form_name(*form)),
            Demand::Unique => f.write_str("must not contain duplicate items"),
            Demand::DefinedEnumValue(number) => write!(f, "must be a defined value, not {number}"),
            Demand::OtherEnumValue(name) => write!(f, "must not be {name}"),
            Demand::TypeIn(urls) => write!(f, "must be of type {}", urls.join(" or ")),
            Demand::OtherType(url) => write!(f, "must not be of type {url}"),
        }
    }
}

fn quoted(text: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(text))
}

fn list(values: &[Scalar]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn length(f: &mut Formatter<'_>, unit: Unit, limit: LengthLimit) -> fmt::Result {
    let (words, n) = match limit {
        LengthLimit::Exactly(n) => ("", n),
        LengthLimit::AtLeast(n) => ("at least ", n),
        LengthLimit::AtMost(n) => ("at most ", n),
    };
    let (one, many) = match unit {
        Unit::Character => ("character", "characters"),
        Unit::Byte => ("byte", "bytes"),
        Unit::Item => ("item", "items"),
        Unit::Entry => ("entry", "entries"),
    };
    write!(f, "must have {words}{n} {}", if n == 1 { one } else { many })
}

fn form_name(form: WellKnown) -> &'static str {
    match form {
        WellKnown::Email => "an e-mail address",
        WellKnown::Hostname => "a host name",
        WellKnown::Ip => "an IP address",
        WellKnown::Ipv4 => "an IPv4 address",
        WellKnown::Ipv6 => "an IPv6 address",
        WellKnown::Uri => "an absolute URI",
        WellKnown::UriRef => "a URI",
        WellKnown::Address => "a host name or an IP address",
        WellKnown::Uuid => "a UUID",
        WellKnown::HeaderName { .. } => "a header name",
        WellKnown::HeaderValue { .. } => "a header value",
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(number) => number.fmt(f),
            Number::Float(number) => number.fmt(f),
            Number::Time { seconds, nanos } => {
                write!(f, "{}s", *seconds as f64 + f64::from(*nanos) / 1e9)
            }
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at_least = |bound: Bound| {
            format!("{} {}", if bound.is_inclusive { "at least" } else { "greater than" }, bound.value)
        };
        let at_most = |bound: Bound| {
            format!("{} {}", if bound.is_inclusive { "at most" } else { "less than" }, bound.value)
        };
        match (self.lower.map(at_least), self.upper.map(at_most)) {
            (Some(lower), Some(upper)) if self.is_reversed() => write!(f, "{upper} or {lower}"),
            (Some(lower), Some(upper)) => write!(f, "{lower} and {upper}"),
            (Some(bound), None) | (None, Some(bound)) => f.write_str(&bound),
            (None, None) => f.write_str("any number"),
        }
    }
}
