//! After a reconnect the server does not send a name that is new to it.
//!
//! Why: A server may skip resending after a reconnect only if it knows that nothing new is asked for. A name
//! that the client did not have on its stream before must be sent, whatever version the client says to have.
//! The resource may also not exist.
//!
//! Example:
//! ```text
//! stream 2 sotw eds
//! > v=X names=[foo bar baz]
//! advance 15s
//! ```
//!
//! Instead: compare the names of the first request with what the client is known to have, or send everything.
//!
//! Protocol: "Client-initiated requests after a reconnect"; row E-19.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "reconnect-new-name-unsent",
    severity: Severity::Warn,
    rows: "E-19",
    source: include_str!("reconnect_new_name_unsent.rs"),
    on: &[On::Alarm(Alarm::Waiting, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let Some(track) = case
        .own_track()
        .filter(|track| !track.polled && case.memo.claimed.as_ref().is_some_and(|v| !v.is_empty()))
    else {
        return;
    };
    let Some(prior) = case.prior(&track.type_url) else { return };
    if !case.whole() {
        return;
    }
    let overdue = case.overdue(track, case.options.timers.answer, case.memo.answer_until);
    let first = case.stream.first_request;
    let new =
        overdue.iter().filter(|(name, asked, _)| Some(*asked) == first && !prior.want.names.contains(*name));
    let names: Vec<_> = new.map(|(name, ..)| *name).collect();
    if !names.is_empty() {
        let text = "new with the reconnect, and never sent".to_owned();
        let evidence: Vec<_> = first.into_iter().collect();
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, names: &names, evidence: &evidence, ..Found::default() },
        );
    }
}
