//! A relay sends a client a resource that another client requested.
//!
//! Why: A relay requests upstream what all of its clients want, and each client receives its own
//! part. Other resources may be confidential.
//!
//! Example:
//! ```text
//! client b of the relay:               > sub=["xdstp://a/T/y"]
//! from the control plane to the relay: < n=1 ["xdstp://a/T/y"@1]
//! from the relay to its client a:      < n=1 ["xdstp://a/T/y"@1]
//! ```
//!
//! Advice: Filter by the subscription of each client.
//!
//! Reference: xRFC TP1, "xDS relay proxy".

use crate::lint::prelude::*;
use crate::session::{Stream, key};
use xdscope_wire::event::Sym;

rule! {
    relay-leak: Warn, rows "K-30";
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.scan.structured.is_empty() {
        return;
    }
    let catalog = ctx.catalog();
    let unasked = super::unrequested_resource::unasked(ctx, response);
    let wants = |stream: &Stream, name: Sym| {
        let tracks = stream.tracks.iter().filter(|track| track.type_url == response.track.type_url);
        tracks
            .into_iter()
            .any(|track| track.subscribed.names.contains(name) || track.glob_of(catalog, name).is_some())
    };
    let mut names = Vec::new();
    for id in &response.scan.structured {
        let entry = catalog.entry(*id);
        let name = key(catalog, *id);
        let Some(payload) = entry.payload else { continue };
        if unasked.contains(&name)
            && !ctx.upstream_deliveries(name, payload).is_empty()
            && ctx.sibling_streams().any(|stream| wants(stream, name))
        {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let text = "forwarded by the relay, but requested by another client";
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names).guessed());
    }
}
