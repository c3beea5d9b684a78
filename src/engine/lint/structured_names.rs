//! Structured names of requests and responses, parsed.

use super::context::RuleContext;
use super::exchange::ResponseContext;
use super::structured::ParsedName;
use crate::engine::session::Name;
use crate::wire::event::Sym;

/// Parses the structured names among `names`.
pub(super) fn structured_names<'a>(ctx: &RuleContext<'a>, names: &[Sym]) -> Vec<ParsedName<'a>> {
    let catalog = ctx.catalog();
    names.iter().filter_map(|name| Some((*name, Name::parse(catalog.text(*name))?))).collect()
}

/// Parses the structured names of the resources in a response.
pub(super) fn delivered_names<'a>(
    ctx: &RuleContext<'a>,
    response: &ResponseContext<'_>,
) -> Vec<ParsedName<'a>> {
    let catalog = ctx.catalog();
    let names: Vec<Sym> = response.scan.structured.iter().map(|id| catalog.entry(*id).name).collect();
    structured_names(ctx, &names)
}
