//! A heartbeat with a version that was not the last one sent.
//!
//! Why: A heartbeat has no content and the version of the last one sent; with another version nobody knows what
//! it prolongs, and the time runs on.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=10s]
//! < n=2 [r@2 unset ttl=10s]
//! ```
//!
//! Instead: send heartbeats with the version of the resource, updates with content.
//!
//! Protocol: "TTL"; rows G-11, G-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ttl-heartbeat-version",
    severity: Severity::Warn,
    rows: "G-11, G-06",
    source: include_str!("ttl_heartbeat_version.rs"),
    on: &[On::Response(check)],
};

use crate::engine::session::Hollow;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = super::hollow(answer, Hollow::OtherVersion);
    if !names.is_empty() {
        let text = "heartbeat with a version that was not the last one sent".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
