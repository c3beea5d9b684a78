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

use crate::lint::prelude::*;

use crate::lint::findings::lasting::{Lasting, LastingState};

rule! {
    delta-reconnect-irv-unsubscribed: Warn, rows "F-18",
    ends(Ending::State);
    checks: Request(check)
}

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(body) = request.delta().filter(|_| request.outcome.first) else { return };
    let prior = ctx.previous_track(&request.track.type_url);
    let covered = |name: xdscope_wire::event::Sym| {
        let slot = prior.and_then(|before| before.sent.get(ctx.catalog(), name));
        let aliases =
            slot.and_then(|slot| slot.blob).map_or(&[][..], |blob| ctx.catalog().entry(blob).aliases);
        request.track.covers(ctx.catalog(), name, None)
            || aliases.iter().any(|alias| request.track.subscribed.names.contains(*alias))
    };
    let claimed = body.initial_resource_versions.keys().copied();
    let names: Vec<_> = claimed.filter(|name| !covered(*name)).collect();
    if !names.is_empty() {
        let text = "in initial_resource_versions, but not subscribed".to_owned();
        let draft = FindingDraft { text, names: &names, ..FindingDraft::default() };
        let lasting = Lasting { state: LastingState::LeftBehind, since: ctx.at, past: None };
        ctx.report_lasting(&RULE, draft, lasting);
    }
}
