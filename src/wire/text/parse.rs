//! Numbers with units in filters and flags.

use std::time::Duration;

/// Parses a duration such as `0.2s`, `9m`, `1m29s`, `3h`, `2d`, `15ms` or `100us`.
///
/// The unit is required except for `0`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut sum) = (text, Duration::ZERO);
    loop {
        let (number, after) = split(rest)?;
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let secs = match &after[..end] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(number * secs).ok()?)?;
        rest = &after[end..];
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// Parses a size in bytes such as `80`, `80B`, `1.1k`, `44kB`, `1M` or `4MiB`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let factor = match unit {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * factor).round() as u64)
}

/// Parses a time of day such as `14:02`, `14:02:08` or `14:02:08.155` to nanoseconds since
/// midnight.
pub fn parse_time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, ':');
    let hours: u64 = digits(parts.next()?)?;
    let minutes: u64 = digits(parts.next()?)?;
    let seconds: f64 = match parts.next() {
        None => 0.0,
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => text.parse().ok()?,
        Some(_) => return None,
    };
    (hours < 24 && minutes < 60 && (0.0..60.0).contains(&seconds))
        .then(|| (hours * 3600 + minutes * 60) * 1_000_000_000 + (seconds * 1e9).round() as u64)
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())?
}

/// Splits a text into a nonnegative number and the rest.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}
