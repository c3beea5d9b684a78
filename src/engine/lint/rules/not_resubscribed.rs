//! A name that the client wanted on its last stream is not asked for on the next.
//!
//! Why: No subscription survives a stream. What is not asked for again is not updated any more.
//!
//! Example:
//! ```text
//! stream 1 sotw eds
//! > names=[foo bar]
//! < v=1 n=a [foo bar]
//! > v=1 n=a names=[foo bar]
//! 1 close
//! stream 2 sotw eds
//! > v=1 names=[foo]
//! advance 6s
//! ```
//!
//! Instead: ask for everything again, if the client still wants it.
//!
//! Protocol: "Client behavior after a reconnect"; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "not-resubscribed",
    severity: Severity::Info,
    rows: "P",
    source: include_str!("not_resubscribed.rs"),
    on: &[On::Alarm(Alarm::Settled, check)],
};

fn check(case: &mut RuleContext<'_>) {
    let Some(before) = case.stream.reconnect_of.and_then(|id| case.store.engine().stream(id)) else { return };
    if !case.is_certain() || before.open.partial || before.gaps > 0 {
        return;
    }
    let catalog = case.catalog();
    for track in &before.tracks {
        let now = case.stream.find(&track.type_url);
        let wanted = |name: &crate::wire::event::Sym| {
            now.is_some_and(|now| now.covers(catalog, *name, now.sent.get(catalog, *name).as_ref()))
        };
        let names: Vec<_> = track.want.names.iter().filter(|name| !wanted(name)).collect();
        if !names.is_empty() {
            let text = format!(
                "{} wanted on stream {}, not asked for since",
                super::label(&track.type_url),
                before.id.0
            );
            let part = track.type_url.as_str();
            case.raise(&RULE, Found { text, names: &names, part, guess: true, ..Found::default() });
        }
    }
}
