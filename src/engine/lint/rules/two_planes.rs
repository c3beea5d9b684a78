//! A resource goes back and forth between two control planes.
//!
//! Why: Two servers with different contents behind one address send the client from one to the other and back.
//!
//! Example:
//! ```text
//! < cds v=1 n=a [A] cp=one
//! < cds v=2 n=b [A~2] cp=two
//! < cds v=3 n=c [A] cp=one
//! ```
//!
//! Instead: bring the control planes to the same contents, or keep a client at one of them.
//!
//! Protocol: "Eventual consistency considerations"; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "two-planes",
    severity: Severity::Warn,
    rows: "P",
    source: include_str!("two_planes.rs"),
    on: &[On::Response(check)],
};

use std::sync::Arc;

use super::super::memo::WORLD;

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let Some(plane) = answer.view.control_plane.filter(|plane| !plane.is_empty()) else { return };
    let (catalog, session) = (case.catalog(), case.stream.session.unwrap_or(usize::MAX));
    let Some(own) = catalog.strings().find(answer.track.type_url.as_str()) else { return };
    let mut names = Vec::new();
    for name in answer.outcome.added.iter().chain(&answer.outcome.changed) {
        let slot = answer.track.sent.get(catalog, *name);
        let Some(content) = slot.and_then(|slot| slot.blob).and_then(|blob| catalog.entry(blob).payload)
        else {
            continue;
        };
        if case.world.planes.len() >= WORLD {
            case.world.planes.clear();
        }
        let known = case.world.planes.entry((session, own, *name)).or_default();
        let last = known.last().map(|(plane, content)| (plane.clone(), *content));
        if last == Some((Arc::clone(plane), content)) {
            continue;
        }
        known.push((plane.clone(), content));
        if let [.., (a, x), (b, y), (c, z)] = known.as_slice()
            && a == c
            && x == z
            && a != b
            && x != y
        {
            names.push(*name);
        }
        if known.len() > 4 {
            known.remove(0);
        }
    }
    if !names.is_empty() {
        let text = format!("content of another control plane, and back to that of {plane}");
        case.raise(&RULE, Found { blame: Blame::Server, text, names: &names, ..Found::default() });
    }
}
