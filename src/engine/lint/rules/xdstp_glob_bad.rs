//! An asterisk in a structured name elsewhere than as its last segment.
//!
//! Why: Only a final `/*` is a glob. Elsewhere the asterisk is a letter like others, which is hardly meant.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*/y"]
//! ```
//!
//! Instead: put the asterisk at the end, or choose another letter.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-18.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-glob-bad",
    severity: Severity::Warn,
    rows: "K-18",
    source: include_str!("xdstp_glob_bad.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let names = super::structured(case, &asking.outcome.added);
    check(case, Blame::Client, names);
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = super::delivered(case, answer);
    check(case, Blame::Server, names);
}

fn check(case: &mut RuleContext<'_>, blame: Blame, names: Vec<super::Structured<'_>>) {
    let bad = |id: &str| id != "*" && id.strip_suffix("/*").unwrap_or(id).contains('*');
    let names: Vec<_> = names.into_iter().filter(|(_, name)| bad(name.id)).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "asterisk elsewhere than as the last segment".to_owned();
        case.raise(&RULE, Found { blame, text, names: &names, ..Found::default() });
    }
}
