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

use crate::lint::findings::lasting::{Lasting, LastingState};
use crate::lint::prelude::*;
use xdscope_wire::Profile;

rule! {
    delta-wildcard-unsub-unanswered: Warn, rows "F-26",
    ends(Ending::State);
    checks: Alarm(Alarm::Reclassify, check)
}

fn check(ctx: &mut RuleContext<'_>) {
    let limit = ctx.options.timers.answer;
    let (at, until) = (ctx.at, ctx.state.checked.classified_until);
    let Some(track) = ctx.current_track() else { return };
    let owed = track.subscription.unclassified.iter();
    let owed = owed.filter(|(_, (since, seq))| Some(*since) > until && ctx.has_all_since(*seq));
    let (mut overdue, rest): (Vec<_>, Vec<_>) = owed
        .map(|(name, (since, seq))| (*since, *name, *seq))
        .partition(|(since, ..)| at.since(*since) >= limit);
    overdue.sort_unstable();
    let next = rest.iter().map(|(since, ..)| *since).min();
    ctx.state.checked.classified_until = overdue.iter().map(|(since, ..)| *since).max().or(until);
    if let Some(next) = next {
        ctx.arm(Alarm::Reclassify, next.after(limit));
    }
    let Some((since, ..)) = overdue.first().copied() else { return };
    let (names, mut evidence): (Vec<_>, Vec<_>) =
        overdue.into_iter().map(|(_, name, seq)| (name, seq)).unzip();
    evidence.dedup();
    let limit = limit.as_secs();
    let text = format!("unsubscribed under a wildcard, but neither sent again nor removed within {limit}s");
    let severity = (ctx.profile() != Profile::Current).then_some(Severity::Info);
    let draft = FindingDraft::new(Blame::Server, text, &names).evidence(&evidence).severity(severity);
    ctx.report_lasting(&RULE, draft, Lasting::new(LastingState::Unclassified, since));
}
