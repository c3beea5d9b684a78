//! The TTL of a resource expired without a refresh.
//!
//! Why: The client removes the resource at expiry. Either the server stopped its heartbeats, or
//! the resource was meant to expire.
//!
//! Example:
//! ```text
//! > sub=[r]
//! < n=1 [r@1 ttl=10s]
//! > n=1
//! advance 10s
//! ```
//!
//! Advice: Send heartbeats well before expiry.
//!
//! Reference: xDS protocol, "TTL".

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::findings::overdue::{MAX_EXACT_NAMES, MIN_TIMER_INTERVAL};
use crate::lint::prelude::*;
use crate::session::Track;
use xdscope_wire::event::Sym;

rule! {
    ttl-expired: Warn, rows "G-02",
    ends(Ending::State);
    checks: Alarm(Alarm::Ttl, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let at = ctx.at;
    ctx.state
        .ttl
        .reported_deadlines
        .retain(|name, deadline| track.ttl.deadlines.get(*name) == Some(deadline));
    let deadlines = track.ttl.deadlines.iter().map(|(name, deadline)| (name, *deadline));
    let (mut expired, later): (Vec<_>, Vec<_>) = deadlines.partition(|(_, deadline)| *deadline <= at);
    expired.retain(|(name, _)| !ctx.state.ttl.reported_deadlines.contains_key(name));
    ctx.state.ttl.reported_deadlines.extend(expired.iter().copied());
    if let Some(next) = later.into_iter().map(|(_, deadline)| deadline).min() {
        // Batches many deadlines, because each check visits all of them.
        let soon = at.after(MIN_TIMER_INTERVAL);
        ctx.arm(Alarm::Ttl, if track.ttl.deadlines.len() > MAX_EXACT_NAMES { next.max(soon) } else { next });
    }
    // No server can refresh a resource between two streams.
    let opened = ctx.stream.opened;
    expired.retain(|(name, deadline)| *deadline >= opened && is_in_use(ctx, track, *name));
    let Some(since) = expired.iter().map(|(_, deadline)| *deadline).min() else { return };
    let names: Vec<_> = expired.into_iter().map(|(name, _)| name).collect();
    let draft = FindingDraft::new(Blame::Server, "TTL expired without a refresh", &names);
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::Expired, since));
}

/// Whether the client has a resource, and no lost response may have refreshed it. Nobody refreshes
/// a resource without a subscription.
fn is_in_use(ctx: &RuleContext<'_>, track: &Track, name: Sym) -> bool {
    let Some(entry) = track.sent.get(ctx.catalog(), name) else { return false };
    entry.is_present() && track.is_current(&entry) && track.covers(ctx.catalog(), name, Some(&entry))
}
