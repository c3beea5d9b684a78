//! A cluster or listener waits for its endpoints or routes, and they do not come.
//!
//! Why: Clusters and listeners warm up before they are used: until the endpoints, or the routes, are there the
//! old ones stay in use, and at the start nothing works. Envoy wants the endpoints of an updated cluster again
//! even if they did not change.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [c{eds}]
//! > cds v=1 n=a
//! > eds names=[c]
//! advance 15s
//! ```
//!
//! Instead: send the endpoints of each new or changed cluster, and the routes of each new listener.
//!
//! Protocol: "Resource warming"; rows H-04, H-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "warming-stuck",
    severity: Severity::Warn,
    rows: "H-04, H-05",
    source: include_str!("warming_stuck.rs"),
    on: &[On::Alarm(Alarm::Warming, check)],
};

use super::super::graph::awaited;
use super::super::warming::Warming;
use crate::engine::session::Presence;
use crate::wire::event::{Kind, Sym};

fn check(case: &mut RuleContext<'_>) {
    let (at, limit) = (case.at, case.options.timers.warm);
    let Some(track) = case.own_track() else { return };
    let Some(kind) = track.kind else { return };
    let mut over = Vec::new();
    while case.memo.warming.since().is_some_and(|since| at.since(since) >= limit) {
        over.extend(case.memo.warming.pop());
    }
    if let Some(next) = case.memo.warming.since() {
        case.arm(Alarm::Warming, next.after(limit));
    }
    let mut due = Vec::new();
    for warming in &over {
        for (name, refs) in case.refs_of(track, &warming.names) {
            due.extend(awaited(kind, &refs).map(|child| (name, warming, child)));
        }
    }
    let stuck = |(name, warming, child): &(Sym, &Warming, (Kind, Sym))| {
        let offered = track.sent.is_present(case.catalog(), *name) && !track.refused.contains(name);
        offered && waits(case, warming, *child)
    };
    let mut stuck: Vec<_> = due.into_iter().filter(stuck).collect();
    stuck.sort_by_key(|(name, ..)| *name);
    for (again, note) in [(false, ""), (true, "; Envoy wants them again after an update")] {
        let some = stuck.iter().filter(|(_, warming, _)| warming.update == again);
        let (names, mut evidence): (Vec<_>, Vec<_>) =
            some.map(|(name, warming, _)| (*name, warming.seq)).unzip();
        evidence.dedup();
        if !names.is_empty() && case.is_certain() {
            let what = if track.kind == Some(Kind::Cds) { "endpoints" } else { "routes" };
            let text = format!("waits for its {what}{note}");
            case.raise(
                &RULE,
                Found { blame: Blame::Server, text, names: &names, evidence: &evidence, ..Found::default() },
            );
        }
    }
}

/// The child was asked for on a stream in view, and not sent since.
fn waits(case: &RuleContext<'_>, warming: &Warming, (kind, name): (Kind, Sym)) -> bool {
    let (catalog, tracks) = (case.catalog(), case.tracks_of(kind));
    let wanted = tracks.iter().any(|(_, track)| track.covers(catalog, name, None));
    let sent = tracks.iter().any(|(_, track)| {
        let Some(slot) = track.sent.get(catalog, name) else { return false };
        let held = slot.is_present();
        // A listener may warm up on the routes it has (row H-06); so may the cluster of a client other than Envoy.
        if held && (kind == Kind::Rds || (warming.update && !may_be_envoy(case))) {
            return true;
        }
        let ended = matches!(slot.state, Presence::Removed | Presence::Absent(_) | Presence::Released);
        let at = track.responses.get(slot.order).map(|response| response.at);
        // What was sent too long ago to be remembered can't be told.
        ended || (held && at.is_none_or(|at| at >= warming.since))
    });
    wanted && !sent
}

fn may_be_envoy(case: &RuleContext<'_>) -> bool {
    let agent = case.stream.node.as_ref().map_or("", |node| node.user_agent.as_str());
    agent.is_empty() || agent.to_ascii_lowercase().contains("envoy")
}
