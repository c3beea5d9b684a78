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
    let gone: crate::session::SymSet =
        response.view.removed.iter().map(|name| track.canonical(catalog, *name)).collect();
    let names = response.view.resources.blobs().iter().map(|id| crate::session::key(catalog, *id));
    let names: Vec<_> = names.filter(|name| gone.contains(name)).collect();
    if !names.is_empty() {
        let text = "in both resources and removed_resources".to_owned();
        ctx.report(&RULE, FindingDraft::new(Blame::Server, text, &names));
    }
}
