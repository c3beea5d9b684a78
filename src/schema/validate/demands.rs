//! What a rule demands, in words, where a value does not keep it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::rules::*;

impl Number {
    fn text(self, time: bool) -> String {
        match self {
            Number::Int(nanos) if time => format!("{}s", nanos as f64 / 1e9),
            Number::Int(number) => number.to_string(),
            Number::Float(number) => number.to_string(),
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Number::Int(0)) || self == Number::Float(0.0)
    }
}

impl NumberRule {
    /// What the number fails; `None` where it keeps all.
    pub(super) fn demand(&self, number: Number) -> Option<String> {
        if self.ignore_empty && number.is_zero() {
            return None;
        }
        let text = |number: Number| number.text(self.time);
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
        let above = self.above.map(|(bound, reached)| number > bound || (reached && number == bound));
        let below = self.below.map(|(bound, reached)| number < bound || (reached && number == bound));
        let over = |(bound, reached): (Number, bool)| {
            format!("{} {}", if reached { "at least" } else { "greater than" }, text(bound))
        };
        let under = |(bound, reached): (Number, bool)| {
            format!("{} {}", if reached { "at most" } else { "less than" }, text(bound))
        };
        match (self.above.zip(above), self.below.zip(below)) {
            // Bounds the wrong way round mean what is outside of them.
            (Some((a, above)), Some((b, below))) if b.0 < a.0 => {
                (!above && !below).then(|| format!("must be {} or {}", under(b), over(a)))
            }
            (Some((a, false)), Some((b, _))) | (Some((a, _)), Some((b, false))) => {
                Some(format!("must be {} and {}", over(a), under(b)))
            }
            (Some((a, false)), _) => Some(format!("must be {}", over(a))),
            (_, Some((b, false))) => Some(format!("must be {}", under(b))),
            _ => None,
        }
    }
}

impl LengthRule {
    /// What a length of so many (`item`s, `entry`s) fails.
    pub(super) fn demand(self, length: u64, what: &str) -> Option<String> {
        let some = |n: u64| match (n, what) {
            (1, _) => format!("1 {what}"),
            (_, "entry") => format!("{n} entries"),
            _ => format!("{n} {what}s"),
        };
        if let Some(is) = self.is.filter(|is| *is != length) {
            return Some(format!("must have {}", some(is)));
        }
        if let Some(least) = self.least.filter(|least| length < *least) {
            return Some(match (least, length) {
                (1, 0) if matches!(what, "character" | "byte") => "must not be empty".to_owned(),
                _ => format!("must have at least {}", some(least)),
            });
        }
        let most = self.most.filter(|most| length > *most)?;
        Some(format!("must have at most {}", some(most)))
    }
}

/// What of the rules a text, or bytes, fails. Values are not repeated: they are hostile, and may be long.
pub(super) fn demand(rules: &TextRule, bytes: &[u8], text: Option<&str>) -> Option<String> {
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
    (!form.is(text, bytes)).then(|| format!("must be {}", form.word()))
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

    /// Of bytes, addresses are in their binary form.
    fn is(self, text: &str, bytes: &[u8]) -> bool {
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

/// Neither NUL nor an end of line.
fn is_line(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
}

/// What header names are made of. The API's own pattern has a range (`+-.`) that takes in the comma.
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
