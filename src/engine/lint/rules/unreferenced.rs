//! A cluster or load assignment is requested by name, but nothing refers to it.
//!
//! Why: For a minute no listener, route or cluster of the client referred to the resource, which
//! costs resources and serves no traffic. The finding is a guess, because references in the
//! bootstrap of the client are not visible.
//!
//! Example:
//! ```text
//! > cds sub=[old]
//! < cds n=1 [old@1]
//! ```
//!
//! Advice: Unsubscribe from names when their last reference is gone.
//!
//! Reference: xDS protocol, "API flow".

use std::time::Duration;

use crate::lint::memory::track::MAX_NAMES;
use crate::lint::prelude::*;
use crate::session::{ResourceEntry, Track};
use xdscope_wire::event::{Kind, Sym, Time};
use xdscope_wire::xdstp::{canonical_name, is_structured, resource_type};

rule! {
    unreferenced: Info, rows "P";
    checks: Response(check), Alarm(Alarm::Unreferenced, check_due)
}

/// How long a resource may be unreferenced.
const UNREFERENCED_LIMIT: Duration = Duration::from_secs(60);

/// Returns the types whose resources can refer to a resource of the type.
fn parents(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Eds => &[Kind::Cds],
        Kind::Cds => &[Kind::Lds, Kind::Rds, Kind::Vhds],
        _ => &[],
    }
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_known = ctx.options.links.is_some() && ctx.has_timestamps();
    if !is_known || response.track.kind.is_none_or(|kind| parents(kind).is_empty()) {
        return;
    }
    let catalog = ctx.catalog();
    // A list collection is a root (docs/protocol.md#k-24).
    let is_list = |name: &Sym| {
        let text = catalog.text(*name);
        is_structured(text) && resource_type(text).is_some_and(|kind| kind.ends_with("Collection"))
    };
    let is_named = |name: &&Sym| response.track.subscribed.names.contains(**name) && !is_list(name);
    for name in response.outcome.added.iter().filter(is_named) {
        if ctx.state.references.unreferenced.len() < MAX_NAMES {
            ctx.state.references.unreferenced.insert(*name, ctx.at);
        }
    }
    if !ctx.state.references.unreferenced.is_empty() {
        ctx.arm(Alarm::Unreferenced, ctx.at.after(UNREFERENCED_LIMIT));
    }
}

fn check_due(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let Some(kind) = track.kind else { return };
    let (at, catalog, client) = (ctx.at, ctx.catalog(), ctx.client());
    let is_present =
        |name: Sym| track.subscribed.names.contains(name) && track.sent.is_present(catalog, name);
    ctx.state.references.unreferenced.retain(|name, _| is_present(*name));
    let (mut names, mut next) = (Vec::new(), None::<Time>);
    let watched = ctx.state.references.unreferenced.iter().map(|(name, since)| (*name, *since));
    let mut watched: Vec<(Sym, Time)> = watched.collect();
    watched.sort_unstable();
    for (name, since) in watched {
        let child = (kind, name);
        let graphs = &ctx.source_state.graphs;
        let due = match graphs.is_used(catalog, &client, child) {
            None => return,
            // The steps grow, so that their number does not depend on the length of the session.
            Some(true) => at.after(UNREFERENCED_LIMIT.max(at.since(since) / 16)),
            Some(false) => {
                let released = graphs.released(catalog, &client, child);
                released.map_or(since, |released| released.max(since)).after(UNREFERENCED_LIMIT)
            }
        };
        if due <= at {
            names.push(name);
        } else {
            next = Some(next.map_or(due, |next| next.min(due)));
        }
    }
    for name in &names {
        ctx.state.references.unreferenced.remove(name);
    }
    if let Some(next) = next {
        ctx.arm(Alarm::Unreferenced, next);
    }
    names.retain(|name| !is_referred_to(ctx, kind, *name));
    if !names.is_empty() && ctx.knows_all_of(parents(kind)) && sees_parents(ctx, kind, &names) {
        let text = "no resource of the client has referred to it for 60 s";
        ctx.report(&RULE, FindingDraft::new(Blame::Client, text, &names).guessed());
    }
}

/// Whether a resource on a stream of the client refers to the child. Other clients with the node id
/// may have removed a resource of the same name.
fn is_referred_to(ctx: &RuleContext<'_>, kind: Kind, name: Sym) -> bool {
    let (catalog, graphs) = (ctx.catalog(), &ctx.source_state.graphs);
    let name = canonical_name(catalog, name);
    let mut tracks = parents(kind).iter().flat_map(|parent| ctx.tracks_of(*parent));
    tracks.any(|(_, track)| {
        let is_used = |(name, entry): &(Sym, ResourceEntry)| {
            entry.is_present() && track.covers(catalog, *name, Some(entry))
        };
        let used = track.sent.entries(catalog).into_iter().filter(is_used);
        let mut refs = used.filter_map(|(_, entry)| graphs.refs(catalog, entry.blob?));
        refs.any(|refs| refs.iter().any(|to| to.child() == (kind, name)))
    })
}

/// Whether the client receives resources that could refer to the names.
///
/// A client may have its other resources in the bootstrap.
fn sees_parents(ctx: &RuleContext<'_>, kind: Kind, names: &[Sym]) -> bool {
    let catalog = ctx.catalog();
    let tracks: Vec<_> = parents(kind).iter().flat_map(|kind| ctx.tracks_of(*kind)).collect();
    let has_parents = tracks.iter().any(|(_, track)| track.traffic.pushes > 0);
    // Filters from ECDS may refer to clusters.
    let has_filters = kind == Kind::Cds && !ctx.tracks_of(Kind::Ecds).is_empty();
    // Endpoints usually have the name of their cluster.
    let has_name = |track: &Track| names.iter().any(|name| track.sent.is_present(catalog, *name));
    let has_namesakes = kind == Kind::Eds && tracks.iter().any(|(_, track)| has_name(track));
    has_parents && !has_filters && !has_namesakes
}
