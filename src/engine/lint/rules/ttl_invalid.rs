//! A time to live that is zero, negative, or beyond all measure.
//!
//! Why: What a client does with it is not defined: at once gone, never, or refused.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=0s]
//! ```
//!
//! Instead: leave `ttl` unset for a resource that stays.
//!
//! Protocol: "TTL"; row G-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ttl-invalid",
    severity: Severity::Warn,
    rows: "G-02",
    source: include_str!("ttl_invalid.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    let invalid = |ttl: i64| ttl <= 0 || ttl == i64::MAX;
    let odd = answer.scan.ttl.iter().filter(|id| catalog.entry(**id).ttl.is_some_and(invalid));
    let names: Vec<_> = odd.map(|id| crate::engine::session::key(catalog, *id)).collect();
    if !names.is_empty() {
        let text = "time to live that is zero, negative or out of range".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
