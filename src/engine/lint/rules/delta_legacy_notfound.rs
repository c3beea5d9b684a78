//! "No such resource" in the form of an older edition: a resource without content.
//!
//! Why: Since heartbeats exist, a resource without content may be one. What does not exist is named in
//! `removed_resources`.
//!
//! Example:
//! ```text
//! > sub=[s]
//! < n=2 [s unset]
//! ```
//!
//! Instead: name the resource in `removed_resources`.
//!
//! Protocol: "Deleting resources"; rows G-11, L-12.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-legacy-notfound",
    severity: Severity::Warn,
    rows: "G-11, L-12",
    source: include_str!("delta_legacy_notfound.rs"),
    on: &[On::Response(check)],
};

use crate::engine::session::Hollow;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = super::hollow(answer, Hollow::NotFound);
    if !names.is_empty() {
        let text = "entry without content: not found in the old form".to_owned();
        let severity = None;
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, severity, ..Found::default() });
    }
}
