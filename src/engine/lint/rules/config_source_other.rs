//! A resource is asked for from another source than its parent says.
//!
//! Why: A listener or cluster says in a `ConfigSource` where its routes or endpoints come from. The client asks for them
//! on a stream of another kind: it has a configuration of its own, or another parent that is not seen here.
//!
//! Example:
//! ```text
//! < cds v=1 n=1 [c{eds}]
//! stream 2 sotw eds
//! > names=[c]
//! ```
//!
//! Instead: where the `ConfigSource` says `ads`, ask on the aggregated stream; where it names a service of its own, ask there.
//!
//! Protocol: "Aggregated Discovery Service", ConfigSource; row I-06.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "config-source-other",
    severity: Severity::Info,
    rows: "I-06",
    source: include_str!("config_source_other.rs"),
    on: &[On::Request(check)],
};

use crate::schema::links::SourceKind;
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, asking: &RequestContext<'_>) {
    let known = case.options.links.is_some() && case.is_certain();
    let Some(variant) = case.stream.variant().filter(|_| known && !asking.outcome.added.is_empty()) else {
        return;
    };
    let Some(kind) = asking.track.kind else { return };
    let client = case.client();
    let graphs = &case.world.graphs;
    let other = |name: Sym| -> Option<(SourceKind, Sym)> {
        let source = graphs.source_of(&client, (kind, name))?;
        (source.matches_variant(variant) == Some(false)).then_some((source, name))
    };
    let mut found: Vec<_> = asking.outcome.added.iter().filter_map(|name| other(*name)).collect();
    while let Some((source, _)) = found.first().copied() {
        let names: Vec<Sym> = found.iter().filter(|(of, _)| *of == source).map(|(_, name)| *name).collect();
        found.retain(|(of, _)| *of != source);
        let text = format!(
            "its parent says that it comes from {}, and it is asked for on {}",
            source.word(),
            variant.word()
        );
        case.raise(&RULE, Found { text, names: &names, part: source.word(), ..Found::default() });
    }
}
