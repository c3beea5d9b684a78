//! The facts of the engine, in the terms of the model.

use std::time::Duration;

use crate::session::{
    AbsentBy, Limits, RequestOutcome, ResponseOutcome, SessionEvent, SubscribedNames, Track,
};
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym};

use super::frames::time;
use super::generate::texts;
use super::script::Text;
use super::state::{MISSING_AFTER, ResourceFacts, STALE_AFTER, TrackFacts};
use super::track::{RequestFacts, Wants};
use super::views::ResponseFacts;
use super::world::MessageFacts;

fn text(catalog: &Catalog, sym: Sym) -> Text {
    pooled(catalog.text(sym))
}

fn pooled(text: &str) -> Text {
    texts().find(|known| *known == text).unwrap_or("(not in the pools)")
}

fn all(catalog: &Catalog, syms: &[Sym]) -> Vec<Text> {
    let mut out: Vec<Text> = syms.iter().map(|sym| text(catalog, *sym)).collect();
    out.sort_unstable();
    out
}

fn wants(catalog: &Catalog, want: &SubscribedNames) -> Wants {
    let names: Vec<Sym> = want.names.iter().collect();
    Wants { wildcard: want.wildcard, names: all(catalog, &names) }
}

fn seq(seq: Seq) -> u64 {
    seq.0
}

pub(super) fn effect(catalog: &Catalog, event: &SessionEvent) -> MessageFacts {
    match event {
        SessionEvent::Request(outcome) => MessageFacts::Request(request(catalog, outcome)),
        SessionEvent::Response(outcome) => MessageFacts::Response(response(catalog, outcome)),
        _ => MessageFacts::None,
    }
}

fn request(catalog: &Catalog, outcome: &RequestOutcome) -> RequestFacts {
    RequestFacts {
        class: outcome.class,
        kind: outcome.kind,
        implied: outcome.implied,
        ambiguous: outcome.ambiguous.is_some(),
        answers: outcome.answers.map(seq),
        skipped: outcome.skipped.iter().copied().map(seq).collect(),
        added: all(catalog, &outcome.added),
        removed: all(catalog, &outcome.removed),
    }
}

fn response(catalog: &Catalog, outcome: &ResponseOutcome) -> ResponseFacts {
    ResponseFacts {
        kind: outcome.kind,
        answers: outcome.answers.map(seq),
        added: all(catalog, &outcome.added),
        changed: all(catalog, &outcome.changed),
        removed: all(catalog, &outcome.removed),
    }
}

pub(super) fn track(catalog: &Catalog, track: &Track, now: u64) -> TrackFacts {
    let limits = Limits {
        timed: true,
        resource_timeout: Some(Duration::from_millis(MISSING_AFTER)),
        stale_after: Some(Duration::from_millis(STALE_AFTER)),
    };
    let wanted = wants(catalog, &track.subscribed);
    let mut owed: Vec<_> = track
        .waiting
        .iter()
        .map(|(name, asked)| (text(catalog, name), seq(asked.first), asked.has_resource))
        .collect();
    owed.sort_unstable();
    let open = track.verdicts.open_nack();
    let refused: Vec<Sym> = track.refused.names().collect();
    let owed_again = track.names_owed_again(catalog);
    TrackFacts {
        owed_again: all(catalog, &owed_again),
        state: track.state(catalog, time(now), limits).state,
        wildcard: wanted.wildcard,
        names: wanted.names,
        effective: track.subscription.effective.as_ref().map(|want| wants(catalog, want)),
        pending: track.responses.pending().map(|response| seq(response.seq)).collect(),
        in_force: track.version_in_force().map(|version| pooled(version.as_str())),
        owed,
        resources: resources(catalog, track, now, limits),
        present: usize::try_from(track.present(catalog, time(now), limits)).expect("few"),
        refused: all(catalog, &refused),
        open_nacks: (
            usize::try_from(open.map_or(0, |open| open.times)).expect("few"),
            open.map(|open| open.since.0 / 1_000_000),
        ),
        nacks: usize::try_from(track.verdicts.nack_count).expect("few"),
    }
}

fn resources(catalog: &Catalog, track: &Track, now: u64, limits: Limits) -> Vec<ResourceFacts> {
    let entries = track.sent.entries(catalog);
    let mut names: Vec<Sym> = entries.iter().map(|(name, _)| *name).collect();
    let unknown = track.waiting.iter().map(|(name, _)| name);
    names.extend(unknown.filter(|name| track.sent.get(catalog, *name).is_none()));
    let mut facts: Vec<_> = names
        .into_iter()
        .map(|name| {
            let entry = track.sent.get(catalog, name);
            let (state, absent_by) = track.resource_state(catalog, name, entry.as_ref(), time(now), limits);
            let version = match entry {
                Some(entry) => Some(entry.version).filter(|_| entry.is_present()),
                None => track.carried.claimed_version.filter(|_| state.word() == "kept"),
            };
            let accepted = track.accepted.get(catalog, name).filter(|entry| entry.is_present());
            ResourceFacts {
                name: text(catalog, name),
                state: state.word(),
                absent_by: absent_by.map(AbsentBy::word),
                version: version.map(|version| text(catalog, version)),
                accepted: accepted.map(|entry| text(catalog, entry.version)),
            }
        })
        .collect();
    facts.sort_by(|a, b| a.partial_cmp(b).expect("comparable"));
    facts
}
