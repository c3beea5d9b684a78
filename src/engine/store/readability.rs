//! Contents that cannot be decoded as their type.

use std::collections::BTreeSet;

use crate::session::Engine;
use xdscope_schema::Schema;
use xdscope_wire::content::{BlobId, Catalog};

/// The message that wraps a resource.
const ANY: &str = "google.protobuf.Any";

/// Notes the resources of all streams that cannot be decoded.
pub(super) fn note_unreadable(engine: &Engine, catalog: &mut Catalog, schema: &Schema) {
    let tracks = engine.streams().iter().flat_map(|stream| &stream.tracks);
    let entries = tracks.flat_map(|track| track.sent.entries(catalog));
    let contents: BTreeSet<BlobId> = entries.into_iter().filter_map(|(_, entry)| entry.blob).collect();
    for id in contents {
        if catalog.is_malformed(id) || !is_readable(catalog, schema, id) {
            catalog.note_unreadable(id);
        }
    }
}

fn is_readable(catalog: &Catalog, schema: &Schema, id: BlobId) -> bool {
    let Some(payload) = catalog.entry(id).payload else { return true };
    let type_url = catalog.text(catalog.entry(payload).type_url);
    let name = type_url.rsplit('/').next().unwrap_or_default();
    if !schema.has_message(name) {
        return true;
    }
    catalog.bytes(payload).is_none_or(|any| schema.violations(ANY, &any).is_ok())
}
