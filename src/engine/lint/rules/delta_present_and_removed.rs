//! A response both sends and removes a resource.
//!
//! Why: The protocol does not define which of the two applies.
//!
//! Example:
//! ```text
//! > sub=[a]
//! < n=1 [a@1] rm=[a]
//! ```
//!
//! Advice: Send the resource or remove it, not both.
//!
//! Reference: xDS protocol, "Deleting Resources".

use crate::lint::prelude::*;
use crate::session::SymSet;

rule! {
    delta-present-and-removed: Error, rows "F-29",
    ends(Ending::Names);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    if response.view.removed.is_empty() || response.view.resources.is_empty() {
        return;
    }
    let (track, catalog) = (response.track, ctx.catalog());
    let removed: SymSet = response.view.removed.iter().map(|name| track.canonical(catalog, *name)).collect();
    let names: Vec<_> = response.names(catalog).filter(|name| removed.contains(name)).collect();
    ctx.report_names(&RULE, Blame::Server, "in both resources and removed_resources", &names);
}
