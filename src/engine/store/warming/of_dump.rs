//! Resources that the dump of a client lists as warming. A dump has no requests and no verdicts: a
//! resource warms only if the dump says so.

use std::sync::Arc;

use crate::admin::{AdminFacts, InitTarget};
use crate::session::{Response, Stream, Track, key};
use crate::store::{NeededResource, Store, TypeState, WarmingFact};
use xdscope_wire::event::{Kind, Sym, Time};

/// Returns the resources of a type that a dump lists as warming.
pub(super) fn warming_of_dump(store: &Store, stream: &Stream, track: &Track) -> Vec<WarmingFact> {
    let mut facts = Vec::new();
    let Some(kind) = track.kind else { return facts };
    let is_waiting = track.responses.pending().next().is_some();
    let admin = if is_waiting && kind == Kind::Lds { AdminFacts::from_open(&stream.open) } else { None };
    for response in track.responses.pending() {
        let Some(body) = &response.body else { continue };
        for blob in body.list.blobs() {
            let name = key(&store.catalog, *blob);
            let in_force = track.in_force(&store.catalog, name);
            let mut needs = missing_in_dump(store, stream, track, name);
            let targets = admin.as_ref().map_or(&[][..], |admin| admin.targets_of(&store.text(name)));
            let other_waits = add_targets(targets, response.at, &mut needs);
            facts.push(WarmingFact {
                stream: stream.id,
                node: stream.peers.node_id.clone(),
                type_url: track.type_url.clone(),
                kind,
                name: store.text(name),
                since: response.at,
                response: response.seq,
                is_used_without: false,
                is_update: in_force.is_some(),
                earlier: in_force.and_then(|entry| store.catalog.entry(entry.blob?).payload),
                withheld: None,
                needs,
                other_waits,
                is_dumped: true,
                caused_by: None,
            });
        }
    }
    facts
}

/// Returns the resources to which a resource of a dump refers, and which the dump lists as
/// requested and not received.
fn missing_in_dump(store: &Store, stream: &Stream, track: &Track, name: Sym) -> Vec<NeededResource> {
    let blob = track.sent.get(&store.catalog, name).and_then(|entry| entry.blob);
    let needs = store.engine.needs().of_content(&store.catalog, blob);
    let mut missing = Vec::new();
    for need in needs.iter() {
        let mut tracks = stream.tracks.iter().filter(|track| track.kind == Some(need.kind));
        if let Some(request) = tracks.find_map(|track| track.waiting.get(need.name)) {
            missing.push(NeededResource::new(need.kind, store.text(need.name), request.since));
        }
    }
    missing
}

/// Adds the resources that Envoy's init manager waits for. Returns its other targets.
fn add_targets(targets: &[InitTarget], since: Time, needs: &mut Vec<NeededResource>) -> Vec<Arc<str>> {
    let mut others = Vec::new();
    for target in targets {
        match target {
            InitTarget::Resource(kind, name) => {
                if !needs.iter().any(|need| need.kind == *kind && *need.name == **name) {
                    needs.push(NeededResource::new(*kind, name.as_str().into(), since));
                }
            }
            InitTarget::Other(text) => others.push(text.as_str().into()),
        }
    }
    others
}

/// Returns the state of a type of a dump: one with warming resources warms. A response without
/// resources is one that a server says to have sent.
pub(super) fn state_of_dump(track: &Track, state: TypeState) -> TypeState {
    let has_resources =
        |response: &Response| response.body.as_ref().is_some_and(|body| !body.list.blobs().is_empty());
    let has_warming = track.responses.pending().any(has_resources);
    let can_hide = matches!(state, TypeState::Sent | TypeState::Wait | TypeState::Synced);
    if has_warming && can_hide { TypeState::Warming } else { state }
}
