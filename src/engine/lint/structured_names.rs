//! Structured names of requests and responses, parsed.

use super::context::RuleContext;
use super::exchange::{RequestContext, ResponseContext};
use super::structured::ParsedName;
use crate::session::SymSet;
use xdscope_wire::event::{Kind, Sym};
use xdscope_wire::xdstp::Name;

/// Parses the structured names among `names`.
pub(super) fn structured_names<'a>(ctx: &RuleContext<'a>, names: &[Sym]) -> Vec<ParsedName<'a>> {
    let catalog = ctx.catalog();
    names.iter().filter_map(|name| Some((*name, Name::parse(catalog.text(*name))?))).collect()
}

/// Parses the structured names that a request adds, each in the spelling of the request.
pub(super) fn requested_names<'a>(
    ctx: &RuleContext<'a>,
    request: &RequestContext<'_>,
) -> Vec<ParsedName<'a>> {
    let catalog = ctx.catalog();
    if !catalog.has_spellings() {
        return structured_names(ctx, &request.outcome.added);
    }
    let added: SymSet = request.outcome.added.iter().copied().collect();
    let is_new = |name: &Sym| {
        let first = catalog.first_spelling(*name);
        added.contains(&first) || (first != *name && !ctx.state.requests.spellings.contains(name))
    };
    let names: Vec<Sym> = request.names().filter(is_new).collect();
    structured_names(ctx, &names)
}

/// Whether the server has given a name to the client: a resource of the server refers to it.
pub(super) fn is_given(ctx: &RuleContext<'_>, kind: Option<Kind>, name: Sym) -> bool {
    let graphs = &ctx.source_state.graphs;
    let is_used = |kind: Kind| graphs.is_used(ctx.catalog(), &ctx.client(), (kind, name)) == Some(true);
    let canonical = Name::parse(ctx.text(name)).map(|name| name.canonical());
    let is_target =
        |canonical: String| ctx.state.references.targets.iter().any(|target| target.name == canonical);
    kind.is_some_and(is_used) || canonical.is_some_and(is_target)
}

/// Whether a response only repeats the spelling of a name that the client requests.
pub(super) fn is_repeated(ctx: &RuleContext<'_>, response: &ResponseContext<'_>, name: Sym) -> bool {
    ctx.catalog().first_spelling(name) == name && response.track.subscribed.names.contains(name)
}

/// Parses the structured names of the resources in a response, and those that it removes in
/// another spelling than before, without names that the response only repeats.
pub(super) fn delivered_names<'a>(
    ctx: &RuleContext<'a>,
    response: &ResponseContext<'_>,
) -> Vec<ParsedName<'a>> {
    let catalog = ctx.catalog();
    let sent = response.scan.structured.iter().map(|id| catalog.entry(*id).name);
    let removed = response.view.removed.iter().copied().filter(|name| catalog.first_spelling(*name) != *name);
    let names: Vec<Sym> = sent.chain(removed).filter(|name| !is_repeated(ctx, response, *name)).collect();
    structured_names(ctx, &names)
}
