//! A newly named resource is not sent, though it was sent before unasked.
//!
//! Why: What a client did not ask for it has thrown away. When it asks, the resource must be sent, changed or
//! not.
//!
//! Example:
//! ```text
//! > eds names=[a]
//! < eds v=1 n=1 [a b]
//! > eds v=1 n=1 names=[a]
//! > eds v=1 n=1 names=[a b]
//! advance 15s
//! ```
//!
//! Instead: send every name that is new in a request.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-36, L-05.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "new-name-not-resent",
    severity: Severity::Warn,
    rows: "E-36, L-05",
    source: include_str!("new_name_not_resent.rs"),
    on: &[On::Alarm(Alarm::Waiting, check)],
};

use crate::wire::Profile;

fn check(case: &mut RuleContext<'_>) {
    let delta = case.stream.variant().is_some_and(|variant| variant.is_delta());
    let Some(track) = case.own_track().filter(|track| !delta && !track.polled && case.is_certain()) else {
        return;
    };
    let catalog = case.catalog();
    let sent = |name| {
        track.sent.get(catalog, name).is_some_and(|s| s.blob.is_some() && track.responses.next() > s.order)
    };
    let kept = |name| {
        track.sent.get(catalog, name).is_some_and(|s| s.state == crate::engine::session::Presence::Kept)
    };
    let overdue = case.overdue(track, case.options.timers.answer, case.memo.answer_until);
    let overdue = overdue.into_iter().filter(|(name, ..)| sent(*name) && !kept(*name));
    let (names, mut evidence): (Vec<_>, Vec<_>) = overdue.map(|(name, asked, _)| (name, asked)).unzip();
    evidence.dedup();
    if !names.is_empty() {
        let text = "asked for, sent before, and not sent again".to_owned();
        let severity = (case.profile() == Profile::P002).then_some(Severity::Info);
        let found =
            Found { blame: Blame::Server, text, names: &names, evidence: &evidence, ..Found::default() };
        case.raise(&RULE, Found { severity, ..found });
    }
}
