//! A resource leads to an authority that no server of our client answers for.
//!
//! Why: Who answers for the authority of a structured name is said by the client's own configuration. Where nothing
//! is said the name has no source: it is not asked for, and what needs it never comes.
//!
//! Example:
//! ```text
//! $ xdscope get cp:15010 xdstp://a/T/x --xdstp-authority a=cp:15010
//! < n=1 ["xdstp://a/T/x"=>"xdstp://b/T/x"@1]
//! ```
//!
//! Instead: name the server: --xdstp-authority b=HOST:PORT, or `authorities` of the bootstrap.
//!
//! Protocol: "xDS transport: authorities and their sources (TP1)"; row K-24.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "xdstp-authority-unmapped",
    severity: Severity::Warn,
    rows: "K-24",
    source: include_str!("xdstp_authority_unmapped.rs"),
    on: &[On::Response(check)],
};

use std::collections::BTreeMap;

use super::super::structured::{Entry, Locator};
use crate::engine::session::Name;
use crate::wire::Open;
use crate::wire::event::Sym;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let stream = case.stream;
    let Some(mapped) = stream.open.fact(Open::AUTHORITIES) else { return };
    let mut unmapped = BTreeMap::<String, Vec<Sym>>::new();
    let mut lead = |of: Sym, uri: &str| {
        let Some(name) = Name::parse(uri) else { return };
        // An alternative is wanted only once the first source is away (row K-29).
        let alternative = case.world.alternatives.contains_key(&name.canonical());
        if !alternative && !mapped.split(',').any(|one| one == name.authority) {
            unmapped.entry(name.authority.to_owned()).or_default().push(of);
        }
    };
    for (of, locator) in &answer.scan.redirects {
        lead(*of, &locator.uri);
    }
    for (of, entries) in &answer.scan.collections {
        entries.iter().filter_map(locator).for_each(|locator| lead(*of, &locator.uri));
    }
    if stream.open.fact(Open::FOLLOWS).is_some() {
        let new: Vec<Sym> = answer.outcome.added.iter().chain(&answer.outcome.changed).copied().collect();
        for (of, refs) in case.refs_of(answer.track, &new) {
            refs.iter().for_each(|to| lead(of, case.text(to.name)));
        }
    }
    for (authority, mut names) in unmapped {
        names.dedup();
        let text =
            format!("leads to the authority `{authority}`, which no server answers for: it is not followed");
        case.raise(&RULE, Found { text, names: &names, part: &authority, ..Found::default() });
    }
}

fn locator(entry: &Entry) -> Option<&Locator> {
    match entry {
        Entry::Locator(locator) => Some(locator),
        _ => None,
    }
}
