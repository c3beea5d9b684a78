//! An update has no TTL although the previous version had one.
//!
//! Why: The resource no longer expires. That is how a server removes a TTL, and how a TTL gets
//! lost by mistake.
//!
//! Example:
//! ```text
//! < n=1 [r@1 ttl=10s]
//! < n=2 [r~2@2]
//! ```
//!
//! Advice: Repeat the TTL in each update.
//!
//! Reference: xDS protocol, "TTL".

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    ttl-dropped-by-update: Info, rows "G-05";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if ctx.state.ttl.ttl_versions.is_empty() {
        return;
    }
    let catalog = ctx.catalog();
    let entries = response.view.resources.blobs().iter().map(|id| catalog.entry(*id));
    let dropped = entries.filter(|entry| {
        let Some(before) = ctx.state.ttl.ttl_versions.get(&entry.name) else { return false };
        // A bare resource in SotW has the version of the response.
        let is_bare = entry.version == Sym::EMPTY && !response.view.is_delta;
        let version = if is_bare { response.view.version.as_str() } else { catalog.text(entry.version) };
        entry.payload.is_some() && entry.ttl.is_none() && catalog.text(*before) != version
    });
    let names: Vec<_> = dropped.map(|entry| entry.name).collect();
    if !names.is_empty() {
        let text = "new version without TTL; the previous version had one";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}
