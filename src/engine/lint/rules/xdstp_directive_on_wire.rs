//! A name on the wire has a directive (`#…`).
//!
//! Why: Directives tell the client how to find a resource, and are not part of its name. Caches
//! and servers would read another resource.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/foo#alt=xdstp://b/T/foo"]
//! ```
//!
//! Advice: Remove directives before subscribing.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-directive-on-wire",
    severity: Severity::Warn,
    rows: "K-06",
    source: include_str!("xdstp_directive_on_wire.rs"),
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
    let names: Vec<_> =
        names.into_iter().filter(|(_, name)| name.directives.is_some()).map(|(sym, _)| sym).collect();
    if !names.is_empty() {
        let text = "names on the wire must not have directives".to_owned();
        ctx.report(&RULE, FindingDraft { blame, text, names: &names, ..FindingDraft::default() });
    }
}
