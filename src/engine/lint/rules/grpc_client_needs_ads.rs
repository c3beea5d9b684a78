//! A gRPC client receives a config source other than ADS.
//!
//! Why: gRPC clients use one server through ADS, and reject resources that name another source.
//! The user agent marks a gRPC client, so the finding is a guess.
//!
//! Example:
//! ```text
//! node n1 agent="gRPC Go/1.70"
//! < cds v=1 n=1 [c{eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC}}}}]
//! ```
//!
//! Advice: Use `ads` or `self` as the config source for gRPC clients.
//!
//! Reference: xDS protocol, "Client Configuration"; gRFC A27.

use crate::lint::memory::references::ResourceRef;
use crate::lint::prelude::*;
use xdscope_schema::links::SourceKind;
use xdscope_wire::event::{Kind, Sym};

rule! {
    grpc-client-needs-ads: Warn, rows "I-09",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let is_root = matches!(response.track.kind, Some(Kind::Lds | Kind::Cds)) && ctx.options.links.is_some();
    let agent = ctx.stream.peers.node.as_ref().map_or("", |node| node.user_agent.as_str());
    if !is_root || !agent.to_ascii_lowercase().contains("grpc") {
        return;
    }
    let new: Vec<Sym> = response.new_names().collect();
    let is_elsewhere = |to: &ResourceRef| {
        let is_ads = matches!(to.source, None | Some(SourceKind::Ads | SourceKind::Own));
        matches!(to.kind, Kind::Rds | Kind::Eds) && !is_ads
    };
    let refs = ctx.references_of(response.track, &new).into_iter();
    let names: Vec<Sym> =
        refs.filter(|(_, refs)| refs.iter().any(is_elsewhere)).map(|(name, _)| name).collect();
    if !names.is_empty() {
        let what = if response.track.kind == Some(Kind::Cds) { "endpoints" } else { "routes" };
        let text = format!("gRPC clients get {what} through ADS only, but another config source is stated");
        let draft = FindingDraft::new(Blame::Server, text, &names).guessed();
        ctx.report(&RULE, draft);
    }
}
