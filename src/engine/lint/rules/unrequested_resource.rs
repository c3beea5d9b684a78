//! A server sends a resource that the client did not request.
//!
//! Why: Clients ignore such a resource, and it does not count as an answer to a later request.
//! Recently unsubscribed names are exempt, because the server may not have known.
//!
//! Example:
//! ```text
//! > eds names=[a]
//! < eds v=1 n=1 [a b]
//! ```
//!
//! Advice: Send subscribed resources only. Servers that infer the resources from the node do this
//! on purpose.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use crate::lint::prelude::*;
use crate::session::{SymSet, nameless};
use xdscope_wire::event::Sym;

rule! {
    unrequested-resource: Info, rows "E-35, F-13";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let names = unasked(ctx, response);
    ctx.report_names(&RULE, Blame::Server, "sent without a request", &names);
}

/// Returns the names in the response that no request covers, if known.
pub(super) fn unasked(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let track = response.track;
    if track.subscribed.is_wildcard() || track.traffic.requests == 0 || !track.completeness.names_known {
        return Vec::new();
    }
    let catalog = ctx.catalog();
    let mut names = Vec::new();
    for name in response.names(catalog) {
        if nameless(name).is_some() || track.subscribed.names.contains(name) {
            continue;
        }
        let entry = track.sent.get(catalog, name);
        if !track.covers(catalog, name, entry.as_ref()) && !ctx.was_just_unsubscribed(name) {
            names.push(name);
        }
    }
    if !response.scan.structured.is_empty() {
        // `xdstp-context-mismatch` covers these.
        let others: SymSet =
            super::xdstp_context_mismatch::with_other_context(ctx, track, &names).into_iter().collect();
        names.retain(|name| !others.contains(name));
    }
    names
}
