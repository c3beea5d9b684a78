//! Clusters, listeners and scopes of a client that refer to a resource.

use super::ClientNeeds;
use crate::session::{ResourceEntry, ResourceKey, SymSet, Track};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Sym};
use xdscope_wire::xdstp::{is_structured, named};

impl ClientNeeds<'_> {
    /// Returns those of the resources of a type to which clusters, listeners and scopes of the
    /// client refer, each with one that does: as sent last, or as in force if that is refused.
    ///
    /// Leaves out structured names with alternatives, which a client uses in their place
    /// (docs/protocol.md#k-29).
    pub(crate) fn referring(&self, kind: Kind, names: &SymSet) -> Vec<(Sym, ResourceKey)> {
        let catalog = &self.store.catalog;
        let streams = self.open_streams();
        let mut found = Vec::new();
        for track in streams.iter().flat_map(|stream| stream.known_tracks()) {
            let Some(user) = track.kind.filter(|kind| matches!(kind, Kind::Cds | Kind::Lds | Kind::Srds))
            else {
                continue;
            };
            for (name, entry) in track.sent.entries(catalog) {
                let content = self.content_used(track, name, &entry);
                for need in self.store.engine.needs().of_content(catalog, content).iter() {
                    let needed = named(catalog, catalog.text(need.name)).unwrap_or(need.name);
                    if need.kind == kind && names.contains(&needed) && !self.has_alternatives(needed) {
                        found.push((needed, ResourceKey { kind: user, name }));
                    }
                }
            }
        }
        found
    }

    /// Returns the content of a resource that the client uses or is about to use.
    fn content_used(&self, track: &Track, name: Sym, entry: &ResourceEntry) -> Option<BlobId> {
        let catalog = &self.store.catalog;
        if !track.covers(catalog, name, Some(entry)) {
            return None;
        }
        if track.refuses(name) {
            return track.in_force(catalog, name)?.blob;
        }
        if entry.is_present() { entry.blob } else { None }
    }

    fn has_alternatives(&self, name: Sym) -> bool {
        let text = self.store.catalog.text(name);
        is_structured(text)
            && !self.store.engine.needs().alternatives_of(&self.stream.client(), text).is_empty()
    }
}
