//! A cluster is removed while the client's routes lead to it.
//!
//! Why: Traffic is lost from the removal until the route changes. If the new route follows on the same stream
//! within a second, it is a note.
//!
//! Example:
//! ```text
//! < cds v=2 n=e [Y]
//! < rds v=2 n=f [r{to: [Y]}]
//! ```
//!
//! Instead: let the route lead elsewhere first; remove clusters that nothing uses.
//!
//! Protocol: "Eventual consistency considerations"; row H-10.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "break-before-make",
    severity: Severity::Warn,
    rows: "H-10",
    source: include_str!("break_before_make.rs"),
    on: &[On::Response(check), On::Response(follow)],
};

use std::time::Duration;

use super::super::graph::{Graphs, Window};
use crate::engine::session::{ResourceSet, SymSet};
use crate::wire::event::{Kind, Sym};

/// Types whose resources name clusters.
const USERS: [Kind; 3] = [Kind::Rds, Kind::Lds, Kind::Vhds];

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let removes = answer.track.kind == Some(Kind::Cds) && !answer.outcome.removed.is_empty();
    if !removes || case.options.links.is_none() || !case.is_certain() {
        return;
    }
    let removed: SymSet = answer.outcome.removed.iter().copied().collect();
    let (mut names, mut same_stream) = (Vec::new(), false);
    for kind in USERS {
        for (stream, track) in case.tracks_of(kind) {
            let used = named(case, &track.accepted, &removed);
            same_stream |= stream == case.index && !used.is_empty();
            names.extend(used);
        }
    }
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let severity = (!same_stream).then_some(Severity::Info);
    let text = "cluster removed while routes in use lead to it".to_owned();
    let found = Found { blame: Blame::Server, text, names: &names, severity, ..Found::default() };
    let Some(finding) = case.raise(&RULE, found) else { return };
    let (client, stream, since) = (case.client(), case.index, case.at);
    let window = Window { finding, client, stream, clusters: names, since };
    Graphs::open(&mut case.world.graphs.breaks, window);
}

/// The new route is right behind.
fn follow(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let routes = answer.track.kind.is_some_and(|kind| USERS.contains(&kind));
    if !routes || case.world.graphs.breaks.is_empty() {
        return;
    }
    let (at, index) = (case.at, case.index);
    case.world.graphs.breaks.retain(|window| at.since(window.since) <= Duration::from_secs(1));
    let mut softened = Vec::new();
    for window in case.world.graphs.breaks.iter().filter(|window| window.stream == index) {
        let removed: SymSet = window.clusters.iter().copied().collect();
        let still = USERS.iter().flat_map(|kind| case.tracks_of(*kind));
        if !still.into_iter().any(|(_, track)| !named(case, &track.sent, &removed).is_empty()) {
            softened.push(window.finding);
        }
    }
    case.world.graphs.breaks.retain(|window| !softened.contains(&window.finding));
    for finding in softened {
        case.findings.soften(finding, "; the new route follows");
    }
}

/// Which of the clusters these resources name.
fn named(case: &RuleContext<'_>, held: &ResourceSet, clusters: &SymSet) -> Vec<Sym> {
    let catalog = case.catalog();
    let slots = held.slots(catalog).into_iter().filter(|(_, slot)| slot.is_present());
    let refs = slots.filter_map(|(_, slot)| case.world.graphs.refs(catalog, slot.blob?));
    let mut out = Vec::new();
    for refs in refs {
        let named = refs.iter().filter(|to| to.kind == Kind::Cds && clusters.contains(&to.name));
        out.extend(named.map(|to| to.name));
    }
    out
}
