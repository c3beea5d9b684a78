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

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "xdstp-node-dependent", "K-32", include_str!("xdstp_node_dependent.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check)];

use super::super::state::MAX_SOURCE_ENTRIES;
use crate::engine::session::key;
use crate::wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let mut names = Vec::new();
    for id in &response.scan.structured {
        let entry = catalog.entry(*id);
        let Some(payload) = entry.payload.filter(|_| entry.version != Sym::EMPTY) else { continue };
        if ctx.source_state.structured_contents.len() >= MAX_SOURCE_ENTRIES {
            ctx.source_state.structured_contents.clear();
        }
        let session = ctx.stream.session.unwrap_or(usize::MAX);
        let known = *ctx
            .source_state
            .structured_contents
            .entry((key(catalog, *id), entry.version))
            .or_insert((payload, session));
        if known.0 != payload && known.1 != session {
            names.push(entry.name);
        }
    }
    if !names.is_empty() {
        let text = "different content for another node at the same name and version".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
