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
use crate::session::key;
use xdscope_wire::event::Sym;

rule! {
    relay-version-rewritten: Info, rows "K-30";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let catalog = ctx.catalog();
    let (mut names, mut first) = (Vec::new(), None);
    for id in &response.scan.structured {
        let entry = catalog.entry(*id);
        let Some(payload) = entry.payload else { continue };
        let received = ctx.upstream_deliveries(key(catalog, *id), payload);
        let Some(upstream) = received.first().map(|delivery| delivery.version) else { continue };
        let is_same = |version: Sym| version == entry.version || version == Sym::EMPTY;
        if entry.version != Sym::EMPTY && !received.iter().any(|delivery| is_same(delivery.version)) {
            names.push(entry.name);
            first.get_or_insert((upstream, entry.version));
        }
    }
    if let Some((upstream, forwarded)) = first {
        let (upstream, forwarded) = (ctx.text(upstream), ctx.text(forwarded));
        let text = format!("the relay received version {upstream} and forwards version {forwarded}");
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}
