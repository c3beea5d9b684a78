//! A resource changed, but its version did not.
//!
//! Why: A version identifies one content. A client that has the version assumes that it has the
//! content. For structured names this is an error, for others a warning.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1]
//! > n=1
//! < n=2 [a~2@1]
//! ```
//!
//! Advice: Derive the version from the content, or increment it with each change.
//!
//! Reference: API reference, `Resource.version`.

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Error,
    "resource-version-reused",
    "F-35, K-16",
    include_str!("resource_version_reused.rs"),
);

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let wrapped =
        |name: &&crate::wire::event::Sym| response.view.is_delta || response.scan.wrapped.contains(*name);
    let names: Vec<_> = response.outcome.rewritten.iter().filter(wrapped).copied().collect();
    let Some(first) = names.first() else { return };
    let structured = ctx.text(*first).starts_with("xdstp:");
    let severity = (!structured).then_some(Severity::Warn);
    let text = "content changed, but the version of the resource did not".to_owned();
    let (blame, names) = (Blame::Server, names.as_slice());
    ctx.report(&RULE, FindingDraft { blame, text, names, severity, ..FindingDraft::default() });
}
