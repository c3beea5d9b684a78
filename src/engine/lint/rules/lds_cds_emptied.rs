//! An empty response deletes all listeners or all clusters.
//!
//! Why: A listener or cluster that a SotW response leaves out is deleted. An empty response
//! usually comes from a server that has lost its data. Resources with an entry in
//! `resource_errors` do not count. A delta server removes resources by name: a response that
//! removes all resources of a client with a wildcard is found, and one that removes the only
//! resource if the client has it from an earlier stream.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A B]
//! > cds v=1 n=a
//! < cds v=2 n=b []
//! ```
//!
//! Advice: Do not answer before the data is loaded.
//!
//! Reference: xDS protocol, "Deleting Resources".

use super::support::sort_unique;
use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use crate::session::{Presence, SymSet};
use xdscope_wire::event::Sym;

rule! {
    lds-cds-emptied: Warn, rows "E-44",
    ends(Ending::State);
    checks: Response(check)
}

fn check(ctx: &mut RuleContext<'_>, response: &ResponseContext<'_>) {
    let (removed, deletes) = match response.view.is_delta {
        true => (removed_by_name(ctx, response), "response removes"),
        false => (left_out(response), "empty response deletes"),
    };
    // The server states why it leaves out these resources.
    let explained: SymSet = response.view.resource_errors.iter().map(|error| error.name).collect();
    let (catalog, track) = (ctx.catalog(), response.track);
    // The client never had what it has refused.
    let is_deleted = |name: &Sym| !explained.contains(name) && !track.has_only_refused(catalog, *name);
    let names: Vec<Sym> = removed.into_iter().filter(is_deleted).collect();
    let text = match names.len() {
        0 => return,
        1 => format!("{deletes} the only resource"),
        all => format!("{deletes} all {all} resources"),
    };
    let draft = FindingDraft::new(Blame::Server, text, &names).guessed();
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::Emptied(response.track.kind), ctx.at));
}

/// Returns the resources that an empty SotW response deletes.
fn left_out(response: &ResponseContext<'_>) -> Vec<Sym> {
    match response.is_full_state() && response.view.resources.is_empty() {
        true => response.outcome.removed.clone(),
        false => Vec::new(),
    }
}

/// Returns the resources that a delta response removes from a client with a wildcard, if the client
/// has none afterwards.
///
/// A server may remove the only resource on purpose, unless that is its first statement about what
/// the client has from an earlier stream.
fn removed_by_name(ctx: &RuleContext<'_>, response: &ResponseContext<'_>) -> Vec<Sym> {
    let track = response.track;
    let is_root = track.is_of_full_state() && track.subscribed.is_wildcard();
    if !is_root || track.sent.count() > 0 || !track.knows_all_resources(true) {
        return Vec::new();
    }
    let was_held = |name: &Sym| {
        let entry = track.sent.get(ctx.catalog(), *name);
        entry.is_some_and(|entry| entry.state == Presence::Removed)
    };
    let mut removed: Vec<Sym> = response.outcome.removed.iter().copied().filter(was_held).collect();
    sort_unique(&mut removed);
    let is_first = track.traffic.pushes == 1;
    if removed.len() == 1 && !is_first { Vec::new() } else { removed }
}
