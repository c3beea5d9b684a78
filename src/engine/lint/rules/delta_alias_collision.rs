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

use std::collections::HashMap;

use crate::lint::prelude::*;
use xdscope_wire::event::Sym;

rule! {
    delta-alias-collision: Warn, rows "F-30",
    ends(Ending::Content);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let (catalog, track) = (ctx.catalog(), response.track);
    let mut names: Vec<Sym> = Vec::new();
    let mut claims = HashMap::new();
    // A resource of the response has the aliases that the response states.
    let is_stated =
        |name: &Sym| response.view.resources.blobs().iter().any(|id| catalog.entry(*id).name == *name);
    for id in &response.scan.aliased {
        let entry = catalog.entry(*id);
        let is_another = |name: Sym| name != entry.name && track.sent.is_present(catalog, name);
        for alias in entry.aliases {
            let before = || ctx.state.references.aliases.get(alias).copied().filter(|name| !is_stated(name));
            let owner = claims.insert(*alias, entry.name).or_else(before);
            if owner.is_some_and(is_another) || is_another(*alias) {
                names.push(*alias);
            }
        }
    }
    ctx.report_names(&RULE, Blame::Server, "alias of more than one resource", &names);
}
