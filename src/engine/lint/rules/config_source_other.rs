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

use crate::lint::prelude::*;

rule! {
    config-source-other: Info, rows "I-06";
    checks: Request(check)
}

use xdscope_schema::links::SourceKind;
use xdscope_wire::event::{Kind, Sym};

/// Types whose resources state the source of others.
const PARENTS: [Kind; 4] = [Kind::Lds, Kind::Cds, Kind::Rds, Kind::Srds];

fn check(ctx: &mut RuleContext<'_>, request: &RequestContext<'_>) {
    let known = ctx.options.links.is_some() && ctx.knows_all_of(&PARENTS);
    // A dump has no requests.
    let known = known && !ctx.stream.is_dump();
    let Some(variant) = ctx.stream.variant().filter(|_| known && !request.outcome.added.is_empty()) else {
        return;
    };
    let Some(kind) = request.track.kind else { return };
    let (catalog, client) = (ctx.catalog(), ctx.client());
    let graphs = &ctx.source_state.graphs;
    let other = |name: Sym| -> Option<(SourceKind, Sym)> {
        let source = graphs.source_of(catalog, &client, (kind, name))?;
        (source.matches_variant(variant) == Some(false)).then_some((source, name))
    };
    let mut found: Vec<_> = request.outcome.added.iter().filter_map(|name| other(*name)).collect();
    while let Some((source, _)) = found.first().copied() {
        let names: Vec<Sym> = found.iter().filter(|(of, _)| *of == source).map(|(_, name)| *name).collect();
        found.retain(|(of, _)| *of != source);
        let text =
            format!("requested on {}, but the parent states the source {}", variant.word(), source.word());
        ctx.report(
            &RULE,
            FindingDraft { text, names: &names, part: source.word(), ..FindingDraft::default() },
        );
    }
}
