//! A cluster is removed while the routes of the client point to it.
//!
//! Why: Traffic is lost from the removal until the route changes. If the new route came before on
//! the same stream, or follows within a second, the finding is info, unless the client refuses the
//! new route. The order of separate streams is uncertain: there the finding is info. A client keeps
//! its routes over a reconnect: if the server removes the cluster before the client requests the
//! routes again, they have 5 s to change.
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

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::support::{gap_draft, sort_unique};
use crate::lint::findings::traffic_gaps::has;
use crate::lint::memory::references::{OpenFinding, ROUTE_KINDS, ReferenceGraphs, ResourceRef, is_of_routes};
use crate::lint::prelude::*;
use crate::session::{Presence, ResourceEntry, ResourceSet, SETTLE_TIME, Stream, SymSet, Track};
use xdscope_wire::event::{Kind, Seq, Sym};

rule! {
    break-before-make: Warn, rows "H-10",
    ends(Ending::State), about(Subject::RemovedCluster);
    checks:
        Response(check), Response(soften_replaced), Request(harden_refused), Request(arm_resumed),
        Alarm(Alarm::Routes, check_resumed)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let removes = response.track.kind == Some(Kind::Cds) && !response.outcome.removed.is_empty();
    if !removes || ctx.options.links.is_none() {
        return;
    }
    // A response may remove a cluster and send it.
    let is_gone = |name: &Sym| !response.track.sent.is_present(ctx.catalog(), *name);
    let removed: SymSet = response.outcome.removed.iter().copied().filter(is_gone).collect();
    let (mut names, mut is_same_stream) = (Vec::new(), false);
    for kind in ROUTE_KINDS {
        for (stream, track) in ctx.tracks_of(kind) {
            let used = named(ctx, track, &track.accepted, &removed);
            is_same_stream |= stream == ctx.stream_index && !used.is_empty();
            names.extend(used);
        }
    }
    sort_unique(&mut names);
    if !names.is_empty() {
        report(ctx, names, ctx.seq, is_same_stream);
    }
}

/// Reports clusters that a response has removed, and follows the finding.
fn report(ctx: &mut RuleContext<'_>, names: Vec<Sym>, removed_in: Option<Seq>, is_same_stream: bool) {
    let draft = gap_draft("cluster removed while accepted routes point to it", &names, is_same_stream);
    let Some(finding) = ctx.report(&RULE, draft) else { return };
    let client = ctx.client();
    let window = OpenFinding { removed_in, ..ctx.open_finding(finding, names) };
    ReferenceGraphs::open(&mut ctx.source_state.graphs.breaks, client, window);
}

/// Sets the timer of routes that the client has from the stream before.
fn arm_resumed(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if is_of_routes(request.track.kind) && request.outcome.first && request.track.accepted.count() > 0 {
        ctx.arm_stream(Alarm::Routes, ctx.at.after(SETTLE_TIME));
    }
}

/// Reports clusters that were removed before the client requested its routes again.
fn check_resumed(ctx: &mut RuleContext<'_>) {
    if ctx.options.links.is_none() {
        return;
    }
    let stream: &Stream = ctx.stream;
    for (index, track) in stream.tracks.iter().enumerate() {
        if track.kind != Some(Kind::Cds) {
            continue;
        }
        let (names, removed_in) = removed_and_routed(ctx, track);
        if names.is_empty() {
            continue;
        }
        // The finding is about the response.
        let (track_index, seq) = (ctx.track_index.replace(index), ctx.seq);
        ctx.seq = removed_in;
        report(ctx, names, removed_in, true);
        (ctx.track_index, ctx.seq) = (track_index, seq);
    }
}

/// Returns the clusters that a response of the track has removed, that accepted routes of the
/// stream point to, also as sent last, and that have no open finding; and the newest such response.
fn removed_and_routed(ctx: &RuleContext<'_>, clusters: &Track) -> (Vec<Sym>, Option<Seq>) {
    let (catalog, client, graphs) = (ctx.catalog(), ctx.client(), &ctx.source_state.graphs);
    let others = ctx.tracks_of(Kind::Cds);
    let is_missing = |name: &Sym| others.iter().all(|(_, track)| !has(catalog, track, *name));
    let is_removed = |(name, entry): &(Sym, ResourceEntry)| {
        let is_removed = entry.state == Presence::Removed
            && clusters.covers(catalog, *name, Some(entry))
            && is_missing(name);
        // The client never had a cluster that it has refused.
        is_removed && !clusters.has_only_refused(catalog, *name)
    };
    let entries = clusters.sent.entries(catalog).into_iter().filter(is_removed);
    let removed = entries.filter_map(|(name, entry)| Some((name, clusters.responses.get(entry.order)?.seq)));
    let mut removed: HashMap<Sym, Seq> = removed.collect();
    let open = graphs.windows.get(&client).into_iter().chain(graphs.breaks.get(&client));
    for known in open.flatten().flat_map(|window| &window.clusters) {
        removed.remove(known);
    }
    if removed.is_empty() {
        return (Vec::new(), None);
    }
    let wanted: SymSet = removed.keys().copied().collect();
    let tracks = ROUTE_KINDS.iter().flat_map(|kind| ctx.tracks_of(*kind));
    let (mut accepted, mut sent) = (SymSet::default(), SymSet::default());
    for (_, track) in tracks.filter(|(stream, _)| *stream == ctx.stream_index) {
        accepted.extend(named(ctx, track, &track.accepted, &wanted));
        sent.extend(named(ctx, track, &track.sent, &wanted));
    }
    let mut names: Vec<Sym> = accepted.into_iter().filter(|name| sent.contains(name)).collect();
    names.sort_unstable();
    let removed_in = names.iter().filter_map(|name| removed.get(name)).max().copied();
    (names, removed_in)
}

/// Softens findings whose new route follows within a second.
fn soften_replaced(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !is_of_routes(response.track.kind) || ctx.source_state.graphs.breaks.is_empty() {
        return;
    }
    let (at, index) = (ctx.at, ctx.stream_index);
    let is_recent = |window: &&OpenFinding| {
        window.stream == index && !window.is_softened && at.since(window.since) <= Duration::from_secs(1)
    };
    let of_client = ctx.source_state.graphs.breaks.get(&ctx.client());
    let recent: Vec<OpenFinding> = of_client.into_iter().flatten().filter(is_recent).cloned().collect();
    for window in recent {
        let routed = routed_to(ctx, &window.clusters, |track| &track.sent);
        if routed.is_empty() {
            mark_softened(ctx, &[window.finding], true);
            let is_new = !response.outcome.added.is_empty() || !response.outcome.changed.is_empty();
            let note = if is_new { "; the new route follows" } else { "; the route is removed next" };
            ctx.findings.soften(window.finding, note);
        } else if routed.len() < window.clusters.len() {
            // The finding is about the clusters to which routes still point.
            let texts: HashSet<&str> = routed.iter().map(|name| ctx.catalog().text(*name)).collect();
            ctx.findings.retain_names(window.finding, |name| texts.contains(name));
        }
    }
}

/// Raises findings again whose new route the client refuses.
fn harden_refused(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    if !is_of_routes(request.track.kind) || !request.is_nack() || ctx.source_state.graphs.breaks.is_empty() {
        return;
    }
    let refused = windows_if(ctx, |window| {
        window.is_softened && !routed_to(ctx, &window.clusters, |track| &track.accepted).is_empty()
    });
    mark_softened(ctx, &refused, false);
    for finding in refused {
        ctx.findings.harden(finding, "; the client refused the new route");
    }
}

/// Returns the findings of the client's open windows for which the function returns true.
fn windows_if(ctx: &RuleContext<'_>, is_wanted: impl Fn(&OpenFinding) -> bool) -> Vec<usize> {
    let of_client = ctx.source_state.graphs.breaks.get(&ctx.client());
    of_client.into_iter().flatten().filter(|window| is_wanted(window)).map(|window| window.finding).collect()
}

fn mark_softened(ctx: &mut RuleContext<'_>, findings: &[usize], is_softened: bool) {
    let client = ctx.client();
    let of_client = ctx.source_state.graphs.breaks.get_mut(&client);
    for window in of_client.into_iter().flatten().filter(|window| findings.contains(&window.finding)) {
        window.is_softened = is_softened;
    }
}

/// Returns those of the clusters that resources of the client refer to. `resources` picks the
/// resources of a type.
fn routed_to(
    ctx: &RuleContext<'_>,
    clusters: &[Sym],
    resources: impl Fn(&Track) -> &ResourceSet,
) -> Vec<Sym> {
    let wanted: SymSet = clusters.iter().copied().collect();
    let tracks = ROUTE_KINDS.iter().flat_map(|kind| ctx.tracks_of(*kind));
    let named = tracks.flat_map(|(_, track)| named(ctx, track, resources(track), &wanted));
    let routed: SymSet = named.collect();
    clusters.iter().copied().filter(|name| routed.contains(name)).collect()
}

/// Returns the clusters among `clusters` that the resources of a track refer to, as far as the
/// content of the resources is known. Resources that the client has released are not in use.
fn named(ctx: &RuleContext<'_>, track: &Track, resources: &ResourceSet, clusters: &SymSet) -> Vec<Sym> {
    let catalog = ctx.catalog();
    let is_in_use = |(name, entry): &(Sym, ResourceEntry)| {
        entry.is_present() && track.is_current(entry) && track.covers(catalog, *name, Some(entry))
    };
    let mut found = Vec::new();
    for (_, entry) in resources.entries(catalog).into_iter().filter(is_in_use) {
        let refs = entry.blob.and_then(|blob| ctx.source_state.graphs.refs(catalog, blob));
        let names = refs.iter().flat_map(|refs| ResourceRef::clusters(refs, catalog));
        found.extend(names.filter(|name| clusters.contains(name)));
    }
    found
}
