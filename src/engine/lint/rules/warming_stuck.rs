//! A cluster or listener waits for endpoints or routes that do not arrive.
//!
//! Why: Clusters and listeners warm before they are used: until their endpoints or routes arrive,
//! the old ones stay in use, and at start-up nothing works. Envoy needs the endpoints of an
//! updated cluster again, even if they have not changed.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [c{eds}]
//! > cds v=1 n=a
//! > eds names=[c]
//! advance 15s
//! ```
//!
//! Advice: Send the endpoints of each new or changed cluster, and the routes of each new listener.
//!
//! Reference: xDS protocol, "Resource warming".

use super::super::prelude::*;

pub(super) static RULE: Rule =
    Rule::new(Severity::Warn, "warming-stuck", "H-04, H-05", include_str!("warming_stuck.rs"));

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Warming, check)];

use super::super::references::awaited;
use super::super::warming::WarmingBatch;
use crate::engine::session::Presence;
use crate::wire::event::{Kind, Sym};

fn check(ctx: &mut RuleContext<'_>) {
    let (at, limit) = (ctx.at, ctx.options.timers.warm);
    let Some(track) = ctx.current_track() else { return };
    let Some(kind) = track.kind else { return };
    let mut over = Vec::new();
    while ctx.state.warming.since().is_some_and(|since| at.since(since) >= limit) {
        over.extend(ctx.state.warming.pop());
    }
    if let Some(next) = ctx.state.warming.since() {
        ctx.arm(Alarm::Warming, next.after(limit));
    }
    let mut due = Vec::new();
    for warming in &over {
        for (name, refs) in ctx.references_of(track, &warming.names) {
            due.extend(awaited(kind, &refs).map(|child| (name, warming, child)));
        }
    }
    let stuck = |(name, warming, child): &(Sym, &WarmingBatch, (Kind, Sym))| {
        let offered = track.sent.is_present(ctx.catalog(), *name) && !track.refused.contains_key(name);
        offered && waits(ctx, warming, *child)
    };
    let mut stuck: Vec<_> = due.into_iter().filter(stuck).collect();
    stuck.sort_by_key(|(name, ..)| *name);
    for (is_update, note) in [(false, ""), (true, "; Envoy needs them again after an update")] {
        let batch = stuck.iter().filter(|(_, warming, _)| warming.update == is_update);
        let (names, mut evidence): (Vec<_>, Vec<_>) =
            batch.map(|(name, warming, _)| (*name, warming.seq)).unzip();
        evidence.dedup();
        if !names.is_empty() && ctx.has_full_history() {
            let children = if track.kind == Some(Kind::Cds) { "endpoints" } else { "routes" };
            let text = format!("waits for {children}{note}");
            ctx.report(
                &RULE,
                FindingDraft { evidence: &evidence, ..FindingDraft::new(Blame::Server, text, &names) },
            );
        }
    }
}

/// Whether the child was requested on a visible stream and not sent since.
fn waits(ctx: &RuleContext<'_>, warming: &WarmingBatch, (kind, name): (Kind, Sym)) -> bool {
    let (catalog, tracks) = (ctx.catalog(), ctx.tracks_of(kind));
    let wanted = tracks.iter().any(|(_, track)| track.covers(catalog, name, None));
    let sent = tracks.iter().any(|(_, track)| {
        let Some(slot) = track.sent.get(catalog, name) else { return false };
        let is_present = slot.is_present();
        // A listener may warm with the routes that the client has, and so may clusters outside
        // Envoy: docs/protocol.md#h-06
        if is_present && (kind == Kind::Rds || (warming.update && !may_be_envoy(ctx))) {
            return true;
        }
        let ended = matches!(slot.state, Presence::Removed | Presence::Absent(_) | Presence::Released);
        let at = track.responses.get(slot.order).map(|response| response.at);
        // The time of a response that is no longer remembered is unknown.
        ended || (is_present && at.is_none_or(|at| at >= warming.since))
    });
    wanted && !sent
}

fn may_be_envoy(ctx: &RuleContext<'_>) -> bool {
    let agent = ctx.stream.node.as_ref().map_or("", |node| node.user_agent.as_str());
    agent.is_empty() || agent.to_ascii_lowercase().contains("envoy")
}
