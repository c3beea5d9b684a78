//! A resource is named in two spellings.
//!
//! Why: The order of context parameters is irrelevant. Peers that compare names as text see two
//! resources.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a/T/x?a=1&b=2" "xdstp://a/T/x?b=2&a=1"]
//! ```
//!
//! Advice: Write the parameters in one order.
//!
//! Reference: xRFC TP1, "Normalization".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-name-variant",
    severity: Severity::Info,
    rows: "K-08",
    source: include_str!("xdstp_name_variant.rs"),
};

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

use super::super::state::MAX_NAMES;

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let names = super::support::structured_names(ctx, &request.outcome.added);
    check(ctx, Blame::Client, names);
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = super::support::delivered_names(ctx, response);
    check(ctx, Blame::Server, names);
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: Vec<super::support::ParsedName<'_>>) {
    let mut variants = Vec::new();
    for (sym, name) in names.into_iter().filter(|(_, name)| name.context.len() > 1) {
        if ctx.state.canonical_names.len() >= MAX_NAMES {
            ctx.state.canonical_names.clear();
        }
        let first = *ctx.state.canonical_names.entry(name.canonical()).or_insert(sym);
        let plain = |sym| ctx.catalog().text(sym).split('#').next().map(str::to_owned);
        if first != sym && plain(first) != plain(sym) {
            variants.push(sym);
        }
    }
    if !variants.is_empty() {
        let text = "another spelling of the same resource".to_owned();
        ctx.report(&RULE, FindingDraft { blame, text, names: &variants, ..FindingDraft::default() });
    }
}
