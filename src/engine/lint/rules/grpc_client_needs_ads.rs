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

use crate::lint::prelude::*;

rule! {
    grpc-client-needs-ads: Warn, rows "I-09",
    ends(Ending::Content);
    checks: Response(check)
}

use xdscope_schema::links::SourceKind;
use xdscope_wire::event::{Kind, Sym};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let roots = matches!(response.track.kind, Some(Kind::Lds | Kind::Cds)) && ctx.options.links.is_some();
    let agent = ctx.stream.node.as_ref().map_or("", |node| node.user_agent.as_str());
    if !roots || !agent.to_ascii_lowercase().contains("grpc") {
        return;
    }
    let new: Vec<Sym> = response.outcome.added.iter().chain(&response.outcome.changed).copied().collect();
    let elsewhere =
        |source: Option<SourceKind>| source.is_some_and(|s| !matches!(s, SourceKind::Ads | SourceKind::Own));
    let refs = ctx.references_of(response.track, &new).into_iter();
    let bad = refs.filter(|(_, refs)| {
        refs.iter().any(|to| matches!(to.kind, Kind::Rds | Kind::Eds) && elsewhere(to.source))
    });
    let names: Vec<Sym> = bad.map(|(name, _)| name).collect();
    if !names.is_empty() {
        let what = if response.track.kind == Some(Kind::Cds) { "endpoints" } else { "routes" };
        let text = format!("gRPC clients get {what} through ADS only, but another config source is stated");
        let draft = FindingDraft { guess: true, ..FindingDraft::new(Blame::Server, text, &names) };
        ctx.report(&RULE, draft);
    }
}
