//! A cluster or endpoint assignment that was asked for by name, and that nothing refers to.
//!
//! Why: For a minute no listener, route or cluster that the client was sent led to it. It costs the server and the client
//! something and carries no traffic; as a rule a name was left behind. What the client's own bootstrap refers to is not
//! seen here, so it is a guess.
//!
//! Example:
//! ```text
//! > cds sub=[old]
//! < cds n=1 [old@1]
//! ```
//!
//! Instead: give up names when the last reference to them is gone.
//!
//! Protocol: "Resource types", the graph of references; row P.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "unreferenced",
    severity: Severity::Info,
    rows: "P",
    source: include_str!("unreferenced.rs"),
    on: &[On::Response(check), On::Alarm(Alarm::Unreferenced, due)],
};

use std::time::Duration;

use super::super::memo::NAMES;
use crate::wire::event::{Kind, Sym, Time};

/// How long nothing refers to it.
const LIMIT: Duration = Duration::from_secs(60);

/// The types whose resources can refer to this one.
fn parents(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Eds => &[Kind::Cds],
        Kind::Cds => &[Kind::Lds, Kind::Rds, Kind::Vhds],
        _ => &[],
    }
}

fn check(case: &mut RuleContext<'_>, answer: &ResponseContext<'_>) {
    let known = case.options.links.is_some() && case.is_certain() && case.timed();
    if !known || answer.track.kind.is_none_or(|kind| parents(kind).is_empty()) {
        return;
    }
    let named = answer.outcome.added.iter().filter(|name| answer.track.want.names.contains(**name));
    for name in named {
        if case.memo.unreferenced.len() < NAMES {
            case.memo.unreferenced.insert(*name, case.at);
        }
    }
    if !case.memo.unreferenced.is_empty() {
        case.arm(Alarm::Unreferenced, case.at.after(LIMIT));
    }
}

fn due(case: &mut RuleContext<'_>) {
    let Some(track) = case.own_track() else { return };
    let Some(kind) = track.kind else { return };
    let (at, catalog, client) = (case.at, case.catalog(), case.client());
    let held = |name: Sym| track.want.names.contains(name) && track.sent.is_present(catalog, name);
    case.memo.unreferenced.retain(|name, _| held(*name));
    let (mut names, mut next) = (Vec::new(), None::<Time>);
    let mut watched: Vec<(Sym, Time)> = case.memo.unreferenced.iter().map(|(n, t)| (*n, *t)).collect();
    watched.sort_unstable();
    for (name, since) in watched {
        let child = (kind, name);
        let graphs = &case.world.graphs;
        let since = match graphs.is_used(&client, child) {
            None => return,
            Some(true) => at,
            Some(false) => graphs.released(&client, child).map_or(since, |released| released.max(since)),
        };
        if at.since(since) >= LIMIT {
            names.push(name);
        } else {
            next = Some(next.map_or(since, |next| next.min(since)));
        }
    }
    for name in &names {
        case.memo.unreferenced.remove(name);
    }
    if let Some(next) = next {
        case.arm(Alarm::Unreferenced, next.after(LIMIT));
    }
    if !names.is_empty() && case.is_certain() && sees_parents(case, kind, &names) {
        let text = "nothing that the client was sent refers to it for 60 s".to_owned();
        case.raise(&RULE, Found { text, names: &names, guess: true, ..Found::default() });
    }
}

/// The client is sent what could refer to it. One that has everything but this from its bootstrap is not judged.
fn sees_parents(case: &RuleContext<'_>, kind: Kind, names: &[Sym]) -> bool {
    let catalog = case.catalog();
    let tracks: Vec<_> = parents(kind).iter().flat_map(|kind| case.tracks_of(*kind)).collect();
    let sent = tracks.iter().any(|(_, track)| track.traffic.pushes > 0);
    // Endpoints go by the name of their cluster as a rule; filters found by discovery may name clusters.
    let namesake =
        tracks.iter().any(|(_, track)| names.iter().any(|name| track.sent.is_present(catalog, *name)));
    let filters = kind == Kind::Cds && !case.tracks_of(Kind::Ecds).is_empty();
    sent && !filters && !(kind == Kind::Eds && namesake)
}
