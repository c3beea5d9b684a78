//! A server reports a missing resource as an entry without payload.
//!
//! Why: Since heartbeats exist, an entry without payload may be a heartbeat. The current form is
//! `removed_resources`.
//!
//! Example:
//! ```text
//! > sub=[s]
//! < n=2 [s unset]
//! ```
//!
//! Advice: List the name in `removed_resources`.
//!
//! Reference: xDS protocol, "Knowing When a Requested Resource Does Not Exist".

use crate::lint::prelude::*;

rule! {
    delta-legacy-notfound: Warn, rows "G-11, L-12",
    ends(Ending::Names);
    checks: Response(check)
}

use crate::session::{Hollow, SymSet, key};

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let mut names = super::support::names_without_payload(response, Hollow::NotFound);
    if !names.is_empty() {
        // An entry with a TTL is a heartbeat of a resource that the client does not have.
        let catalog = ctx.catalog();
        let blobs = response.view.resources.blobs().iter();
        let with_ttl = blobs.filter(|id| catalog.entry(**id).ttl.is_some());
        let with_ttl: SymSet =
            with_ttl.map(|id| response.track.canonical(catalog, key(catalog, *id))).collect();
        names.retain(|name| !with_ttl.contains(name));
    }
    if !names.is_empty() {
        let text = "entry without payload: the old form of not found".to_owned();
        let severity = None;
        ctx.report(&RULE, FindingDraft { severity, ..FindingDraft::new(Blame::Server, text, &names) });
    }
}
