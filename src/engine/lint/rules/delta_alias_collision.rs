//! Two resources claim one alias, or an alias is the name of another resource.
//!
//! Why: Clients look up resources by name and by alias, so each must lead to one resource.
//!
//! Example:
//! ```text
//! < n=1 [rc/x@1 aliases=[rc/z]]
//! < n=2 [rc/y@1 aliases=[rc/z]]
//! ```
//!
//! Advice: Give each alias to one resource.
//!
//! Reference: xDS protocol, "Resource names".

use crate::lint::prelude::*;

rule! {
    delta-alias-collision: Warn, rows "F-30",
    ends(Ending::Content);
    checks: Response(check)
}

use xdscope_wire::event::Sym;

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let (catalog, track) = (ctx.catalog(), response.track);
    let mut names: Vec<Sym> = Vec::new();
    let mut claims = std::collections::HashMap::new();
    // A resource of the response has the aliases that the response states.
    let is_stated =
        |name: &Sym| response.view.resources.blobs().iter().any(|id| catalog.entry(*id).name == *name);
    for id in &response.scan.aliased {
        let entry = catalog.entry(*id);
        for alias in entry.aliases {
            let before = || ctx.state.aliases.get(alias).copied().filter(|name| !is_stated(name));
            let known = claims.insert(*alias, entry.name).or_else(before);
            let other = known.filter(|other| *other != entry.name && track.sent.is_present(catalog, *other));
            let name = *alias != entry.name && track.sent.is_present(catalog, *alias);
            if other.is_some() || name {
                names.push(*alias);
            }
        }
    }
    if !names.is_empty() {
        let text = "alias of more than one resource".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
