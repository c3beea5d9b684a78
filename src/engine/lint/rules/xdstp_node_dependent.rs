//! A structured name at one version has other content for another node.
//!
//! Why: These names are immutable: same name and version, same content, for whoever asks. Caches rely on it.
//!
//! Example:
//! ```text
//! stream 1 of node a: < n=1 ["xdstp://a/T/x"@1]
//! stream 2 of node b: < n=1 ["xdstp://a/T/x"~2@1]
//! ```
//!
//! Instead: put what the content depends on into the name, as context parameters.
//!
//! Protocol: "xDS transport: structured names (TP1)"; row K-32.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-node-dependent",
    severity: Severity::Warn,
    rows: "K-32",
    source: include_str!("xdstp_node_dependent.rs"),
    on: &[On::Response(check)],
};

use super::super::memo::WORLD;
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let catalog = case.catalog();
    let mut names = Vec::new();
    for id in &answer.scan.structured {
        let entry = catalog.entry(*id);
        let (Some(payload), true) = (entry.payload, entry.version != Sym::EMPTY) else { continue };
        if case.world.structured.len() >= WORLD {
            case.world.structured.clear();
        }
        let session = case.stream.session.unwrap_or(usize::MAX);
        let known = *case.world.structured.entry((entry.name, entry.version)).or_insert((payload, session));
        if known.0 != payload && known.1 != session {
            names.push(entry.name);
        }
    }
    if !names.is_empty() {
        let text = "same name and version, other content for another node".to_owned();
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
