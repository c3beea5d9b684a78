//! A directive (`#…`) in a name on the wire.
//!
//! Why: Directives tell the client how to find a resource. The name of a resource has none; caches and servers
//! would take it for another resource.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/foo#alt=xdstp://b/T/foo"]
//! ```
//!
//! Instead: strip directives before subscribing.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-directive-on-wire",
    severity: Severity::Warn,
    rows: "K-06",
    source: include_str!("xdstp_directive_on_wire.rs"),
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
    let names: Vec<_> =
        names.into_iter().filter(|(_, name)| name.directives.is_some()).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "a name on the wire has no directives".to_owned();
        case.raise(&RULE, Found { blame, text, names: &names, ..Found::default() });
    }
}
