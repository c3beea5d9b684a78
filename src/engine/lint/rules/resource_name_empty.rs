//! A resource without a name.
//!
//! Why: Resources are held, updated and removed by their names. One without can be neither asked for nor
//! replaced.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [""]
//! ```
//!
//! Instead: give each resource its name: the field `name` of the resource (`cluster_name` in EDS), in delta
//! also `Resource.name`.
//!
//! Protocol: "Resource names"; rows A-18, F-31.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "resource-name-empty",
    severity: Severity::Error,
    rows: "A-18, F-31",
    source: include_str!("resource_name_empty.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let count = answer.scan.nameless.len();
    if count > 0 {
        let text = format!("{count} of {} resources have no name", answer.view.resources.len());
        case.raise(&RULE, Found { blame: Blame::Server, text, ..Found::default() });
    }
}
