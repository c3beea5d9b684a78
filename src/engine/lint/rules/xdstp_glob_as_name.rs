//! A resource is delivered under the name of a glob.
//!
//! Why: A glob stands for its members; a resource has a name of its own.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! < n=1 ["xdstp://a/T/x/*"@1]
//! ```
//!
//! Instead: send the members under their names.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-glob-as-name",
    severity: Severity::Error,
    rows: "K-06",
    source: include_str!("xdstp_glob_as_name.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    let globs = answer.scan.structured.iter().filter(|id| {
        let entry = catalog.entry(**id);
        let locator = catalog.text(entry.type_url) == super::super::scan::LOCATOR;
        crate::engine::session::is_glob(catalog.text(entry.name)) && entry.payload.is_some() && !locator
    });
    let names: Vec<_> = globs.map(|id| catalog.entry(*id).name).collect();
    if !names.is_empty() {
        let text = "a glob is no name of a resource".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
