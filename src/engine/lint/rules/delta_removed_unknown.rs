//! A name is removed that the client neither has nor asked for.
//!
//! Why: Harmless; clients ignore it. It may show that the server mixes up its clients.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1] rm=[never]
//! ```
//!
//! Instead: nothing.
//!
//! Protocol: "Deleting resources"; row F-27.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-removed-unknown",
    severity: Severity::Info,
    rows: "F-27",
    source: include_str!("delta_removed_unknown.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let strangers = answer.outcome.strangers.iter().copied();
    let names: Vec<_> = strangers.filter(|name| !case.memo.let_go.contains_key(name)).collect();
    if !names.is_empty() && case.is_certain() && answer.track.traffic.requests > 0 {
        let text = "removed, though the client neither had it nor asked for it".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
