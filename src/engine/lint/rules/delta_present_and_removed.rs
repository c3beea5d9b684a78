//! One response sends a resource and removes it.
//!
//! Why: Which of the two holds is undefined.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1] rm=[a]
//! ```
//!
//! Instead: send one of them.
//!
//! Protocol: "Deleting resources"; row F-29.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-present-and-removed",
    severity: Severity::Error,
    rows: "F-29",
    source: include_str!("delta_present_and_removed.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.view.removed.is_empty() || answer.view.resources.is_empty() {
        return;
    }
    let (track, catalog) = (answer.track, case.catalog());
    let gone: crate::engine::session::SymSet =
        answer.view.removed.iter().map(|name| track.canonical(catalog, *name)).collect();
    let names = answer.view.resources.blobs().iter().map(|id| crate::engine::session::key(catalog, *id));
    let names: Vec<_> = names.filter(|name| gone.contains(name)).collect();
    if !names.is_empty() {
        let text = "among the resources and among removed_resources".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
