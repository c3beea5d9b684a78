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
use super::super::state::MAX_NAMES;

pub(super) static RULE: Rule =
    Rule::new(Severity::Info, "xdstp-name-variant", "K-08", include_str!("xdstp_name_variant.rs"));

pub(super) static CHECKS: &[Check] = &[Check::StructuredNames(check)];

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: &[ParsedName<'_>]) {
    let mut variants = Vec::new();
    for (sym, name) in names.iter().filter(|(_, name)| name.context.len() > 1) {
        let sym = *sym;
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
