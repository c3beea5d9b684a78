//! Redirects that lead back to where they began.
//!
//! Why: A client follows a redirect to its target. In a circle there is none.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/T/y"@1]
//! < n=2 ["xdstp://a/T/y"=>"xdstp://a/T/x"@1]
//! ```
//!
//! Instead: let a redirect lead to a resource.
//!
//! Protocol: "xDS transport: redirects (TP1)"; row K-27.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-redirect-loop",
    severity: Severity::Warn,
    rows: "K-27",
    source: include_str!("xdstp_redirect_loop.rs"),
    on: &[On::Response(check)],
};

use super::super::memo::NAMES;
use crate::engine::session::Name;

/// Redirects that a client follows at most.
const HOPS: usize = 8;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.scan.structured.is_empty() {
        return;
    }
    let catalog = case.catalog();
    let canonical = |name| Name::parse(catalog.text(name)).map(|name| name.canonical());
    if !case.memo.redirects.is_empty() {
        for id in &answer.scan.structured {
            if let Some(name) = canonical(catalog.entry(*id).name) {
                case.memo.redirects.remove(&name);
            }
        }
    }
    let mut names = Vec::new();
    for (name, locator) in &answer.scan.redirects {
        let Some(from) = canonical(*name).filter(|_| case.memo.redirects.len() < NAMES) else { continue };
        case.memo.redirects.insert(from.clone(), locator.target());
        let mut at = Some(&from);
        for _ in 0..HOPS {
            at = at.and_then(|at| case.memo.redirects.get(at));
            if at == Some(&from) {
                names.push(*name);
                break;
            }
        }
    }
    if !names.is_empty() {
        let text = "redirected in a circle".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
