//! Contents that cannot be decoded as their type.

use std::collections::BTreeSet;

use xdscope_schema::Schema;
use xdscope_wire::content::BlobId;

use super::Store;

/// The message that wraps a resource.
const ANY: &str = "google.protobuf.Any";

impl Store {
    /// Looks for resources that cannot be decoded, in a source that no rules have read.
    pub fn find_unreadable(&mut self, schema: &Schema) {
        let tracks = self.engine.streams().iter().flat_map(|stream| &stream.tracks);
        let slots = tracks.flat_map(|track| track.sent.slots(&self.catalog));
        let contents: BTreeSet<BlobId> = slots.into_iter().filter_map(|(_, slot)| slot.blob).collect();
        for id in contents {
            if self.catalog.is_malformed(id) || !self.is_readable(schema, id) {
                self.catalog.note_unreadable(id);
            }
        }
    }

    fn is_readable(&self, schema: &Schema, id: BlobId) -> bool {
        let Some(payload) = self.catalog.entry(id).payload else { return true };
        let type_url = self.catalog.text(self.catalog.entry(payload).type_url);
        let name = type_url.rsplit('/').next().unwrap_or_default();
        let any = self.catalog.bytes(payload).filter(|_| schema.has_message(name));
        any.is_none_or(|any| schema.violations(ANY, &any).is_ok())
    }
}
