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

use crate::lint::prelude::*;

rule! {
    ttl-expired: Warn, rows "G-02",
    ends(Ending::State);
    checks: Alarm(Alarm::Ttl, check)
}

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::findings::overdue::{MAX_EXACT_NAMES, MIN_TIMER_INTERVAL};

fn check(ctx: &mut RuleContext<'_>) {
    let Some(track) = ctx.current_track() else { return };
    let at = ctx.at;
    ctx.state.reported_deadlines.retain(|name, deadline| track.ttl.deadlines.get(*name) == Some(deadline));
    let expired = &ctx.state.reported_deadlines;
    let over =
        track.ttl.deadlines.iter().filter(|(name, deadline)| **deadline <= at && !expired.contains_key(name));
    let over: Vec<_> = over.map(|(name, deadline)| (name, *deadline)).collect();
    let later = track.ttl.deadlines.values().copied().filter(|deadline| *deadline > at).min();
    ctx.state.reported_deadlines.extend(over.iter().copied());
    if let Some(next) = later {
        // Batches many deadlines, because each check visits all of them.
        let soon = at.after(MIN_TIMER_INTERVAL);
        ctx.arm(Alarm::Ttl, if track.ttl.deadlines.len() > MAX_EXACT_NAMES { next.max(soon) } else { next });
    }
    // No server can refresh a resource between two streams.
    let opened = ctx.stream.opened;
    let over: Vec<_> = over.into_iter().filter(|(_, deadline)| *deadline >= opened).collect();
    // A lost response may have refreshed the resource, and nobody refreshes one without a
    // subscription.
    let is_expired = |name: &xdscope_wire::event::Sym| {
        let slot = track.sent.get(ctx.catalog(), *name).filter(|slot| slot.is_present());
        slot.is_some_and(|slot| track.is_current(&slot) && track.covers(ctx.catalog(), *name, Some(&slot)))
    };
    let over: Vec<_> = over.into_iter().filter(|(name, _)| is_expired(name)).collect();
    let Some(since) = over.iter().map(|(_, deadline)| *deadline).min() else { return };
    let names: Vec<_> = over.into_iter().map(|(name, _)| name).collect();
    let found = FindingDraft::new(Blame::Server, "TTL expired without a refresh".to_owned(), &names);
    ctx.report_lasting(&RULE, found, Lasting { state: LastingState::Expired, since, past: None });
}
