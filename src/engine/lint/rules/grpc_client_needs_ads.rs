//! A gRPC client is sent a listener or cluster whose routes or endpoints come from elsewhere than ADS.
//!
//! Why: gRPC clients speak with one server, by ADS alone, and refuse a resource that names another source. That it is a
//! gRPC client is told by its user agent, which is a guess.
//!
//! Example:
//! ```text
//! node n1 agent="gRPC Go/1.70"
//! < cds v=1 n=1 [c{type: EDS, eds_cluster_config: {eds_config: {api_config_source: {api_type: GRPC}}}}]
//! ```
//!
//! Instead: send gRPC clients `ads` (or `self`) as the source.
//!
//! Protocol: "Aggregated Discovery Service", proxyless clients; row I-09.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "grpc-client-needs-ads",
    severity: Severity::Warn,
    rows: "I-09",
    source: include_str!("grpc_client_needs_ads.rs"),
    on: &[On::Response(check)],
};

use crate::schema::links::SourceKind;
use crate::wire::event::{Kind, Sym};

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let roots = matches!(answer.track.kind, Some(Kind::Lds | Kind::Cds)) && case.options.links.is_some();
    let agent = case.stream.node.as_ref().map_or("", |node| node.user_agent.as_str());
    if !roots || !agent.to_ascii_lowercase().contains("grpc") {
        return;
    }
    let new: Vec<Sym> = answer.outcome.added.iter().chain(&answer.outcome.changed).copied().collect();
    let elsewhere =
        |source: Option<SourceKind>| source.is_some_and(|s| !matches!(s, SourceKind::Ads | SourceKind::Own));
    let refs = case.refs_of(answer.track, &new).into_iter();
    let bad = refs.filter(|(_, refs)| {
        refs.iter().any(|to| matches!(to.kind, Kind::Rds | Kind::Eds) && elsewhere(to.source))
    });
    let names: Vec<Sym> = bad.map(|(name, _)| name).collect();
    if !names.is_empty() {
        let what = if answer.track.kind == Some(Kind::Cds) { "endpoints" } else { "routes" };
        let text = format!("a gRPC client gets its {what} by ADS only, and this names another source");
        let found = Found { blame: Blame::Server, text, names: &names, guess: true, ..Found::default() };
        case.raise(&RULE, found);
    }
}
