//! A name begins like a structured name but does not have its form.
//!
//! Why: `xdstp://AUTHORITY/TYPE/ID` needs a type and an id. Clients and servers reject names that
//! they cannot read.
//!
//! Example:
//! ```text
//! > sub=["xdstp://a"]
//! ```
//!
//! Advice: Write authority, type and id. The authority may be empty.
//!
//! Reference: xRFC TP1, "URI-based xDS resource names".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Error, "xdstp-malformed", "K-02", include_str!("xdstp_malformed.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Request(check_request), Check::Response(check_response)];

use crate::engine::session::{Name, is_structured};
use crate::wire::event::Sym;

fn check_request(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    check(ctx, Blame::Client, request.outcome.added.iter().copied());
}

fn check_response(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    check(ctx, Blame::Server, response.scan.structured.iter().map(|id| catalog.entry(*id).name));
}

fn check(ctx: &mut RuleContext<'_>, blame: Blame, names: impl Iterator<Item = Sym>) {
    let bad = |text: &str| is_structured(text) && Name::parse(text).is_none();
    let names: Vec<_> = names.filter(|name| bad(ctx.text(*name))).collect();
    if !names.is_empty() {
        let text = "not in the form xdstp://AUTHORITY/TYPE/ID".to_owned();
        ctx.report(&RULE, FindingDraft { blame, text, names: &names, ..FindingDraft::default() });
    }
}
