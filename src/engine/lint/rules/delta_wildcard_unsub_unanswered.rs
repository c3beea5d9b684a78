//! A server does not answer a name that was unsubscribed under a wildcard.
//!
//! Why: The client does not know whether the wildcard still covers the name. The server must send
//! the resource again or remove it.
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
//! Advice: Answer with the resource if the wildcard covers it, and otherwise with its name in
//! `removed_resources`.
//!
//! Reference: xDS protocol, "Unsubscribing from Resources".

use super::super::prelude::*;

pub(super) static RULE: Rule = Rule::new(
    Severity::Warn,
    "delta-wildcard-unsub-unanswered",
    "F-26",
    include_str!("delta_wildcard_unsub_unanswered.rs"),
);

pub(super) static CHECKS: &[Check] = &[Check::Alarm(Alarm::Reclassify, check)];

use super::super::lasting::{Lasting, LastingState};
use crate::wire::Profile;

fn check(ctx: &mut RuleContext<'_>) {
    let limit = ctx.options.timers.answer;
    let at = ctx.at;
    let due = |since: crate::wire::event::Time| at.since(since) >= limit;
    let overdue = ctx.state.unsubscribed_under_wildcard.iter().filter(|(_, (since, _))| due(*since));
    let overdue = overdue.map(|(name, (since, seq))| (*name, *since, *seq));
    let mut overdue: Vec<_> = overdue.filter(|(.., seq)| ctx.has_all_since(*seq)).collect();
    overdue.sort_unstable();
    let first = overdue.iter().map(|(_, since, _)| *since).min();
    ctx.state.unsubscribed_under_wildcard.retain(|_, (since, _)| !due(*since));
    if let Some(next) = ctx.state.unsubscribed_under_wildcard.values().map(|(since, _)| *since).min() {
        ctx.arm(Alarm::Reclassify, next.after(limit));
    }
    let (names, mut evidence): (Vec<_>, Vec<_>) =
        overdue.into_iter().map(|(name, _, seq)| (name, seq)).unzip();
    evidence.dedup();
    let Some(since) = first else { return };
    let limit = limit.as_secs();
    let text = format!("unsubscribed under a wildcard, but neither sent again nor removed within {limit}s");
    let severity = (ctx.profile() != Profile::Current).then_some(Severity::Info);
    let (blame, names, evidence) = (Blame::Server, names.as_slice(), evidence.as_slice());
    let found = FindingDraft { blame, text, names, evidence, severity, ..FindingDraft::default() };
    ctx.report_lasting(&RULE, found, Lasting { state: LastingState::Unclassified, since, past: None });
}
