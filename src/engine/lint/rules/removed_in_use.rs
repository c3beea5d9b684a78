//! A server removes a resource that other resources of the client refer to.
//!
//! Why: Endpoints, routes, secrets and filters belong to the clusters, listeners and scopes that
//! refer to them, and go with those. An Envoy ignores the removal of endpoints, routes and secrets:
//! it goes on with what it has, without updates. One that starts anew has nothing to begin with:
//! its clusters have no endpoints, and its listeners no routes. The effect on other clients is
//! unknown. The finding is info, because traffic through an Envoy goes on. Only a delta server can
//! remove such resources: a SotW response that leaves one out removes nothing. A removed cluster
//! that routes point to is `break-before-make`.
//!
//! Example:
//! ```text
//! < eds n=2 [c@1]
//! > eds n=2
//! < eds n=3 rm=[c]
//! ```
//!
//! Advice: Remove the cluster, the listener or the scope first. To leave a cluster without
//! endpoints, send an empty assignment.
//!
//! Reference: xDS protocol, "Deleting Resources".

use super::support::{listed, listed_names, sort_unique, user_nouns};
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::nack::ClientKind;
use crate::session::SymSet;
use crate::store::ClientNeeds;
use xdscope_wire::event::{Kind, Sym};

rule! {
    removed-in-use: Info, rows "P",
    ends(Ending::State), worded(Sentence::WithNames);
    checks: Response(check)
}

/// Types of resources that go with those that refer to them.
const OWNED_KINDS: [Kind; 4] = [Kind::Eds, Kind::Rds, Kind::Sds, Kind::Ecds];

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let Some(kind) = response.track.kind else { return };
    if !OWNED_KINDS.contains(&kind) || !response.view.is_delta || response.outcome.removed.is_empty() {
        return;
    }
    let (catalog, client) = (ctx.catalog(), ctx.client());
    let is_used = |name: Sym| ctx.source_state.graphs.is_used(catalog, &client, (kind, name)) == Some(true);
    let reported =
        ctx.names_in_state(|state| matches!(state, LastingState::RemovedInUse(removed) if *removed == kind));
    let removed = response.outcome.removed.iter().copied().filter(|name| {
        !reported.contains(name) && response.track.is_removed_and_requested(catalog, *name) && is_used(*name)
    });
    let removed: SymSet = removed.collect();
    if removed.is_empty() {
        return;
    }
    let referring = ClientNeeds::new(ctx.store, ctx.stream).referring(kind, &removed);
    let mut names: Vec<Sym> = referring.iter().map(|(name, _)| *name).collect();
    let mut users: Vec<(Kind, Sym)> = referring.iter().map(|(_, user)| (user.kind, user.name)).collect();
    sort_unique(&mut names);
    sort_unique(&mut users);
    let Some((user, _)) = users.first().copied() else { return };
    let users: Vec<Sym> = users.iter().filter(|(kind, _)| *kind == user).map(|(_, name)| *name).collect();
    let (noun, nouns) = user_nouns(Some(user));
    let verb = if users.len() == 1 { "refers" } else { "refer" };
    let what = format!("{} {}", kind.label(), listed_names(ctx, &names));
    let users = listed(ctx, noun, nouns, &users);
    let pronoun = if names.len() == 1 { "it" } else { "them" };
    let text = format!("server has removed {what}; {users} {verb} to {pronoun}{}", effect(ctx, kind));
    let past = Some(format!("server had removed {what} for {{}}; {users} {verb} to {pronoun}"));
    let state = LastingState::RemovedInUse(kind);
    let draft = FindingDraft::new(Blame::Server, text, &names);
    ctx.report_lasting(&RULE, draft, Lasting { state, since: ctx.at, past });
}

/// Returns what the client does with a removed resource, if known.
fn effect(ctx: &RuleContext<'_>, kind: Kind) -> &'static str {
    match ctx.stream.client_kind() {
        // Envoys of different versions do different things.
        _ if kind == Kind::Ecds => "",
        Some(ClientKind::Envoy) => ", and Envoy goes on with what it has until it restarts",
        Some(_) => "",
        None => " (an Envoy goes on with what it has until it restarts)",
    }
}
