//! A client states that it holds a resource, but does not subscribe to it.
//!
//! Why: Subscriptions do not outlive their stream. A resource in `initial_resource_versions`
//! without a subscription is never updated.
//!
//! Example:
//! ```text
//! > sub=[wa wb] irv={wa:1 wb:1 wc:1}
//! ```
//!
//! Advice: Subscribe again to everything that the client holds.
//!
//! Reference: xDS protocol, "Incremental xDS".

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::Sym;

rule! {
    delta-reconnect-irv-unsubscribed: Warn, rows "F-18",
    ends(Ending::State);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta() else { return };
    if !request.outcome.first {
        return;
    }
    let prior = ctx.previous_track(&request.track.type_url);
    let claimed = body.initial_resource_versions.keys().copied();
    let names: Vec<_> = claimed.filter(|name| !is_subscribed(ctx, request, prior, *name)).collect();
    if !names.is_empty() {
        let text = "in initial_resource_versions, but not subscribed";
        let draft = FindingDraft::new(Blame::Client, text, &names);
        ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::LeftBehind, ctx.at));
    }
}

/// Whether the client subscribes to a resource, or to an alias that it had on the previous stream.
fn is_subscribed(
    ctx: &RuleContext<'_>,
    request: &RequestContext<'_>,
    prior: Option<&Track>,
    name: Sym,
) -> bool {
    let (catalog, track) = (ctx.catalog(), request.track);
    if track.covers(catalog, name, None) {
        return true;
    }
    let entry = prior.and_then(|prior| prior.sent.get(catalog, name));
    let Some(blob) = entry.and_then(|entry| entry.blob) else { return false };
    catalog.entry(blob).aliases.iter().any(|alias| track.subscribed.names.contains(*alias))
}
