//! A delta resource with content and without a version.
//!
//! Why: Delta goes by the version of each resource. Without one the client can't say after a reconnect what it
//! has, and gets it again.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a]
//! ```
//!
//! Instead: give each resource a version; a hash of its content will do.
//!
//! Protocol: "Incremental xDS"; row F-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-version-empty",
    severity: Severity::Warn,
    rows: "F-02",
    source: include_str!("delta_version_empty.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = &answer.scan.unversioned;
    if !names.is_empty() {
        let text = "content without a version".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names, ..Found::default() });
    }
}
