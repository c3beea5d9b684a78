//! A relay gives a client what another one asked for.
//!
//! Why: A relay asks upstream for all that any of its clients wants, and each client gets its own part of that. What
//! comes to the wrong one may be none of its business.
//!
//! Example:
//! ```text
//! client b of the relay:               > sub=["xdstp://a/T/y"]
//! from the control plane to the relay: < n=1 ["xdstp://a/T/y"@1]
//! from the relay to its client a:      < n=1 ["xdstp://a/T/y"@1]
//! ```
//!
//! Instead: filter by each client's own subscription.
//!
//! Protocol: "xDS transport: caching and relays (TP1)"; row K-30.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "relay-leak",
    severity: Severity::Warn,
    rows: "K-30",
    source: include_str!("relay_leak.rs"),
    on: &[On::Response(check)],
};

use crate::engine::session::{Stream, glob_matches};
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    if answer.scan.structured.is_empty() {
        return;
    }
    let catalog = case.catalog();
    let unasked = super::unrequested_resource::unasked(case, answer);
    let wanted = |stream: &Stream, name: Sym| {
        let glob = |glob: &Sym| glob_matches(catalog.text(*glob), catalog.text(name));
        let tracks = stream.tracks.iter().filter(|track| track.type_url == answer.track.type_url);
        tracks
            .into_iter()
            .any(|track| track.want.names.contains(name) || track.subscription.globs.iter().any(glob))
    };
    let mut names = Vec::new();
    for id in &answer.scan.structured {
        let entry = catalog.entry(*id);
        let Some(payload) = entry.payload.filter(|_| unasked.contains(&entry.name)) else { continue };
        let relayed = !case.upstream(entry.name, payload).is_empty();
        if relayed && case.beside().any(|stream| wanted(stream, entry.name)) {
            names.push(entry.name);
        }
    }
    if !names.is_empty() {
        let text = "came through the relay, which got it for another client".to_owned();
        case.raise(
            &RULE,
            Found { blame: Blame::Server, text, names: &names, guess: true, ..Found::default() },
        );
    }
}
