//! Evaluation of rules, with a description of the violated constraint.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::rules::*;

impl Number {
    fn text(self, is_time: bool) -> String {
        match self {
            Number::Int(nanos) if is_time => format!("{}s", nanos as f64 / 1e9),
            Number::Int(number) => number.to_string(),
            Number::Float(number) => number.to_string(),
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Number::Int(0)) || self == Number::Float(0.0)
    }
}

impl NumberRule {
    /// Returns the constraint that a number violates, if any.
    pub(super) fn demand(&self, number: Number) -> Option<String> {
        if self.ignore_empty && number.is_zero() {
            return None;
        }
        let text = |number: Number| number.text(self.is_time);
        let list = |numbers: &[Number]| numbers.iter().map(|n| text(*n)).collect::<Vec<_>>().join(", ");
        if let Some(is) = self.is.filter(|is| *is != number) {
            return Some(format!("must be {}", text(is)));
        }
        if !self.one_of.is_empty() && !self.one_of.contains(&number) {
            return Some(format!("must be one of {}", list(&self.one_of)));
        }
        if self.none_of.contains(&number) {
            return Some(format!("must be none of {}", list(&self.none_of)));
        }
        let reaches = |bound: Bound| bound.is_inclusive && number == bound.value;
        let is_above = self.lower.is_none_or(|lower| number > lower.value || reaches(lower));
        let is_below = self.upper.is_none_or(|upper| number < upper.value || reaches(upper));
        let at_least = |bound: Bound| {
            let word = if bound.is_inclusive { "at least" } else { "greater than" };
            format!("{word} {}", text(bound.value))
        };
        let at_most = |bound: Bound| {
            let word = if bound.is_inclusive { "at most" } else { "less than" };
            format!("{word} {}", text(bound.value))
        };
        match (self.lower, self.upper) {
            // Reversed bounds exclude the range between them.
            (Some(lower), Some(upper)) if upper.value < lower.value => {
                (!is_above && !is_below).then(|| format!("must be {} or {}", at_most(upper), at_least(lower)))
            }
            _ if is_above && is_below => None,
            (Some(lower), Some(upper)) => Some(format!("must be {} and {}", at_least(lower), at_most(upper))),
            (Some(lower), None) => Some(format!("must be {}", at_least(lower))),
            (None, Some(upper)) => Some(format!("must be {}", at_most(upper))),
            (None, None) => None,
        }
    }
}

impl LengthRule {
    /// Returns the constraint that a length violates, if any. `what` is the unit, such as `item` or
    /// `entry`.
    pub(super) fn demand(self, length: u64, what: &str) -> Option<String> {
        let some = |n: u64| match (n, what) {
            (1, _) => format!("1 {what}"),
            (_, "entry") => format!("{n} entries"),
            _ => format!("{n} {what}s"),
        };
        if let Some(is) = self.is.filter(|is| *is != length) {
            return Some(format!("must have {}", some(is)));
        }
        if let Some(min) = self.min.filter(|min| length < *min) {
            return Some(match (min, length) {
                (1, 0) if matches!(what, "character" | "byte") => "must not be empty".to_owned(),
                _ => format!("must have at least {}", some(min)),
            });
        }
        let max = self.max.filter(|max| length > *max)?;
        Some(format!("must have at most {}", some(max)))
    }
}

/// Returns the constraint that a string or bytes value violates, if any.
///
/// The description does not repeat the value, which is untrusted and may be long. `text` is `None`
/// for bytes.
pub(super) fn text_demand(rules: &TextRule, bytes: &[u8], text: Option<&str>) -> Option<String> {
    if rules.ignore_empty && bytes.is_empty() {
        return None;
    }
    if let Some(text) = text
        && let Some(demand) = rules.chars.demand(text.chars().count() as u64, "character")
    {
        return Some(demand);
    }
    if let Some(demand) = rules.bytes.demand(bytes.len() as u64, "byte") {
        return Some(demand);
    }
    let shown = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    let list = |all: &[Vec<u8>]| all.iter().map(|one| shown(one)).collect::<Vec<_>>().join(", ");
    if let Some(is) = rules.is.as_ref().filter(|is| *is != bytes) {
        return Some(format!("must be {}", shown(is)));
    }
    if !rules.one_of.is_empty() && !rules.one_of.iter().any(|one| one == bytes) {
        return Some(format!("must be one of {}", list(&rules.one_of)));
    }
    if rules.none_of.iter().any(|one| one == bytes) {
        return Some(format!("must be none of {}", list(&rules.none_of)));
    }
    if let Some(prefix) = rules.prefix.as_ref().filter(|prefix| !bytes.starts_with(prefix)) {
        return Some(format!("must begin with {}", shown(prefix)));
    }
    if let Some(suffix) = rules.suffix.as_ref().filter(|suffix| !bytes.ends_with(suffix)) {
        return Some(format!("must end with {}", shown(suffix)));
    }
    let has = |part: &[u8]| memchr::memmem::find(bytes, part).is_some();
    if let Some(part) = rules.contains.as_ref().filter(|part| !has(part)) {
        return Some(format!("must contain {}", shown(part)));
    }
    if let Some(part) = rules.not_contains.as_ref().filter(|part| has(part)) {
        return Some(format!("must not contain {}", shown(part)));
    }
    let lossy = String::from_utf8_lossy(bytes);
    let text = text.unwrap_or(&lossy);
    if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
        return Some(format!("must match {:?}", pattern.as_str()));
    }
    let form = rules.well_known?;
    (!form.matches(text, bytes)).then(|| format!("must be {}", form.word()))
}

impl WellKnown {
    fn word(self) -> &'static str {
        match self {
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

    /// Whether a value has this form. Addresses in bytes values are binary.
    fn matches(self, text: &str, bytes: &[u8]) -> bool {
        let ip = |text: &str| text.parse::<IpAddr>().is_ok();
        match self {
            WellKnown::Email => text
                .rsplit_once('@')
                .is_some_and(|(user, host)| !user.is_empty() && user.len() <= 64 && is_host(host)),
            WellKnown::Hostname => is_host(text),
            WellKnown::Ip => ip(text) || matches!(bytes.len(), 4 | 16),
            WellKnown::Ipv4 => text.parse::<Ipv4Addr>().is_ok() || bytes.len() == 4,
            WellKnown::Ipv6 => text.parse::<Ipv6Addr>().is_ok() || bytes.len() == 16,
            WellKnown::Uri => is_uri(text) && has_scheme(text),
            WellKnown::UriRef => is_uri(text),
            WellKnown::Address => ip(text) || is_host(text),
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

fn is_host(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        let inside = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !label.is_empty() && label.len() <= 63 && inside && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
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
