//! A relay passes a resource on under another version than it got it with.
//!
//! Why: A structured name at a version is the same everywhere, so that caches and people can compare. Nonces are
//! of each hop; versions of resources are not.
//!
//! Example:
//! ```text
//! from the control plane to the relay: < n=1 ["xdstp://a/T/x"@1]
//! from the relay to its client:        < n=1 ["xdstp://a/T/x"@relay-7]
//! ```
//!
//! Instead: pass the version of each resource through.
//!
//! Protocol: "xDS transport: caching and relays (TP1)"; row K-30.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "relay-version-rewritten",
    severity: Severity::Info,
    rows: "K-30",
    source: include_str!("relay_version_rewritten.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    let (mut names, mut first) = (Vec::new(), None);
    for id in &answer.scan.structured {
        let entry = catalog.entry(*id);
        let (Some(payload), true) = (entry.payload, entry.version != Sym::EMPTY) else { continue };
        let mut versions = case.upstream(entry.name, payload).into_iter().map(|brought| brought.version);
        let Some(upstream) = versions.next() else { continue };
        let same = |version: Sym| version == entry.version || version == Sym::EMPTY;
        if !same(upstream) && !versions.any(same) {
            names.push(entry.name);
            first.get_or_insert((upstream, entry.version));
        }
    }
    if let Some((upstream, here)) = first {
        let (upstream, here) = (case.text(upstream), case.text(here));
        let text = format!("the relay got it at version {upstream} and passes it on at {here}");
        let (blame, names) = (Blame::Server, names.as_slice());
        case.raise(&RULE, Found { blame, text, names, guess: true, ..Found::default() });
    }
}
