//! Texts on what the admin port of a client says besides its config dump.

use xdscope_engine::admin::{AdminFacts, UpdateCounts};
use xdscope_wire::text::{count, plural};

/// Days before the end of a certificate from which a line names the certificate.
const NEAR_END_DAYS: i64 = 30;

/// Returns `Envoy 1.40.0 is LIVE; no control plane is connected; certificate a.pem expires in 3
/// days`.
pub fn admin_line(facts: &AdminFacts) -> String {
    let version = facts.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let state = facts.state.as_deref().map(|state| format!(" is {state}")).unwrap_or_default();
    let mut parts = vec![format!("{}{version}{state}", facts.product)];
    match facts.is_connected {
        Some(true) => parts.push("a control plane is connected".to_owned()),
        Some(false) => parts.push("no control plane is connected".to_owned()),
        None => {}
    }
    if let Some(first) = facts.certificates.first()
        && first.days_left <= NEAR_END_DAYS
    {
        let end = match first.days_left {
            ..0 => "has expired".to_owned(),
            days => format!("expires in {}", plural(days.unsigned_abs(), "day")),
        };
        parts.push(format!("certificate {} (serial {}) {end}", first.path, first.serial));
    }
    parts.join("; ")
}

/// Returns `12 ok, 1 rejected, 3 failed, 1 timed out`, without what did not happen.
pub fn update_counts(counts: &UpdateCounts) -> String {
    let mut parts = vec![format!("{} ok", count(counts.success))];
    for (number, word) in
        [(counts.rejected, "rejected"), (counts.failure, "failed"), (counts.timeouts, "timed out")]
    {
        if number > 0 {
            parts.push(format!("{} {word}", count(number)));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_engine::admin::AdminCertificate;
    use xdscope_wire::event::Kind;

    #[test]
    fn describes_an_envoy_and_its_updates() {
        let certificate =
            |days_left| AdminCertificate { path: "a.pem".into(), serial: "2a".into(), days_left };
        let line = |certificates| {
            admin_line(&AdminFacts {
                product: "Envoy".into(),
                version: Some("1.40.0".into()),
                state: Some("LIVE".into()),
                is_connected: Some(false),
                certificates,
                ..AdminFacts::default()
            })
        };
        assert_eq!(line(vec![certificate(300)]), "Envoy 1.40.0 is LIVE; no control plane is connected");
        assert!(line(vec![certificate(1)]).ends_with("; certificate a.pem (serial 2a) expires in 1 day"));
        assert!(line(vec![certificate(-1)]).ends_with("(serial 2a) has expired"));
        let counts = UpdateCounts {
            kind: Kind::Cds,
            success: 12,
            rejected: 1,
            failure: 0,
            timeouts: 2,
            version: None,
        };
        assert_eq!(update_counts(&counts), "12 ok, 1 rejected, 2 timed out");
    }
}
