//! A relay changes the version of a resource.
//!
//! Why: A structured name at a version is the same everywhere, so that caches and people can
//! compare. Nonces belong to a hop; versions of resources do not.
//!
//! Example:
//! ```text
//! from the control plane to the relay: < n=1 ["xdstp://a/T/x"@1]
//! from the relay to its client:        < n=1 ["xdstp://a/T/x"@relay-7]
//! ```
//!
//! Advice: Forward the version of each resource unchanged.
//!
//! Reference: xRFC TP1, "xDS relay proxy".

use crate::lint::prelude::*;

rule! {
    relay-version-rewritten: Info, rows "K-30";
    checks: Response(check)
}

use crate::session::key;
use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let (mut names, mut first) = (Vec::new(), None);
    for id in &response.scan.structured {
        let entry = catalog.entry(*id);
        let Some(payload) = entry.payload.filter(|_| entry.version != Sym::EMPTY) else { continue };
        let mut versions =
            ctx.upstream_deliveries(key(catalog, *id), payload).into_iter().map(|brought| brought.version);
        let Some(upstream) = versions.next() else { continue };
        let same = |version: Sym| version == entry.version || version == Sym::EMPTY;
        if !same(upstream) && !versions.any(same) {
            names.push(entry.name);
            first.get_or_insert((upstream, entry.version));
        }
    }
    if let Some((upstream, here)) = first {
        let (upstream, here) = (ctx.text(upstream), ctx.text(here));
        let text = format!("the relay received version {upstream} and forwards version {here}");
        let (blame, names) = (Blame::Server, names.as_slice());
        ctx.report(&RULE, FindingDraft { blame, text, names, guess: true, ..FindingDraft::default() });
    }
}
