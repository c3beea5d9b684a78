//! One resource in two spellings.
//!
//! Why: The order of context parameters does not count. Peers that compare names as text take the two for
//! different resources.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?a=1&b=2" "xdstp://a/T/x?b=2&a=1"]
//! ```
//!
//! Instead: write parameters in one order.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-08.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-name-variant",
    severity: Severity::Info,
    rows: "K-08",
    source: include_str!("xdstp_name_variant.rs"),
    on: &[On::Request(asked), On::Response(answered)],
};

use super::super::memo::NAMES;

fn asked(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let names = super::structured(case, &asking.outcome.added);
    check(case, Blame::Client, names);
}

fn answered(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = super::delivered(case, answer);
    check(case, Blame::Server, names);
}

fn check(case: &mut RuleContext<'_>, blame: Blame, names: Vec<super::Structured<'_>>) {
    let mut variants = Vec::new();
    for (sym, name) in names.into_iter().filter(|(_, name)| name.context.len() > 1) {
        if case.memo.canonical.len() >= NAMES {
            case.memo.canonical.clear();
        }
        let first = *case.memo.canonical.entry(name.canonical()).or_insert(sym);
        let plain = |sym| case.catalog().text(sym).split('#').next().map(str::to_owned);
        if first != sym && plain(first) != plain(sym) {
            variants.push(sym);
        }
    }
    if !variants.is_empty() {
        let text = "the same resource in another spelling".to_owned();
        case.raise(&RULE, Found { blame, text, names: &variants, ..Found::default() });
    }
}
