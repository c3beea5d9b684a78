use std::collections::HashMap;
use std::sync::Arc;

use super::super::{encode, list};
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::{StreamId, Sym};

/// Shorter lists are not used as a base for others.
const MIN_BASE_LEN: usize = 8;

/// The lists of the segment.
#[derive(Default)]
pub(super) struct Lists {
    count: u32,
    by_fingerprint: HashMap<u128, u32>,
    /// The last list of a type on each stream, and on any (stream 0): the bases of later lists.
    pub(super) last: HashMap<(StreamId, Sym), (u32, Arc<List>)>,
}

impl Lists {
    /// Encodes one list of a message. `next` is the next blob's number; `file` returns a blob's
    /// number in the file.
    pub(super) fn encode(
        &mut self,
        stream: StreamId,
        field: u32,
        list: &Arc<List>,
        catalog: &Catalog,
        next: u32,
        file: impl Fn(BlobId) -> u32,
    ) -> Vec<u8> {
        let type_url = list.blobs().first().map_or(Sym::EMPTY, |id| catalog.entry(*id).type_url);
        let keys = [(stream, type_url), (StreamId(0), type_url)];
        let (known, record) = match self.by_fingerprint.get(&list.fingerprint()) {
            Some(known) => (*known, encode::same_list(field, self.count - known)),
            None => {
                let base = keys.iter().find_map(|key| self.last.get(key));
                let script = list::diff(base.map(|(_, list)| list.blobs()), list.blobs());
                // Without runs, the list is written in full and has no base.
                let back = base.filter(|_| !script.runs.is_empty()).map(|(n, _)| self.count - n);
                let ids = script.ids.iter().map(|id| file(*id));
                let record = encode::list(field, back, &script.runs, ids, &script.order, next);
                self.by_fingerprint.insert(list.fingerprint(), self.count);
                self.count += 1;
                (self.count - 1, record)
            }
        };
        if list.len() >= MIN_BASE_LEN {
            for key in keys {
                self.last.insert(key, (known, list.clone()));
            }
        }
        record
    }
}
