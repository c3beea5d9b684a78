//! A resource that the client did not ask for.
//!
//! Why: Clients ignore it, and it does not count as an answer if they ask for it later. Names that were given
//! up a moment ago are not meant: the server may not have known.
//!
//! Example:
//! ```text
//! > eds names=[a]
//! < eds v=1 n=1 [a b]
//! ```
//!
//! Instead: send what is subscribed to. Servers that infer the set from the node do this on purpose.
//!
//! Protocol: "How the client specifies what resources to return"; rows E-35, F-13.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "unrequested-resource",
    severity: Severity::Info,
    rows: "E-35, F-13",
    source: include_str!("unrequested_resource.rs"),
    on: &[On::Response(check)],
};

use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let names = unasked(case, answer);
    if !names.is_empty() {
        let text = "sent without being asked for".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}

/// What nothing asked for, as far as that is known.
pub(super) fn unasked(case: &RuleContext<'_>, answer: &ResponseContext<'_>) -> Vec<Sym> {
    let track = answer.track;
    if track.want.is_wildcard() || track.traffic.requests == 0 || !case.is_certain() {
        return Vec::new();
    }
    let catalog = case.catalog();
    let mut names = Vec::new();
    for id in answer.view.resources.blobs() {
        let name = crate::engine::session::key(catalog, *id);
        if crate::engine::session::nameless(name).is_some() || track.want.names.contains(name) {
            continue;
        }
        let slot = track.sent.get(catalog, name);
        if !track.covers(catalog, name, slot.as_ref())
            && !case.just_let_go(name)
            && !structured(case, answer, name)
        {
            names.push(name);
        }
    }
    names
}

/// Told by the rule about context parameters.
fn structured(case: &RuleContext<'_>, answer: &ResponseContext<'_>, name: Sym) -> bool {
    !answer.scan.structured.is_empty()
        && super::xdstp_context_mismatch::near(case, answer.track, name).is_some()
}
