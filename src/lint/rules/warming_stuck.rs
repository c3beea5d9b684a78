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

use crate::event::{Kind, Sym};
use crate::session::Held;

fn check(case: &mut Case<'_>) {
    let (at, limit) = (case.at, case.options.timers.warm);
    let Some(track) = case.own_track() else { return };
    let due: Vec<_> =
        case.memo.warming.iter().filter(|(_, w)| at.since(w.since) >= limit).map(|(n, w)| (*n, *w)).collect();
    for (name, _) in &due {
        case.memo.warming.remove(name);
    }
    if case.memo.warming.is_empty() {
        // Its room, too: after a large push it is large, and each stream has one.
        case.memo.warming = Default::default();
    }
    if let Some(next) = case.memo.warming.values().map(|warming| warming.since).min() {
        case.arm(Alarm::Warming, next.after(limit));
    }
    let stuck = |(name, warming): &(Sym, super::super::graph::Warming)| {
        let offered = track.sent.here(case.catalog(), *name) && !track.refused.contains(name);
        offered && waits(case, warming)
    };
    let mut stuck: Vec<_> = due.into_iter().filter(stuck).collect();
    stuck.sort_by_key(|(name, _)| *name);
    for (again, note) in [(false, ""), (true, "; Envoy wants them again after an update")] {
        let some = stuck.iter().filter(|(_, warming)| warming.update == again);
        let (names, mut evidence): (Vec<_>, Vec<_>) =
            some.map(|(name, warming)| (*name, warming.seq)).unzip();
        evidence.dedup();
        if !names.is_empty() && case.sure() {
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
fn waits(case: &Case<'_>, warming: &super::super::graph::Warming) -> bool {
    let (kind, name) = warming.child;
    let (catalog, tracks) = (case.catalog(), case.tracks_of(kind));
    let wanted = tracks.iter().any(|(_, track)| track.covers(catalog, name, None));
    let sent = tracks.iter().any(|(_, track)| {
        let Some(slot) = track.sent.get(catalog, name) else { return false };
        let held = slot.here();
        // A listener may warm up on the routes it has (row H-06); so may the cluster of a client other than Envoy.
        if held && (kind == Kind::Rds || (warming.update && !may_be_envoy(case))) {
            return true;
        }
        let ended = matches!(slot.state, Held::Removed | Held::Absent(_) | Held::Released);
        let at = track.responses.get(slot.order).map(|response| response.at);
        // What was sent too long ago to be remembered can't be told.
        ended || (held && at.is_none_or(|at| at >= warming.since))
    });
    wanted && !sent
}

fn may_be_envoy(case: &Case<'_>) -> bool {
    let agent = case.stream.node.as_ref().map_or("", |node| node.user_agent.as_str());
    agent.is_empty() || agent.to_ascii_lowercase().contains("envoy")
}
