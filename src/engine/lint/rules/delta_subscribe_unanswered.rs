//! A name that was subscribed to is neither sent nor said not to exist.
//!
//! Why: The server answers each subscribed name: with the resource, even if it thinks that the client has it,
//! or among `removed_resources`.
//!
//! Example:
//! ```text
//! > sub=[x]
//! < n=1 [x@1]
//! > n=1
//! > sub=[x]
//! advance 15s
//! ```
//!
//! Instead: send what is subscribed to again, and name what does not exist in `removed_resources`.
//!
//! Protocol: "Incremental xDS"; row F-14.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "delta-subscribe-unanswered",
    severity: Severity::Warn,
    rows: "F-14",
    source: include_str!("delta_subscribe_unanswered.rs"),
    on: &[On::Alarm(Alarm::Waiting, check)],
};

use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>) {
    unanswered(case, &RULE, "subscribed to, and neither sent nor removed", |case, name| {
        let told = case.memo.stale_added.contains(&name);
        !told && !crate::engine::session::is_glob(case.text(name))
    });
}

/// Delta names that were waited for too long and that the rule is about.
pub(super) fn unanswered(
    case: &mut RuleContext<'_>,
    rule: &'static Rule,
    text: &str,
    about: impl Fn(&RuleContext<'_>, Sym) -> bool,
) {
    let delta = case.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = case.own_track().filter(|_| delta && case.whole()) else { return };
    let overdue = case.overdue(track, case.options.timers.answer, case.memo.answer_until);
    let overdue = overdue.into_iter().filter(|(name, ..)| about(case, *name));
    let (names, mut evidence): (Vec<_>, Vec<_>) = overdue.map(|(name, asked, _)| (name, asked)).unzip();
    evidence.dedup();
    if !names.is_empty() {
        let text = text.to_owned();
        let (blame, names, evidence) = (Blame::Server, names.as_slice(), evidence.as_slice());
        case.raise(rule, Found { blame, text, names, evidence, ..Found::default() });
    }
}
