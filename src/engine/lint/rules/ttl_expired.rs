//! A resource outlived its time to live, and nothing prolonged it.
//!
//! Why: At the end of its time the client removes the resource. Either the server has stopped its heartbeats,
//! or it meant the resource to end.
//!
//! Example:
//! ```text
//! > sub=[r]
//! < n=1 [r@1 ttl=10s]
//! > n=1
//! advance 10s
//! ```
//!
//! Instead: send heartbeats well before the time is up.
//!
//! Protocol: "TTL"; row G-02.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "ttl-expired",
    severity: Severity::Warn,
    rows: "G-02",
    source: include_str!("ttl_expired.rs"),
    on: &[On::Alarm(Alarm::Ttl, check)],
};

use super::super::context::{COALESCE, MANY};

fn check(case: &mut RuleContext<'_>) {
    let Some(track) = case.own_track() else { return };
    let at = case.at;
    case.memo.expired.retain(|name, deadline| track.deadlines.get(name) == Some(deadline));
    let expired = &case.memo.expired;
    let over =
        track.deadlines.iter().filter(|(name, deadline)| **deadline <= at && !expired.contains_key(*name));
    let over: Vec<_> = over.map(|(name, deadline)| (*name, *deadline)).collect();
    let later = track.deadlines.values().copied().filter(|deadline| *deadline > at).min();
    case.memo.expired.extend(over.iter().copied());
    if let Some(next) = later {
        // With many of them, not each by itself: a look at all costs time.
        let soon = at.after(COALESCE);
        case.arm(Alarm::Ttl, if track.deadlines.len() > MANY { next.max(soon) } else { next });
    }
    let here = |name: &crate::wire::event::Sym| track.sent.is_present(case.catalog(), *name);
    let names: Vec<_> = over.into_iter().map(|(name, _)| name).filter(here).collect();
    if !names.is_empty() && case.whole() {
        let text = "its time to live is over, nothing prolonged it".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
