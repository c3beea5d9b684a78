//! A locator with a directive that is unknown or there twice.
//!
//! Why: There are two directives, `alt` and `entry`, each at most once. A client can't follow what it does not
//! know, nor two at a time.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://b/T/y#alt=xdstp://c/T/z,alt=xdstp://d/T/z"@1]
//! ```
//!
//! Instead: give one `alt` and one `entry` at most.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-11.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-directive-bad",
    severity: Severity::Error,
    rows: "K-11",
    source: include_str!("xdstp_directive_bad.rs"),
    on: &[On::Response(check)],
};

use super::super::structured::Entry;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let redirects = answer.scan.redirects.iter().filter(|(_, locator)| locator.bad_directive);
    let listed = answer.scan.collections.iter().filter(|(_, entries)| {
        entries.iter().any(|entry| matches!(entry, Entry::Locator(locator) if locator.bad_directive))
    });
    let names: Vec<_> = redirects.map(|(name, _)| *name).chain(listed.map(|(name, _)| *name)).collect();
    if !names.is_empty() {
        let text = "a locator in it has a directive that is unknown or repeated".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
