//! Content that could not be decoded, and may therefore still hold secrets.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::record::Loaded;
use xdscope_schema::Schema;
use xdscope_wire::content::{self, BlobId, Catalog, UsedContent};
use xdscope_wire::text::plural;
use xdscope_wire::{Frame, FramePayload, MessageBody};

use super::Source;

/// Lists that are remembered, because most responses repeat one.
const MAX_KNOWN_LISTS: usize = 1 << 14;

/// Counts the messages and resources that could not be decoded, and so not be redacted field by
/// field.
pub struct DecodingGaps {
    schema: Arc<Schema>,
    /// Whether the descriptors lack a type.
    unknown: BTreeMap<String, bool>,
    /// Contents that were looked at.
    seen: usize,
    /// Resources of types that the descriptors lack.
    resources: u64,
    /// Entries of responses that are no resources.
    damaged: HashSet<BlobId>,
    /// Contents that the catalog has dropped.
    dropped: u64,
    lists: HashSet<u128>,
    messages: u64,
}

impl DecodingGaps {
    /// Starts at the beginning of a source.
    pub fn new(schema: &Arc<Schema>) -> DecodingGaps {
        DecodingGaps {
            schema: schema.clone(),
            unknown: BTreeMap::new(),
            seen: 0,
            resources: 0,
            damaged: HashSet::new(),
            dropped: 0,
            lists: HashSet::new(),
            messages: 0,
        }
    }

    /// Looks at the next frame, and at the contents that came with it.
    pub fn note(&mut self, frame: &Frame, catalog: &Catalog) {
        for blob in catalog.blobs_after(self.seen) {
            if let content::BlobForm::Any { type_url, .. } = blob.form
                && blob.kept > 0
                && self.is_unknown(catalog.text(type_url))
            {
                self.resources += 1;
            }
        }
        self.seen = catalog.blob_count();
        let FramePayload::Message(message) = &frame.what else { return };
        self.messages += u64::from(matches!(message.body, MessageBody::Undecodable { .. }));
        if self.lists.len() >= MAX_KNOWN_LISTS {
            self.lists.clear();
        }
        if let Some(list) = message.resources().filter(|list| self.lists.insert(list.fingerprint())) {
            let is_damaged = |id: &&BlobId| matches!(catalog.blob(**id).form, content::BlobForm::Other);
            self.damaged.extend(list.blobs().iter().filter(is_damaged));
        }
    }

    /// Whether the descriptors lack a type. Remembers the answer.
    fn is_unknown(&mut self, type_url: &str) -> bool {
        if let Some(is_unknown) = self.unknown.get(type_url) {
            return *is_unknown;
        }
        let is_unknown = !self.schema.has_message(type_url);
        if self.unknown.len() < MAX_KNOWN_LISTS {
            self.unknown.insert(type_url.to_owned(), is_unknown);
        }
        is_unknown
    }

    /// Forgets contents that the catalog has dropped. They count again if they are sent again.
    pub fn forget(&mut self, used: &UsedContent) {
        let before = self.damaged.len();
        self.damaged.retain(|id| used.has_blob(*id));
        self.dropped += (before - self.damaged.len()) as u64;
    }

    /// Describes the gaps; `None` if everything was decoded.
    pub fn text(&self) -> Option<String> {
        let resources = self.resources + self.damaged.len() as u64 + self.dropped;
        let counts = [(self.messages, "message"), (resources, "resource")];
        let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n, what));
        let counts = counts.collect::<Vec<_>>().join(" and ");
        (!counts.is_empty()).then(|| format!("may contain secrets: {counts} could not be decoded"))
    }
}

/// Describes the messages and resources of a source that could not be decoded.
///
/// Returns `None` if everything was decoded.
pub fn decoding_gaps(source: &Source) -> Option<String> {
    let mut gaps = DecodingGaps::new(&source.schema);
    source.loaded.frames.iter().for_each(|frame| gaps.note(frame, &source.loaded.catalog));
    gaps.text()
}

/// Whether a secret was taken out of any content or message.
pub(super) fn is_redacted(loaded: &Loaded) -> bool {
    let message = |frame: &Frame| matches!(&frame.what, FramePayload::Message(message) if message.redacted);
    loaded.catalog.blobs().any(|(_, blob)| blob.redacted) || loaded.frames.iter().any(message)
}
