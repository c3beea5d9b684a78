//! A context parameter begins with a sign.
//!
//! Why: Such prefixes are reserved. The proposal does not say whether keys or values are meant;
//! negative numbers are accepted.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?~k=v"]
//! ```
//!
//! Advice: Begin keys and values with a letter or a digit.
//!
//! Reference: xRFC TP1, "Context parameters".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-reserved-prefix",
    severity: Severity::Info,
    rows: "K-10",
    source: include_str!("xdstp_reserved_prefix.rs"),
};

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let names = super::support::structured_names(ctx, &request.outcome.added);
    check(ctx, Blame::Client, names);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = super::support::delivered_names(ctx, response);
    check(ctx, Blame::Server, names);
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: Vec<super::support::ParsedName<'_>>) {
    let sign = |text: &str| text.chars().next().is_some_and(|c| !c.is_alphanumeric() && c != '%');
    let number = |text: &str| text.parse::<f64>().is_ok();
    let is_reserved = |(key, value): &(&str, &str)| sign(key) || (sign(value) && !number(value));
    let bad = names.into_iter().filter(|(_, name)| name.context.iter().any(is_reserved));
    let names: Vec<_> = bad.map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "context parameter begins with a reserved sign".to_owned();
        ctx.report(
            &RULE,
            FindingDraft { blame, text, names: &names, guess: true, ..FindingDraft::default() },
        );
    }
}
