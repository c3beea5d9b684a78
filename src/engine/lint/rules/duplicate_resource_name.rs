//! One response holds a name twice.
//!
//! Why: Which of the two is meant is undefined; clients should refuse the response.
//!
//! Example:
//! ```text
//! > eds names=[foo]
//! < eds v=1 n=a [foo foo]
//! ```
//!
//! Instead: send each name once.
//!
//! Protocol: "Resource names"; rows E-43, F-29, L-21.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "duplicate-resource-name",
    severity: Severity::Error,
    rows: "E-43, F-29, L-21",
    source: include_str!("duplicate_resource_name.rs"),
    on: &[On::Response(check)],
};

use crate::wire::Profile;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names: Vec<_> = names(answer);
    if !names.is_empty() {
        let text = "more than once in one response".to_owned();
        let severity = (case.profile() == Profile::P002).then_some(Severity::Warn);
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, severity, ..Found::default() });
    }
}

/// Names that stand twice; entries without a name are another matter.
fn names(answer: &ResponseContext<'_>) -> Vec<crate::wire::event::Sym> {
    let named = |name: &&crate::wire::event::Sym| crate::engine::session::nameless(**name).is_none();
    answer.outcome.twice.iter().filter(named).copied().collect()
}
