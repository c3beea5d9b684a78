//! Redirects form a loop.
//!
//! Why: A client follows a redirect to its target. A loop has no target.
//!
//! Example:
//! ```text
//! < n=1 ["xdstp://a/T/x"=>"xdstp://a/T/y"@1]
//! < n=2 ["xdstp://a/T/y"=>"xdstp://a/T/x"@1]
//! ```
//!
//! Advice: Redirect to a resource.
//!
//! Reference: xRFC TP1, "Server redirects".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "xdstp-redirect-loop", "K-27", include_str!("xdstp_redirect_loop.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use super::super::structured_contents::hash;
use crate::engine::session::Name;

/// Redirects that a client follows in a row.
const MAX_HOPS: usize = 8;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() {
        return;
    }
    let (catalog, client) = (ctx.catalog(), ctx.client());
    let canonical = |name| Name::parse(catalog.text(name)).map(|name| hash(name.canonical()));
    let known = &mut ctx.source_state.structured_contents;
    let sent = response.scan.structured.iter().filter(|_| known.has_redirects());
    for id in sent.collect::<Vec<_>>() {
        if let Some(name) = canonical(catalog.entry(*id).name) {
            known.forget_redirect(&client, name);
        }
    }
    let mut names = Vec::new();
    for (name, locator) in &response.scan.redirects {
        let Some(from) = canonical(*name) else { continue };
        known.redirect(&client, from, hash(locator.target()));
        let mut at = Some(from);
        for _ in 0..MAX_HOPS {
            at = at.and_then(|at| known.target(&client, at));
            if at == Some(from) {
                names.push(*name);
                break;
            }
        }
    }
    if !names.is_empty() {
        let text = "redirect loop".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
