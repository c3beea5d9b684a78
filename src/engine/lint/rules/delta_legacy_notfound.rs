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

use super::support::names_without_payload;
use crate::lint::prelude::*;
use crate::session::{Hollow, SymSet, key};

rule! {
    delta-legacy-notfound: Warn, rows "G-11, L-12",
    ends(Ending::Names);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let mut names = names_without_payload(response, Hollow::NotFound);
    if names.is_empty() {
        return;
    }
    // An entry with a TTL is a heartbeat of a resource that the client does not have.
    let catalog = ctx.catalog();
    let blobs = response.view.resources.blobs().iter();
    let with_ttl = blobs.filter(|id| catalog.entry(**id).ttl.is_some());
    let with_ttl: SymSet = with_ttl.map(|id| response.track.canonical(catalog, key(catalog, *id))).collect();
    names.retain(|name| !with_ttl.contains(name));
    ctx.report_names(&RULE, Blame::Server, "entry without payload: the old form of not found", &names);
}
