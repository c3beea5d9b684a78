//! A route points to a cluster that the client does not have.
//!
//! Why: Routes are not warmed: traffic is lost until the cluster arrives. A cluster that the
//! client has refused is missing too, also to inline routes of a listener; a route that the client
//! refuses takes no traffic. Clusters and listeners in the bootstrap of the client are visible in a
//! config dump only. With the filter `on_demand` and a source of clusters, Envoy lets a request
//! wait for its cluster. The order of separate streams is uncertain: there the finding is info.
//!
//! Example:
//! ```text
//! > rds v=1 n=c names=[r]
//! < rds v=2 n=d [r{to: [Y]}]
//! ```
//!
//! Advice: Add the new cluster, change the route, then remove the old cluster.
//!
//! Reference: xDS protocol, "Eventual consistency considerations".

use super::support::{
    follow_unknown_clusters, listed_clusters, missing_in_dump, names_to_use, report_unknown_clusters,
    sort_unique,
};
use crate::lint::client::RouteUse;
use crate::lint::memory::references::is_of_routes;
use crate::lint::prelude::*;
use crate::session::MessageKind;
use xdscope_wire::event::{Kind, Seq, Sym};

rule! {
    route-unknown-cluster: Warn, rows "H-11",
    ends(Ending::State), about(Subject::MissingCluster), worded(Sentence::WithNames);
    checks: Open(check_dump), Response(check), Request(check_verdict)
}

/// Routes that wait for a verdict.
const MAX_UNACCEPTED: usize = 64;

/// Reports clusters of static listeners that a dump lacks.
fn check_dump(ctx: &mut RuleContext<'_>) {
    let missing = missing_in_dump(&ctx.stream.open, Kind::Cds, "points to", "cluster");
    let Some(text) = missing else { return };
    let text = format!("{text}, which the client does not have");
    // Either the bootstrap or the server could have the cluster.
    ctx.report(&RULE, FindingDraft::new(Blame::Both, text, &[]));
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if !is_of_routes(response.track.kind) {
        return;
    }
    let new = names_to_use(ctx, response);
    let has_verdicts = ctx.is_grpc() || ctx.stream.is_dump();
    let (Some(seq), true) = (ctx.seq, has_verdicts) else {
        return report_unknown_clusters(ctx, &RULE, response.track, &new, RouteUse::InUse);
    };
    if new.is_empty()
        || ctx.options.links.is_none()
        || ctx.unknown_clusters(response.track, &new, RouteUse::InUse).names.is_empty()
    {
        return;
    }
    let routes = &mut ctx.state.references.unaccepted_routes;
    if routes.len() == MAX_UNACCEPTED {
        routes.pop_front();
    }
    routes.push_back((seq, new));
}

/// Reports routes that the client accepts, and clusters of its routes that the client refuses.
fn check_verdict(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let Some(answered) = request.outcome.answers else { return };
    let names = settled_routes(ctx, request, answered);
    if !names.is_empty() {
        if request.outcome.kind == MessageKind::Ack {
            // The finding is about the response.
            let ack = ctx.seq.replace(answered);
            report_unknown_clusters(ctx, &RULE, request.track, &names, RouteUse::InUse);
            ctx.seq = ack;
        }
        return;
    }
    if request.track.kind != Some(Kind::Cds) || !request.is_nack() || ctx.options.links.is_none() {
        return;
    }
    let names = ctx.refused_clusters_of_routes(request);
    if !names.is_empty() {
        let clusters = listed_clusters(ctx, &names);
        let text = format!("accepted routes point to {clusters}, which the client refused and does not have");
        let draft = FindingDraft::new(Blame::Server, text, &names);
        let Some(finding) = ctx.report(&RULE, draft) else { return };
        follow_unknown_clusters(ctx, finding, names);
    }
}

/// Takes out the routes of the response that has its verdict now, and those of skipped responses
/// that the accepted one has sent again.
fn settled_routes(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>, answered: Seq) -> Vec<Sym> {
    let (catalog, track) = (ctx.catalog(), request.track);
    let is_in_use = |name: &Sym| match (track.sent.get(catalog, *name), track.in_force(catalog, *name)) {
        (Some(sent), Some(used)) => sent.blob == used.blob,
        _ => false,
    };
    let mut settled = Vec::new();
    ctx.state.references.unaccepted_routes.retain(|(seq, names)| {
        let is_answered = *seq == answered;
        let is_settled = is_answered || request.outcome.skipped.contains(seq);
        let names = names.iter().filter(|name| is_settled && (is_answered || is_in_use(name)));
        settled.extend(names);
        !is_settled
    });
    sort_unique(&mut settled);
    settled
}
