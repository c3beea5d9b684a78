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

use std::iter::successors;
use std::sync::Arc;

use crate::lint::findings::finding::Finding;
use crate::lint::memory::structured_contents::{StructuredContents, hash};
use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::xdstp::Name;

rule! {
    xdstp-redirect-loop: Warn, rows "K-27",
    ends(Ending::Content);
    checks: Response(check), Fault(has_fault)
}

/// Redirects that a client follows in a row.
const MAX_HOPS: usize = 8;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let removed = &response.outcome.removed;
    if response.scan.structured.is_empty() && removed.is_empty() {
        return;
    }
    let (catalog, client) = (ctx.catalog(), ctx.client());
    let canonical = |name| Name::parse(catalog.text(name)).map(|name| hash(name.canonical()));
    let known = &mut ctx.source_state.structured_contents;
    if known.has_redirects() {
        let sent = response.scan.structured.iter().map(|id| catalog.entry(*id).name);
        for name in sent.chain(removed.iter().copied()).filter_map(canonical) {
            known.forget_redirect(&client, name);
        }
    }
    let mut names = Vec::new();
    for (name, locator) in &response.scan.redirects {
        let Some(from) = canonical(*name) else { continue };
        known.redirect(&client, from, hash(locator.target()));
        if is_loop(known, &client, from) {
            names.push(*name);
        }
    }
    ctx.report_names(&RULE, Blame::Server, "redirect loop", &names);
}

/// Whether the redirects of a client lead back to the name, which is given by its hash.
fn is_loop(known: &StructuredContents, client: &Arc<str>, name: u64) -> bool {
    let next = |at: &u64| known.target(client, *at);
    successors(next(&name), next).take(MAX_HOPS).any(|target| target == name)
}

/// Whether a redirect of the finding still leads back to itself.
fn has_fault(ctx: &RuleContext<'_>, _: &Track, finding: &Finding) -> bool {
    let (known, client) = (&ctx.source_state.structured_contents, ctx.client());
    let mut names = finding.names.iter().filter_map(|name| Name::parse(name));
    names.any(|name| is_loop(known, &client, hash(name.canonical())))
}
