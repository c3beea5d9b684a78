//! A context parameter that begins with `xds.` and is not one of the client's own.
//!
//! Why: `xds.` is reserved; on the wire only `xds.resource.` parameters, added by type-specific code, may
//! stand.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?xds.foo=1"]
//! ```
//!
//! Instead: choose another key.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-reserved-param",
    severity: Severity::Warn,
    rows: "K-09",
    source: include_str!("xdstp_reserved_param.rs"),
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
    let reserved = |key: &str| key.starts_with("xds.") && !key.starts_with("xds.resource.");
    let bad = names.into_iter().filter(|(_, name)| name.context.iter().any(|(key, _)| reserved(key)));
    let names: Vec<_> = bad.map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "context parameter with the reserved prefix xds.".to_owned();
        case.raise(&RULE, Found { blame, text, names: &names, ..Found::default() });
    }
}
