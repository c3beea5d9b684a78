//! Alternatives that locators and references state (docs/protocol.md#k-29).

use std::collections::{HashMap, HashSet};

use crate::store::Store;
use xdscope_schema::Schema;
use xdscope_schema::links;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::StreamId;
use xdscope_wire::xdstp::Name;
use xdscope_wire::xdstp::lists;
use xdscope_wire::xdstp::lists::{LOCATOR, ListEntry, Locator, alternative};

use super::MAX_CHAIN;

/// Names with alternatives, and alternatives of a name.
const MAX_NAMES: usize = 10_000;
/// Larger contents are not searched.
const MAX_SEARCHED_BYTES: usize = 1 << 20;

/// Names and their alternatives, all in canonical form.
#[derive(Debug, Default)]
pub(super) struct Alternatives {
    by_primary: HashMap<String, Vec<String>>,
    by_alternative: HashMap<String, Vec<String>>,
}

impl Alternatives {
    /// Reads the alternatives in up to `most` contents that these streams sent last.
    pub(super) fn read(store: &Store, schema: &Schema, streams: &[StreamId], most: usize) -> Alternatives {
        let mut found = Alternatives::default();
        let mut seen: HashSet<BlobId> = HashSet::new();
        let catalog = store.catalog();
        let streams = streams.iter().filter_map(|id| store.engine().stream(*id));
        for track in streams.flat_map(|stream| &stream.tracks) {
            for (_, entry) in track.sent.entries(catalog) {
                let Some(payload) = entry.blob.and_then(|blob| catalog.entry(blob).payload.or(Some(blob)))
                else {
                    continue;
                };
                if seen.len() >= most || found.by_primary.len() >= MAX_NAMES {
                    return found;
                }
                if seen.insert(payload) {
                    found.read_content(store, schema, payload);
                }
            }
        }
        found
    }

    fn read_content(&mut self, store: &Store, schema: &Schema, payload: BlobId) {
        let catalog = store.catalog();
        let type_url = catalog.text(catalog.entry(payload).type_url);
        if catalog.blob(payload).size as usize > MAX_SEARCHED_BYTES {
            return;
        }
        let Some(any) = catalog.bytes(payload) else { return };
        if type_url == LOCATOR {
            self.add_locator(Locator::read(lists::value(&any)));
        } else if type_url.ends_with("Collection") {
            for entry in lists::entries(lists::value(&any)) {
                if let ListEntry::Locator(locator) = entry {
                    self.add_locator(Some(locator));
                }
            }
        } else if memchr::memmem::find(&any, b"alt=").is_some() {
            let body = schema.any_to_json(&any);
            links::links_of(schema, &body).iter().for_each(|link| self.add(&link.name));
        }
    }

    fn add_locator(&mut self, locator: Option<Locator>) {
        self.add(&locator.map(|locator| locator.uri).unwrap_or_default());
    }

    /// Adds the alternatives of a URI: its own, and those of its alternatives.
    fn add(&mut self, uri: &str) {
        let Some(primary) = Name::parse(uri).map(|name| name.canonical()) else { return };
        let mut next = alternative(uri);
        for _ in 0..MAX_CHAIN {
            let Some(uri) = next else { return };
            let Some(name) = Name::parse(&uri).map(|name| name.canonical()) else { return };
            let pairs =
                [(&mut self.by_primary, &primary, &name), (&mut self.by_alternative, &name, &primary)];
            for (known, key, value) in pairs {
                let known = known.entry(key.clone()).or_default();
                if known.len() < MAX_CHAIN && !known.contains(value) {
                    known.push(value.clone());
                }
            }
            next = alternative(&uri);
        }
    }

    /// Returns the alternatives of a name.
    pub(super) fn of_name(&self, canonical: &str) -> &[String] {
        self.by_primary.get(canonical).map_or(&[], Vec::as_slice)
    }

    /// Returns the names that an alternative stands in for.
    pub(super) fn replaced_by(&self, canonical: &str) -> &[String] {
        self.by_alternative.get(canonical).map_or(&[], Vec::as_slice)
    }
}
