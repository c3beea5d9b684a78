//! A delta resource has a payload but no version.
//!
//! Why: Delta tracks each resource by version. Without a version the client cannot state after a
//! reconnect what it holds, and receives the resource again.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a]
//! ```
//!
//! Advice: Give each resource a version, for example a hash of its content.
//!
//! Reference: API reference, `Resource.version`.

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "delta-version-empty", "F-02", include_str!("delta_version_empty.rs"))
        .ends(Ending::Content);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = &response.scan.unversioned;
    if !names.is_empty() {
        let text = "payload without a version".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, names));
    }
}
