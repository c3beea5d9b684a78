//! Content that could not be decoded, and may therefore still hold secrets.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::record::Loaded;
use crate::wire::content::{self, BlobId};
use crate::wire::event::Sym;
use crate::wire::text::plural;
use crate::wire::{Frame, FramePayload, MessageBody};

use super::Source;

/// Describes the messages and resources that could not be decoded, and so not be redacted field by
/// field.
///
/// Returns `None` if everything was decoded.
pub fn decoding_gaps(source: &Source) -> Option<String> {
    let catalog = &source.loaded.catalog;
    let mut unknown = BTreeMap::new();
    let mut is_unknown = |type_url: Sym| {
        *unknown.entry(type_url).or_insert_with(|| source.schema.message(catalog.text(type_url)).is_none())
    };
    let mut resources = BTreeSet::new();
    for (id, blob) in catalog.blobs() {
        if matches!(blob.form, content::BlobForm::Any { type_url, .. } if blob.kept > 0 && is_unknown(type_url))
        {
            resources.insert(id);
        }
    }
    let (mut messages, mut lists) = (0, BTreeSet::new());
    for frame in &source.loaded.frames {
        let FramePayload::Message(message) = &frame.what else { continue };
        messages += u64::from(matches!(message.body, MessageBody::Undecodable { .. }));
        if let Some(list) = message.resources().filter(|list| lists.insert(list.fingerprint())) {
            let is_damaged = |id: &&BlobId| matches!(catalog.blob(**id).form, content::BlobForm::Other);
            resources.extend(list.blobs().iter().filter(is_damaged));
        }
    }
    let counts = [(messages, "message"), (resources.len() as u64, "resource")];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| plural(*n, what));
    let counts = counts.collect::<Vec<_>>().join(" and ");
    (!counts.is_empty()).then(|| format!("may contain secrets: {counts} could not be decoded"))
}

/// Whether a secret was taken out of any content or message.
pub(super) fn is_redacted(loaded: &Loaded) -> bool {
    let message = |frame: &Frame| matches!(&frame.what, FramePayload::Message(message) if message.redacted);
    loaded.catalog.blobs().any(|(_, blob)| blob.redacted) || loaded.frames.iter().any(message)
}
