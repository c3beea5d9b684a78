use std::time::Duration;

use super::display_safe;
use crate::event::{ApiVersion, Kind};

/// Formats an age or a duration in up to two units, rounded down: `0.2s 41s 9m12s 2h05m 3d4h`.
///
/// The second unit is left out if it is 0: `9m`, `2h`, `3d`.
pub fn age(age: Duration) -> String {
    let secs = age.as_secs();
    let (minutes, hours, days) = (secs / 60, secs / 3600, secs / 86400);
    let (first, rest) = match secs {
        0 => return format!("0.{}s", age.subsec_millis() / 100),
        1..60 => return format!("{secs}s"),
        60..3600 => (format!("{minutes}m"), format!("{:02}s", secs % 60)),
        3600..86400 => (format!("{hours}h"), format!("{:02}m", minutes % 60)),
        _ => (format!("{days}d"), format!("{}h", hours % 24)),
    };
    if rest.starts_with("00") || rest == "0h" { first } else { format!("{first}{rest}") }
}

/// Formats an age in one unit, rounded down, for narrow cells: `0.2s 41s 9m 3h 2d`.
pub fn short_age(time: Duration) -> String {
    let secs = time.as_secs();
    let unit = match secs {
        0..60 => 1,
        60..3600 => 60,
        3600..86400 => 3600,
        _ => 86400,
    };
    if secs < 60 { age(time) } else { age(Duration::from_secs(secs / unit * unit)) }
}

/// Formats the time between two messages: `0.3ms 19ms 1.2s 51s 9m12s`.
pub fn latency(time: Duration) -> String {
    let micros = time.as_micros();
    let tenths = (micros + 50_000) / 100_000;
    match micros {
        0..1_000 => format!("0.{}ms", micros / 100),
        1_000..1_000_000 => format!("{}ms", micros / 1000),
        _ if tenths < 600 => format!("{}.{}s", tenths / 10, tenths % 10),
        _ => age(time),
    }
}

/// Formats a regular interval, rounded to what matters: `250ms`, `1.2s`, `300s`, `30m`, `30m15s`.
///
/// Settings of up to ten minutes are usually written in seconds.
pub fn period(time: Duration) -> String {
    let secs = time.as_secs_f64().round() as u64;
    match secs {
        0..10 => latency(time),
        10..=600 => format!("{secs}s"),
        _ => age(Duration::from_secs(secs)),
    }
}

/// Formats a number of bytes in units of 1000: `80 B`, `1.1 kB`, `312 kB`, `12.4 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut tenths = round_div(u128::from(bytes), 100);
    let mut unit = 0;
    while tenths >= 10_000 - 5 && unit + 1 < UNITS.len() {
        unit += 1;
        tenths = round_div(u128::from(bytes), 100 * 1000u128.pow(unit as u32));
    }
    // kB have a decimal only below 10, larger units below 100.
    let decimal_below = if unit == 0 { 100 } else { 1000 };
    let name = UNITS[unit];
    if tenths < decimal_below {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    } else {
        format!("{} {name}", round_div(tenths, 10))
    }
}

fn round_div(value: u128, by: u128) -> u128 {
    (value + by / 2) / by
}

/// Formats a count with separators: `1,204`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a count with its noun: `1 name`, `2 names`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Returns the short name of a type on screen: `CDS`, `CDS v2`.
///
/// For other types, the last part of the message name, escaped for a terminal; `-` for an empty
/// type URL.
pub fn type_label(type_url: &str) -> String {
    match Kind::of_type_url(type_url) {
        Some((kind, ApiVersion::V3)) => kind.label().to_owned(),
        Some((kind, ApiVersion::V2)) => format!("{} v2", kind.label()),
        None if type_url.is_empty() => "-".to_owned(),
        None => {
            let last = type_url.rsplit(['.', '/']).next().filter(|last| !last.is_empty());
            display_safe(last.unwrap_or(type_url)).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_periods() {
        let shown = |millis| period(Duration::from_millis(millis));
        assert_eq!(shown(251), "251ms");
        assert_eq!(shown(1_240), "1.2s");
        assert_eq!(shown(300_020), "300s");
        assert_eq!(shown(1_800_100), "30m");
        assert_eq!(shown(1_815_000), "30m15s");
        assert_eq!(shown(7_500_400), "2h05m");
    }

    #[test]
    fn ages() {
        for (ms, text) in [
            (0, "0.0s"),
            (250, "0.2s"),
            (999, "0.9s"),
            (41_900, "41s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (4 * 60_000 + 12_000, "4m12s"),
            (9 * 60_000 + 5_999, "9m05s"),
            (3 * 3_600_000 + 59_000, "3h"),
            (2 * 3_600_000 + 5 * 60_000, "2h05m"),
            (48 * 3_600_000, "2d"),
            (76 * 3_600_000 + 59 * 60_000, "3d4h"),
        ] {
            assert_eq!(age(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn short_ages() {
        for (secs, text) in [(41, "41s"), (252, "4m"), (7_500, "2h"), (273_600, "3d")] {
            assert_eq!(short_age(Duration::from_secs(secs)), text);
        }
        assert_eq!(short_age(Duration::from_millis(250)), "0.2s");
    }

    #[test]
    fn latencies() {
        for (us, text) in [
            (340, "0.3ms"),
            (19_900, "19ms"),
            (1_249_999, "1.2s"),
            (13_577_000, "13.6s"),
            (120_000_000, "2m"),
        ] {
            assert_eq!(latency(Duration::from_micros(us)), text);
        }
    }

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (1_149, "1.1 kB"),
            (9_949, "9.9 kB"),
            (9_960, "10 kB"),
            (312_000, "312 kB"),
            (999_600, "1.0 MB"),
            (12_400_000, "12.4 MB"),
            (41_200_000, "41.2 MB"),
            (512_000_000, "512 MB"),
            (1_000_000_000, "1.0 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts() {
        for (n, text) in [(0, "0"), (999, "999"), (1_204, "1,204"), (1_000_000, "1,000,000")] {
            assert_eq!(count(n), text);
        }
        assert_eq!(plural(1, "name"), "1 name");
        assert_eq!(plural(1200, "name"), "1,200 names");
    }

    #[test]
    fn types() {
        assert_eq!(type_label("type.googleapis.com/envoy.config.cluster.v3.Cluster"), "CDS");
        assert_eq!(type_label("type.googleapis.com/envoy.api.v2.Cluster"), "CDS v2");
        assert_eq!(type_label("type.googleapis.com/istio.workload.Address"), "Address");
        assert_eq!(type_label(""), "-");
    }
}
