//! A structured name at one version has different content for another node.
//!
//! Why: Structured names are immutable: one name and version has one content for every client.
//! Caches rely on this.
//!
//! Example:
//! ```text
//! stream 1 of node a: < n=1 ["xdstp://a/T/x"@1]
//! stream 2 of node b: < n=1 ["xdstp://a/T/x"~2@1]
//! ```
//!
//! Advice: Put whatever the content depends on into the name, as context parameters.
//!
//! Reference: xRFC TP1, "Caching & Scalability".

use crate::lint::prelude::*;

rule! {
    xdstp-node-dependent: Warn, rows "K-32";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() {
        return;
    }
    let names = ctx.changed_contents(response).others;
    let text = "different content for another node at the same name and version";
    ctx.report_names(&RULE, Blame::Server, text, &names);
}
