//! A server reports a missing resource as an entry without payload.
//!
//! Why: Since heartbeats exist, an entry without payload may be a heartbeat. The current form is
//! `removed_resources`. Virtual hosts are an exception: an entry without payload, with the
//! requested host as its alias, tells Envoy that the host is unknown.
//!
//! Example:
//! ```text
//! > sub=[s]
//! < n=2 [s unset]
//! ```
//!
//! Advice: List the name in `removed_resources`.
//!
//! Reference: xDS protocol, "Knowing When a Requested Resource Does Not Exist"; Envoy
//! documentation, "Virtual Host Discovery Service (VHDS)".

use super::support::names_without_payload;
use crate::lint::prelude::*;
use crate::session::{Hollow, SymSet, key};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Kind;

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
    // An entry with a TTL is a heartbeat of a resource that the client does not have. A virtual
    // host with the requested host as its alias, and without payload, says that it is unknown.
    let catalog = ctx.catalog();
    let is_of_hosts = response.track.kind == Some(Kind::Vhds);
    let is_current = |id: &BlobId| {
        let entry = catalog.entry(*id);
        entry.ttl.is_some() || (is_of_hosts && !entry.aliases.is_empty())
    };
    let current = response.view.resources.blobs().iter().filter(|id| is_current(id));
    let current: SymSet = current.map(|id| response.track.canonical(catalog, key(catalog, *id))).collect();
    names.retain(|name| !current.contains(name));
    ctx.report_names(&RULE, Blame::Server, "entry without payload: the old form of not found", &names);
}
