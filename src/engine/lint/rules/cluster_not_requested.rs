//! A client of gRPC does not request a cluster to which its routes point.
//!
//! Why: A client of gRPC gets the listener of a channel by name, then its routes, and then requests
//! each cluster of the routes. Calls to a cluster that it never requests fail. The client has 5 s
//! for its request. Clusters of weight 0, and routes with matches that clients of gRPC do not know,
//! are left out. Of several virtual hosts a client uses one: then the finding is about a client
//! that requests none of their clusters. Other clients of listeners without an address
//! (`api_listener`) may behave otherwise: there the finding is a guess. A cluster that the client
//! has requested before, and requests no longer, is `not-resubscribed`.
//!
//! Example:
//! ```text
//! < rds v=1 n=b [r{to: [a]}]
//! > rds v=1 n=b names=[r]
//! advance 5s
//! ```
//!
//! Advice: Look at the log of the client: it may refuse the routes without a NACK, or none of their
//! virtual hosts may have the domain of the channel.
//!
//! Reference: xDS protocol, "How the client specifies what resources to return".

use super::support::{listed, listed_names, sort_unique, user_nouns};
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::session::{MessageKind, SETTLE_TIME};
use crate::store::{ClientNeeds, UnrequestedCluster};
use xdscope_wire::event::{Kind, Sym};

rule! {
    cluster-not-requested: Warn, rows "P",
    ends(Ending::State), worded(Sentence::WithNames);
    checks: Request(verdict), Alarm(Alarm::Clusters, check)
}

/// Sets the timer of routes that the client accepts.
fn verdict(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let is_route = matches!(request.track.kind, Some(Kind::Rds | Kind::Lds));
    if is_route && request.outcome.kind == MessageKind::Ack && ctx.is_aggregated() && !ctx.is_envoy() {
        ctx.arm_stream(Alarm::Clusters, ctx.at.after(SETTLE_TIME));
    }
}

fn check(ctx: &mut RuleContext<'_>) {
    let missing = ClientNeeds::new(ctx.store, ctx.stream).unrequested_clusters();
    let (due, waiting): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|missing| missing.since.after(SETTLE_TIME) <= ctx.at);
    if let Some(next) = waiting.iter().map(|missing| missing.since).min() {
        ctx.arm_stream(Alarm::Clusters, next.after(SETTLE_TIME));
    }
    let reported = ctx.names_in_state(|state| matches!(state, LastingState::UnrequestedClusters));
    let due: Vec<UnrequestedCluster> =
        due.into_iter().filter(|missing| !reported.contains(&missing.cluster)).collect();
    let Some(first) = due.first().copied() else { return };
    let of_kind = due.iter().filter(|missing| missing.user.kind == first.user.kind);
    let (mut names, mut users): (Vec<Sym>, Vec<Sym>) =
        of_kind.map(|missing| (missing.cluster, missing.user.name)).unzip();
    sort_unique(&mut names);
    sort_unique(&mut users);
    let (noun, nouns) = user_nouns(Some(first.user.kind));
    let verb = if users.len() == 1 { "points" } else { "point" };
    let pronoun = if names.len() == 1 { "it" } else { "them" };
    let (what, users) = (listed_names(ctx, &names), listed(ctx, noun, nouns, &users));
    let text =
        format!("client has not requested CDS {what}; {users} {verb} to {pronoun}, and its calls fail");
    let past = format!("client had not requested CDS {what} for {{}}; {users} {verb} to {pronoun}");
    let since = due.iter().map(|missing| missing.since).min().unwrap_or(ctx.at);
    let guess = ctx.stream.client_kind().is_none();
    let draft = FindingDraft { guess, ..FindingDraft::new(Blame::Client, text, &names) };
    let state = LastingState::UnrequestedClusters;
    ctx.report_lasting(&RULE, draft, Lasting { state, since, past: Some(past) });
}
