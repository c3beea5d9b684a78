//! A resource is requested from another source than its parent states.
//!
//! Why: The config source in a listener or cluster states where routes or endpoints come from. The
//! client requests them on a stream of another kind: because of its own configuration, or because
//! of another parent that is not visible.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{eds}]
//! stream 2 sotw eds
//! > names=[c]
//! ```
//!
//! Advice: Request resources on the ADS stream where the config source is `ads`, and on a stream
//! of their own where the config source names a service.
//!
//! Reference: xDS protocol, "Configuring Which Variant to Use".

use indexmap::IndexMap;

use crate::lint::prelude::*;
use xdscope_schema::links::SourceKind;
use xdscope_wire::event::{Kind, Sym};

rule! {
    config-source-other: Info, rows "I-06";
    checks: Request(check)
}

/// Types whose resources state the source of others.
const PARENTS: [Kind; 4] = [Kind::Lds, Kind::Cds, Kind::Rds, Kind::Srds];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let (Some(variant), Some(kind)) = (ctx.stream.variant(), request.track.kind) else { return };
    // A dump has no requests.
    if request.outcome.added.is_empty() || ctx.stream.is_dump() {
        return;
    }
    if ctx.options.links.is_none() || !ctx.knows_all_of(&PARENTS) {
        return;
    }
    let (catalog, client) = (ctx.catalog(), ctx.client());
    let graphs = &ctx.source_state.graphs;
    let mut by_source: IndexMap<SourceKind, Vec<Sym>> = IndexMap::new();
    for name in &request.outcome.added {
        if let Some(source) = graphs.source_of(catalog, &client, (kind, *name))
            && source.matches_variant(variant) == Some(false)
        {
            by_source.entry(source).or_default().push(*name);
        }
    }
    for (source, names) in by_source {
        let text =
            format!("requested on {}, but the parent states the source {}", variant.word(), source.word());
        ctx.report(
            &RULE,
            FindingDraft { text, names: &names, part: source.word(), ..FindingDraft::default() },
        );
    }
}
