//! A NACK whose version equals that of the response: older servers take it for an ACK.
//!
//! Why: Some servers compare version and nonce instead of looking for `error_detail`. It is legal where a newly
//! named resource at an unchanged version was bad.
//!
//! Example:
//! ```text
//! > eds v=1 n=1 names=[A B]
//! < eds v=1 n=2 [B]
//! > eds v=1 n=2 names=[A B] nack="B is invalid"
//! ```
//!
//! Instead: make sure that the server goes by `error_detail`.
//!
//! Protocol: "ACK/NACK and resource type instance version"; rows L-08, E-23.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "old-server-misreads-nack",
    severity: Severity::Info,
    rows: "L-08, E-23",
    source: include_str!("old_server_misreads_nack.rs"),
    on: &[On::Request(check)],
};

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    if let Some(version) = super::nack_version_refused::claims_refused(asking) {
        let text =
            format!("NACK of {version} at version {version}: a server that compares versions sees an ACK");
        let evidence: Vec<_> = asking.outcome.answers.into_iter().collect();
        case.raise(&RULE, Found { blame: Blame::Both, text, evidence: &evidence, ..Found::default() });
    }
}
