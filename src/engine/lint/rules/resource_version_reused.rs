//! A resource changed, and its version did not.
//!
//! Why: A version names one content. A client that has the version believes that it has the content. For
//! structured names this is a hard rule, else a warning.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1]
//! > n=1
//! < n=2 [a~2@1]
//! ```
//!
//! Instead: derive the version from the content, or count it up with each change.
//!
//! Protocol: "Incremental xDS"; rows F-35, K-16.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "resource-version-reused",
    severity: Severity::Error,
    rows: "F-35, K-16",
    source: include_str!("resource_version_reused.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let wrapped =
        |name: &&crate::wire::event::Sym| answer.view.is_delta || answer.scan.wrapped.contains(*name);
    let names: Vec<_> = answer.outcome.rewritten.iter().filter(wrapped).copied().collect();
    let Some(first) = names.first() else { return };
    let structured = case.text(*first).starts_with("xdstp:");
    let severity = (!structured).then_some(Severity::Warn);
    let text = "content changed, the version of the resource did not".to_owned();
    let (blame, names) = (Blame::Server, names.as_slice());
    case.raise(&RULE, Found { blame, text, names, severity, ..Found::default() });
}
