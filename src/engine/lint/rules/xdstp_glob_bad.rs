//! A structured name has an asterisk elsewhere than in its last segment.
//!
//! Why: Only a final `/*` is a glob. Elsewhere the asterisk is an ordinary character, which is
//! rarely meant.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x/*/y"]
//! ```
//!
//! Advice: Move the asterisk to the end, or use another character.
//!
//! Reference: xRFC TP1, "Glob".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-glob-bad",
    severity: Severity::Warn,
    rows: "K-18",
    source: include_str!("xdstp_glob_bad.rs"),
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
    let bad = |id: &str| id != "*" && id.strip_suffix("/*").unwrap_or(id).contains('*');
    let names: Vec<_> = names.into_iter().filter(|(_, name)| bad(name.id)).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "asterisk elsewhere than in the last segment".to_owned();
        ctx.report(&RULE, FindingDraft { blame, text, names: &names, ..FindingDraft::default() });
    }
}
