//! A name that was asked for and not sent.
//!
//! Why: SotW can't say that a resource does not exist: clients give up after a while (15 s). Whether the
//! resource is missing or the server failed can't be told.
//!
//! Example:
//! ```text
//! > eds names=[foo q]
//! < eds v=1 n=a [foo]
//! advance 15s
//! ```
//!
//! Instead: look whether the server has the resource, and under that very name.
//!
//! Protocol: "Knowing when a requested resource does not exist"; rows E-34, E-46, L-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "name-not-delivered",
    severity: Severity::Info,
    rows: "E-34, E-46, L-05",
    source: include_str!("name_not_delivered.rs"),
    on: &[On::Alarm(Alarm::Missing, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let delta = case.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = case.own_track().filter(|_| !delta && case.whole()) else { return };
    let catalog = case.catalog();
    let prior = case.prior(&track.type_url);
    let never = |name| {
        let here = |track: &crate::engine::session::Track| {
            track.sent.get(catalog, name).is_some_and(|s| s.blob.is_some())
        };
        !here(track) && !prior.is_some_and(here)
    };
    let overdue = case.overdue(track, case.options.timers.exist, case.memo.exist_until);
    let overdue = overdue.into_iter().filter(|(name, _, held)| !held && never(*name));
    let (names, mut evidence): (Vec<_>, Vec<_>) = overdue.map(|(name, asked, _)| (name, asked)).unzip();
    evidence.dedup();
    if !names.is_empty() {
        let text = format!("not delivered within {}s", case.options.timers.exist.as_secs());
        let found =
            Found { blame: Blame::Server, text, names: &names, evidence: &evidence, ..Found::default() };
        case.raise(&RULE, Found { guess: true, ..found });
    }
}
