//! A resource of another type than its response.
//!
//! Why: The type URL of the response and those of the resources in it must agree; clients refuse the whole
//! response.
//!
//! Example:
//! ```text
//! > cds
//! < cds v=1 n=a [type:lds L]
//! ```
//!
//! Instead: put each resource into a response of its own type.
//!
//! Protocol: "Resource types"; rows E-28, F-31, G-08.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "type-url-mismatch",
    severity: Severity::Error,
    rows: "E-28, F-31, G-08",
    source: include_str!("type_url_mismatch.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(first) = answer.scan.other_type.first() else { return };
    let catalog = case.catalog();
    let names: Vec<_> =
        answer.scan.other_type.iter().map(|id| crate::engine::session::key(catalog, *id)).collect();
    let inner = catalog.text(catalog.entry(*first).type_url);
    let text = format!("{inner} in a response of {}", answer.track.type_url);
    case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
}
