//! A client comes back and does not say which version it has.
//!
//! Why: The first request of a later stream carries the newest version that the client has seen, so that the
//! server need not send it again. A client that was restarted, or that follows the oldest edition of the
//! protocol, starts with none.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo]
//! < v=X n=A [foo]
//! > v=X n=A names=[foo]
//! 1 close
//! stream 2 sotw eds
//! > names=[foo]
//! ```
//!
//! Instead: keep the version of each type per server, and send it with the first request after a reconnect.
//!
//! Protocol: "Resource versions"; rows E-02, L-03.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "reconnect-version-dropped",
    severity: Severity::Info,
    rows: "E-02, L-03",
    source: include_str!("reconnect_version_dropped.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let Some(request) = asking.sotw().filter(|_| asking.outcome.first && case.is_grpc()) else { return };
    if !request.version_info.is_empty() {
        return;
    }
    let Some(known) = case.prior(&asking.track.type_url).and_then(|before| before.verdicts.in_force.as_ref())
    else {
        return;
    };
    if !known.version.is_empty() {
        let text = format!("reconnected without a version; {} was acknowledged before", known.version);
        let evidence = [known.n];
        case.raise(&RULE, Found { text, evidence: &evidence, guess: true, ..Found::default() });
    }
}
