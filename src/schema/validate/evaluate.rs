//! Evaluation of rules as Envoy evaluates them: as the C++ code of protoc-gen-validate does.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::demand::{Demand, LengthLimit, Number, Scalar, Unit, WellKnown};
use super::rules::*;

/// Largest `seconds` of a `Duration` that Envoy accepts: the nanoseconds must fit in 64 bits.
const MAX_DURATION_SECONDS: i64 = 9_223_372_035;

/// Largest valid `nanos` of a `Duration`.
const MAX_DURATION_NANOS: i32 = 999_999_999;

impl Number {
    fn is_zero(self) -> bool {
        matches!(self, Number::Int(0)) || self == Number::Float(0.0)
    }

    /// Whether Envoy accepts a duration in any field: a time that is not negative and not too long.
    pub(super) fn is_valid_duration(self) -> bool {
        match self {
            Number::Time { seconds, nanos } => {
                (0..=MAX_DURATION_SECONDS).contains(&seconds) && (0..=MAX_DURATION_NANOS).contains(&nanos)
            }
            Number::Int(_) | Number::Float(_) => false,
        }
    }
}

impl NumberRule {
    /// Returns the constraint that a number violates, if any.
    pub(super) fn demand(&self, number: Number) -> Option<Demand> {
        if self.ignore_empty && number.is_zero() {
            return None;
        }
        let list = |numbers: &[Number]| numbers.iter().copied().map(Scalar::Number).collect();
        if let Some(is) = self.is.filter(|is| *is != number) {
            Some(Demand::Equal(Scalar::Number(is)))
        } else if !self.one_of.is_empty() && !self.one_of.contains(&number) {
            Some(Demand::In(list(&self.one_of)))
        } else if self.none_of.contains(&number) {
            Some(Demand::NotIn(list(&self.none_of)))
        } else {
            self.range.excludes(number).then_some(Demand::Range(self.range))
        }
    }
}

impl LengthRule {
    /// Returns the constraint that a length violates, if any.
    pub(super) fn demand(self, length: u64, unit: Unit) -> Option<Demand> {
        let exactly = self.is.filter(|is| *is != length).map(LengthLimit::Exactly);
        let at_least = self.min.filter(|min| length < *min).map(LengthLimit::AtLeast);
        let at_most = self.max.filter(|max| length > *max).map(LengthLimit::AtMost);
        exactly.or(at_least).or(at_most).map(|limit| Demand::Length { unit, limit })
    }
}

impl TextRule {
    /// Returns the constraint that a string or bytes value violates, if any.
    ///
    /// `text` is `None` for bytes.
    pub(super) fn demand(&self, bytes: &[u8], text: Option<&str>) -> Option<Demand> {
        if self.ignore_empty && bytes.is_empty() {
            return None;
        }
        let scalars = |all: &[Vec<u8>]| all.iter().cloned().map(Scalar::Text).collect();
        if let Some(is) = self.is.as_ref().filter(|is| *is != bytes) {
            return Some(Demand::Equal(Scalar::Text(is.clone())));
        }
        if !self.one_of.is_empty() && !self.one_of.iter().any(|one| one == bytes) {
            return Some(Demand::In(scalars(&self.one_of)));
        }
        if self.none_of.iter().any(|one| one == bytes) {
            return Some(Demand::NotIn(scalars(&self.none_of)));
        }
        let chars = text.and_then(|text| self.chars.demand(text.chars().count() as u64, Unit::Character));
        chars
            .or_else(|| self.bytes.demand(bytes.len() as u64, Unit::Byte))
            .or_else(|| self.part_demand(bytes))
            .or_else(|| self.form_demand(bytes, text))
    }

    fn part_demand(&self, bytes: &[u8]) -> Option<Demand> {
        let has = |part: &[u8]| memchr::memmem::find(bytes, part).is_some();
        if let Some(prefix) = self.prefix.as_ref().filter(|prefix| !bytes.starts_with(prefix)) {
            return Some(Demand::Prefix(prefix.clone()));
        }
        if let Some(suffix) = self.suffix.as_ref().filter(|suffix| !bytes.ends_with(suffix)) {
            return Some(Demand::Suffix(suffix.clone()));
        }
        if let Some(part) = self.contains.as_ref().filter(|part| !has(part)) {
            return Some(Demand::Contains(part.clone()));
        }
        let part = self.not_contains.as_ref().filter(|part| has(part))?;
        Some(Demand::NotContains(part.clone()))
    }

    fn form_demand(&self, bytes: &[u8], text: Option<&str>) -> Option<Demand> {
        let is_binary = text.is_none();
        let lossy = String::from_utf8_lossy(bytes);
        let text = text.unwrap_or(&lossy);
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            return Some(Demand::Pattern(pattern.stated.clone()));
        }
        let form = self.well_known?;
        let is_binary_address = is_binary && form.is_binary_address(bytes);
        (!is_binary_address && !form.matches(text)).then_some(Demand::Form(form))
    }
}

impl WellKnown {
    /// Whether bytes are an address of this form, in binary.
    fn is_binary_address(self, bytes: &[u8]) -> bool {
        match self {
            WellKnown::Ip => matches!(bytes.len(), 4 | 16),
            WellKnown::Ipv4 => bytes.len() == 4,
            WellKnown::Ipv6 => bytes.len() == 16,
            _ => false,
        }
    }

    /// Whether a text has this form.
    fn matches(self, text: &str) -> bool {
        // Envoy reads addresses as C strings, which end at NUL.
        let address = text.split('\0').next().unwrap_or_default();
        let is_ip = || address.parse::<IpAddr>().is_ok();
        match self {
            WellKnown::Email => text
                .rsplit_once('@')
                .is_some_and(|(user, host)| !user.is_empty() && user.len() <= 64 && is_host(host)),
            WellKnown::Hostname => is_host(text),
            WellKnown::Ip => is_ip(),
            WellKnown::Ipv4 => address.parse::<Ipv4Addr>().is_ok(),
            WellKnown::Ipv6 => address.parse::<Ipv6Addr>().is_ok(),
            WellKnown::Uri => is_uri(text) && has_scheme(text),
            WellKnown::UriRef => is_uri(text),
            WellKnown::Address => is_ip() || is_host(text),
            WellKnown::Uuid => is_uuid(text),
            WellKnown::HeaderName { strict: true } => {
                let name = text.strip_prefix(':').unwrap_or(text);
                !name.is_empty() && name.bytes().all(is_token)
            }
            WellKnown::HeaderValue { strict: true } => {
                text.bytes().all(|byte| byte == b'\t' || !(byte < b' ' || byte == 0x7f))
            }
            // Both patterns are `^[^\x00\n\r]*$`, which matches the empty string.
            WellKnown::HeaderName { strict: false } | WellKnown::HeaderValue { strict: false } => {
                is_line(text)
            }
        }
    }
}

/// Whether a text has neither NUL nor line breaks.
fn is_line(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

/// Whether a byte may occur in a header name.
///
/// Accepts the comma, because the API's pattern contains the range `+-.`.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+,-.^_|~`".contains(&byte)
}

/// Whether a text is a host name of at most 253 bytes, with or without a dot at its end.
fn is_host(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        let inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !label.is_empty() && label.len() <= 63 && inside && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && name.split('.').all(label)
}

fn is_uri(text: &str) -> bool {
    !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f)
}

fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        let inside = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        inside && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
    })
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, length)| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
