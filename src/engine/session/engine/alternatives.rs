//! Requested names that an alternative serves (docs/protocol.md#k-29).

use std::sync::Arc;

use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::Sym;

use crate::session::ResponseOutcome;
use crate::session::engine::{Engine, TrackPlace};
use xdscope_wire::xdstp::lists;
use xdscope_wire::xdstp::lists::{LOCATOR, ListEntry, Locator};
use xdscope_wire::xdstp::{is_structured, named};

/// Larger contents are not searched for alternatives.
const MAX_SEARCHED_BYTES: usize = 1 << 20;

impl Engine {
    /// Records the alternatives that the contents of a response state, and which names its
    /// resources serve.
    pub(crate) fn note_alternatives(
        &mut self,
        catalog: &Catalog,
        place: TrackPlace,
        response: &ResponseOutcome,
    ) {
        if !self.has_structured_names() {
            return;
        }
        let Some(stream) = self.streams().get(place.stream) else { return };
        let Some(sent) = stream.track_at(place.track).map(|track| &track.sent) else { return };
        let client = stream.client();
        for name in response.added.iter().chain(&response.changed) {
            let blob = sent.get(catalog, *name).and_then(|entry| entry.blob);
            if let Some(content) = blob.and_then(|blob| catalog.entry(blob).payload.or(Some(blob))) {
                self.read_alternatives(catalog, &client, content);
            }
        }
        for (names, is_served) in [(&response.added, true), (&response.removed, false)] {
            for name in names.iter().filter(|name| is_structured(catalog.text(**name))) {
                let primary = self.needs().primary_of(&client, catalog.text(*name));
                if let Some(primary) = primary.and_then(|primary| named(catalog, &primary)) {
                    self.serve(place, primary, is_served);
                }
            }
        }
    }

    /// Records which requested names an alternative serves that the client has.
    pub(crate) fn note_served(&mut self, catalog: &Catalog, place: TrackPlace, names: &[Sym]) {
        let Some(stream) = self.streams().get(place.stream) else { return };
        if !self.has_structured_names() {
            return;
        }
        let client = stream.client();
        for name in names.iter().filter(|name| is_structured(catalog.text(**name))) {
            let alternatives = self.needs().alternatives_of(&client, catalog.text(*name));
            let mut known = alternatives.iter().filter_map(|name| named(catalog, name));
            let streams = self.client_of(place.stream);
            let kind = self.track(place).and_then(|track| track.kind);
            let has = |alternative: Sym| {
                let streams = streams.iter().filter_map(|index| self.streams().get(*index));
                let mut tracks = streams.flat_map(|stream| stream.known_tracks());
                tracks.any(|track| track.kind == kind && track.sent.is_present(catalog, alternative))
            };
            if known.any(has) {
                self.serve(place, *name, true);
            }
        }
    }

    fn read_alternatives(&self, catalog: &Catalog, client: &Arc<str>, content: BlobId) {
        if catalog.blob(content).size as usize > MAX_SEARCHED_BYTES {
            return;
        }
        let type_url = catalog.text(catalog.entry(content).type_url);
        let Some(any) = catalog.bytes(content) else { return };
        if type_url == LOCATOR {
            if let Some(locator) = Locator::read(lists::value(&any)) {
                self.needs().note_alternative(client, &locator.uri);
            }
        } else if type_url.ends_with("Collection") {
            for entry in lists::entries(lists::value(&any)) {
                if let ListEntry::Locator(locator) = entry {
                    self.needs().note_alternative(client, &locator.uri);
                }
            }
        } else if let Some(semantics) = self.semantics()
            && memchr::memmem::find(&any, b"alt=").is_some()
        {
            for reference in semantics.references(&any) {
                self.needs().note_alternative(client, &reference.name);
            }
        }
    }

    /// Records for the streams of a client whether an alternative serves a name.
    fn serve(&mut self, place: TrackPlace, name: Sym, is_served: bool) {
        let Some(stream) = self.streams().get(place.stream) else { return };
        let kind = stream.track_at(place.track).and_then(|track| track.kind);
        // The stream of the first name may have ended.
        let ended = self.failures().clients().filter_map(|(_, ends)| ends.unreplaced);
        let is_own = |index: &usize| {
            let other = self.streams().get(*index);
            stream.peers.node_id.is_some()
                && other.is_some_and(|other| other.peers.node_id == stream.peers.node_id)
        };
        let mut streams: Vec<usize> = ended.filter(is_own).collect();
        streams.extend(self.client_of(place.stream));
        for index in streams {
            let Some(stream) = self.stream_at(index) else { continue };
            for track in stream.tracks.iter_mut().filter(|track| track.kind == kind) {
                track.waiting.serve(name, is_served);
            }
        }
    }
}
