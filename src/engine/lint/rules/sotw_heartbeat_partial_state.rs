//! A response of heartbeats leaves out listeners or clusters.
//!
//! Why: A listener or cluster that a SotW response leaves out is deleted. The protocol does not
//! say whether that applies to heartbeats, and some clients delete.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [wrap(A@1 ttl=5s) wrap(B@1 ttl=5s)]
//! < cds v=1 n=b [wrap(A@1 unset ttl=5s)]
//! ```
//!
//! Advice: Include every resource in each response of listeners or clusters, heartbeats too.
//!
//! Reference: xDS protocol, "SotW TTL".

use crate::lint::prelude::*;
use crate::session::{ResourceEntry, SymSet};
use xdscope_wire::event::Sym;

rule! {
    sotw-heartbeat-partial-state: Warn, rows "G-10",
    ends(Ending::Response);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let (catalog, track) = (ctx.catalog(), response.track);
    if !response.is_full_state()
        || !response.is_heartbeat()
        || track.sent.count() <= response.view.resources.len()
    {
        return;
    }
    let sent: SymSet = response.names(catalog).collect();
    let is_missing = |(name, entry): &(Sym, ResourceEntry)| {
        entry.is_present() && !sent.contains(name) && track.covers(catalog, *name, Some(entry))
    };
    let resources = track.sent.entries(catalog).into_iter();
    let names: Vec<Sym> = resources.filter(is_missing).map(|(name, _)| name).collect();
    let text = "missing from a response of heartbeats: some clients delete the resource";
    ctx.report_names(&RULE, Blame::Server, text, &names);
}
