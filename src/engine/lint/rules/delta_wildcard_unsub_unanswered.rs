//! A name given up under a wildcard is not answered.
//!
//! Why: The client can't know whether the wildcard still covers it. The server must send the resource again, or
//! remove it.
//!
//! Example:
//! ```text
//! >
//! < n=1 [A@1 B@1]
//! > n=1
//! > sub=[C]
//! < n=2 [C@1]
//! > n=2
//! > unsub=[C]
//! advance 15s
//! ```
//!
//! Instead: answer with the resource if it belongs to the wildcard, else with its name in `removed_resources`.
//!
//! Protocol: "Unsubscribing from resources"; row F-26.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-wildcard-unsub-unanswered",
    severity: Severity::Warn,
    rows: "F-26",
    source: include_str!("delta_wildcard_unsub_unanswered.rs"),
    on: &[On::Alarm(Alarm::Reclassify, check)],
};

use crate::wire::Profile;

fn check(case: &mut RuleContext<'_>) {
    let limit = case.options.timers.answer;
    let at = case.at;
    let due = |since: crate::wire::event::Time| at.since(since) >= limit;
    let over = case.memo.reclassify.iter().filter(|(_, (since, _))| due(*since));
    let mut over: Vec<_> = over.map(|(name, (_, seq))| (*name, *seq)).collect();
    over.sort_unstable();
    case.memo.reclassify.retain(|_, (since, _)| !due(*since));
    if let Some(next) = case.memo.reclassify.values().map(|(since, _)| *since).min() {
        case.arm(Alarm::Reclassify, next.after(limit));
    }
    let (names, mut evidence): (Vec<_>, Vec<_>) = over.into_iter().unzip();
    evidence.dedup();
    if names.is_empty() || !case.is_certain() {
        return;
    }
    let text = "given up under a wildcard, and neither sent again nor removed".to_owned();
    let severity = (case.profile() != Profile::Current).then_some(Severity::Info);
    let (blame, names, evidence) = (Blame::Server, names.as_slice(), evidence.as_slice());
    case.raise(&RULE, Found { blame, text, names, evidence, severity, ..Found::default() });
}
