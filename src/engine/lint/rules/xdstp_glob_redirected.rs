//! A redirect under the name of a glob.
//!
//! Why: Lists and members may be redirected, a glob can't: it is no resource.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*"]
//! < n=1 ["xdstp://a/T/x/*"=>"xdstp://b/T/y"@1]
//! ```
//!
//! Instead: redirect the members.
//!
//! Protocol: "xDS transport: redirects (TP1)"; row K-28.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-glob-redirected",
    severity: Severity::Error,
    rows: "K-28",
    source: include_str!("xdstp_glob_redirected.rs"),
    on: &[On::Response(check)],
};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    let globs = answer.scan.structured.iter().filter(|id| {
        let entry = catalog.entry(**id);
        let locator = catalog.text(entry.type_url) == super::super::scan::LOCATOR;
        locator && crate::engine::session::is_glob(catalog.text(entry.name))
    });
    let names: Vec<_> = globs.map(|id| catalog.entry(*id).name).collect();
    if !names.is_empty() {
        let text = "a glob can't be redirected".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
