//! Sentences about the expiry of certificates.

use std::time::Duration;

use super::Role;
use xdscope_wire::{Certificate, date};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// Time before the expiry from which a certificate is marked.
const SOON: i64 = 7 * DAY as i64;

/// Returns `expires in 61 d`, `expired 3 h ago`, or the date if the time is unknown.
///
/// `now` is in seconds of Unix time.
pub fn expiry(certificate: &Certificate, now: Option<i64>) -> (String, Role) {
    let Some(now) = now else {
        return (format!("expires on {}", date(certificate.not_after)), Role::Muted);
    };
    let left = certificate.not_after.saturating_sub(now);
    let span = days(Duration::from_secs(left.unsigned_abs()));
    match left {
        ..0 => (format!("expired {span} ago"), Role::Bad),
        0..SOON => (format!("expires in {span}"), Role::Warn),
        _ => (format!("expires in {span}"), Role::Muted),
    }
}

/// Returns `certificate edge.test expires in 61 d, on 2027-01-01T00:00:00Z`.
pub fn certificate_expiry(certificate: &Certificate, now: Option<i64>) -> (String, Role) {
    let (text, role) = expiry(certificate, now);
    let on = if now.is_some() { format!(", on {}", date(certificate.not_after)) } else { String::new() };
    (format!("certificate {} {text}{on}", certificate.name()), role)
}

/// Formats a time of hours to years: `40 min`, `23 h`, `61 d`.
fn days(time: Duration) -> String {
    match time.as_secs() {
        secs @ ..HOUR => format!("{} min", secs / 60),
        secs @ HOUR..DAY => format!("{} h", secs / HOUR),
        secs => format!("{} d", secs / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_time_that_is_left() {
        let day = 86_400;
        let certificate = Certificate {
            names: vec!["edge.test".into()],
            not_after: 1_800_000_000,
            ..Certificate::default()
        };
        let at = |left: i64| expiry(&certificate, Some(certificate.not_after - left));
        assert_eq!(at(61 * day + 5), ("expires in 61 d".to_owned(), Role::Muted));
        assert_eq!(at(7 * day - 1), ("expires in 6 d".to_owned(), Role::Warn));
        assert_eq!(at(86_399).0, "expires in 23 h");
        assert_eq!(at(90).0, "expires in 1 min");
        assert_eq!(at(-3 * 3600), ("expired 3 h ago".to_owned(), Role::Bad));
        assert_eq!(at(i64::MIN / 2).1, Role::Bad);
        assert_eq!(
            certificate_expiry(&certificate, Some(certificate.not_after - day)).0,
            "certificate edge.test expires in 1 d, on 2027-01-15T08:00:00Z"
        );
        let undated = certificate_expiry(&certificate, None).0;
        assert_eq!(undated, "certificate edge.test expires on 2027-01-15T08:00:00Z");
    }
}
