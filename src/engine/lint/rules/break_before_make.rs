//! A cluster is removed while the routes of the client point to it.
//!
//! Why: Traffic is lost from the removal until the route changes. If the new route follows on the
//! same stream within a second, the finding is info.
//!
//! Example:
//! ```text
//! < cds v=2 n=e [Y]
//! < rds v=2 n=f [r{to: [Y]}]
//! ```
//!
//! Advice: Change the route first, then remove the cluster that is no longer used.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "break-before-make", "H-10", include_str!("break_before_make.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Response(check), Check::Response(follow)];

use std::time::Duration;

use super::super::references::{OpenFinding, ROUTE_KINDS, ReferenceGraphs};
use crate::engine::session::{ResourceSet, SymSet, Track};
use crate::wire::event::{Kind, Sym};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let removes = response.track.kind == Some(Kind::Cds) && !response.outcome.removed.is_empty();
    if !removes || ctx.options.links.is_none() {
        return;
    }
    let removed: SymSet = response.outcome.removed.iter().copied().collect();
    let (mut names, mut same_stream) = (Vec::new(), false);
    for kind in ROUTE_KINDS {
        for (stream, track) in ctx.tracks_of(kind) {
            let used = named(ctx, track, &track.accepted, &removed);
            same_stream |= stream == ctx.stream_index && !used.is_empty();
            names.extend(used);
        }
    }
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let severity = (!same_stream).then_some(Severity::Info);
    let text = "cluster removed while accepted routes point to it".to_owned();
    let draft = FindingDraft { severity, ..FindingDraft::new(Blame::Server, text, &names) };
    let Some(finding) = ctx.report(&RULE, draft) else { return };
    let (client, stream, since) = (ctx.client(), ctx.stream_index, ctx.at);
    let window = OpenFinding { finding, stream, clusters: names, since };
    ReferenceGraphs::open(&mut ctx.source_state.graphs.breaks, client, window);
}

/// Softens findings whose new route follows within a second.
fn follow(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let routes = response.track.kind.is_some_and(|kind| ROUTE_KINDS.contains(&kind));
    if !routes || ctx.source_state.graphs.breaks.is_empty() {
        return;
    }
    let (at, index) = (ctx.at, ctx.stream_index);
    let is_recent =
        |window: &&OpenFinding| window.stream == index && at.since(window.since) <= Duration::from_secs(1);
    let mut softened = Vec::new();
    let client = ctx.client();
    let of_client = ctx.source_state.graphs.breaks.get(&client);
    for window in of_client.into_iter().flatten().filter(is_recent) {
        let removed: SymSet = window.clusters.iter().copied().collect();
        let still = ROUTE_KINDS.iter().flat_map(|kind| ctx.tracks_of(*kind));
        if !still.into_iter().any(|(_, track)| !named(ctx, track, &track.sent, &removed).is_empty()) {
            softened.push(window.finding);
        }
    }
    if let Some(of_client) = ctx.source_state.graphs.breaks.get_mut(&client) {
        of_client.retain(|window| !softened.contains(&window.finding));
    }
    for finding in softened {
        ctx.findings.soften(finding, "; the new route follows");
    }
}

/// Returns the clusters among `clusters` that the resources of a track refer to, as far as the
/// content of the resources is known.
fn named(ctx: &RuleContext<'_>, track: &Track, resources: &ResourceSet, clusters: &SymSet) -> Vec<Sym> {
    let catalog = ctx.catalog();
    let slots = resources.slots(catalog).into_iter();
    let slots = slots.filter(|(_, slot)| slot.is_present() && track.is_current(slot));
    let refs = slots.filter_map(|(_, slot)| ctx.source_state.graphs.refs(catalog, slot.blob?));
    let mut out = Vec::new();
    for refs in refs {
        let named = refs.iter().filter(|to| to.kind == Kind::Cds && clusters.contains(&to.name));
        out.extend(named.map(|to| to.name));
    }
    out
}
