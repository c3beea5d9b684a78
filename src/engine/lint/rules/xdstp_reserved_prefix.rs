//! A context parameter that begins with a sign.
//!
//! Why: Such prefixes are reserved for later use. Whether keys or values are meant is not said; negative
//! numbers are taken as fine.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?~k=v"]
//! ```
//!
//! Instead: begin keys and values with a letter or a digit.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-reserved-prefix",
    severity: Severity::Info,
    rows: "K-10",
    source: include_str!("xdstp_reserved_prefix.rs"),
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
    let sign = |text: &str| text.chars().next().is_some_and(|c| !c.is_alphanumeric() && c != '%');
    let number = |text: &str| text.parse::<f64>().is_ok();
    let odd = |(key, value): &(&str, &str)| sign(key) || (sign(value) && !number(value));
    let bad = names.into_iter().filter(|(_, name)| name.context.iter().any(odd));
    let names: Vec<_> = bad.map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "context parameter that begins with a reserved sign".to_owned();
        case.raise(&RULE, Found { blame, text, names: &names, guess: true, ..Found::default() });
    }
}
