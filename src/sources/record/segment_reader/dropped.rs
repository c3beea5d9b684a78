//! Content that the catalog has dropped, and that later messages of the recording refer to again.

use std::sync::Arc;

use super::super::{decode, encode};
use super::blob_ids::BlobPlace;
use super::{SegmentReader, blob_of, body_location};
use xdscope_wire::content::{BlobId, Catalog, UsedContent};
use xdscope_wire::pb::Fields;

/// Segments whose blobs are indexed, because dropped blobs are often read again together.
const MAX_INDEXES: usize = 4;
/// Maximum nesting of payloads that are read again. Writers do not nest them.
const MAX_NESTED_PAYLOADS: usize = 4;

/// Places of the blobs in some segments.
#[derive(Default)]
pub(super) struct SegmentIndexes(Vec<SegmentIndex>);

/// The blobs of a segment, in order of their numbers.
struct SegmentIndex {
    segment: u32,
    places: Arc<Vec<RecordPlace>>,
}

/// The place of a blob's record in its segment.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RecordPlace {
    number: u32,
    start: u32,
    len: u32,
}

impl SegmentIndexes {
    /// Forgets the segments of an earlier file.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the blobs of a segment, in order of their numbers.
    fn places(&mut self, segment: u32, raw: &[u8]) -> Arc<Vec<RecordPlace>> {
        if let Some(at) = self.0.iter().position(|index| index.segment == segment) {
            let index = self.0.remove(at);
            let places = index.places.clone();
            self.0.push(index);
            return places;
        }
        if self.0.len() >= MAX_INDEXES {
            self.0.remove(0);
        }
        let places = Arc::new(read_places(raw));
        self.0.push(SegmentIndex { segment, places: places.clone() });
        places
    }
}

/// Lists the blobs of a segment.
fn read_places(raw: &[u8]) -> Vec<RecordPlace> {
    let (mut places, mut next) = (Vec::new(), 0u32);
    for field in Fields::new(raw).map_while(Result::ok) {
        let bytes = field.bytes();
        match field.number {
            encode::START => next = decode::start(bytes).blobs,
            encode::BLOB => {
                let start = (bytes.as_ptr() as usize).wrapping_sub(raw.as_ptr() as usize) as u32;
                places.push(RecordPlace { number: next, start, len: bytes.len() as u32 });
                next = next.saturating_add(1);
            }
            _ => {}
        }
    }
    places.sort_unstable();
    places
}

impl SegmentReader {
    /// Marks the contents as used to which the reader refers.
    pub(in crate::record) fn mark(&self, used: &mut UsedContent) {
        self.lists.iter().for_each(|list| used.list(list));
        self.lost.values().for_each(|id| used.blob(*id));
    }

    /// Forgets the contents that the catalog has dropped. They are read again when a message refers
    /// to them.
    pub(in crate::record) fn forget(&mut self, used: &UsedContent) {
        self.ids.forget(used);
    }

    /// Reads the dropped ones of many blobs again, each segment once.
    pub(super) fn read_all_again(&mut self, numbers: &[u32], catalog: &mut Catalog) {
        let is_dropped = |number: &u32| matches!(self.ids.find(*number), BlobPlace::Dropped { .. });
        let mut dropped: Vec<u32> = numbers.iter().copied().filter(is_dropped).collect();
        dropped.sort_unstable();
        dropped.dedup();
        for number in dropped {
            self.id(number, catalog);
        }
    }

    /// Reads a dropped blob from its segment again. Returns `None` if the file has changed or is
    /// gone.
    pub(super) fn read_again(&mut self, number: u32, segment: u32, catalog: &mut Catalog) -> Option<BlobId> {
        self.read_nested(number, segment, catalog, MAX_NESTED_PAYLOADS)
    }

    fn read_nested(
        &mut self,
        number: u32,
        segment: u32,
        catalog: &mut Catalog,
        depth: usize,
    ) -> Option<BlobId> {
        let bodies = self.bodies.clone()?;
        let raw = bodies.segment(segment)?;
        let places = self.indexes.places(segment, &raw);
        let found = places.partition_point(|place| place.number < number);
        let place = places.get(found).filter(|place| place.number == number)?;
        let record = decode::blob(raw.get(place.start as usize..)?.get(..place.len as usize)?);
        let payload = match record.payload.and_then(|back| number.checked_sub(back)) {
            Some(of) if of < number => match self.ids.find(of) {
                BlobPlace::Dropped { segment } => {
                    Some(self.read_nested(of, segment, catalog, depth.checked_sub(1)?)?)
                }
                BlobPlace::Known(_) | BlobPlace::Lost => self.id(of, catalog),
                BlobPlace::Never => None,
            },
            _ => None,
        };
        let blob = blob_of(&record, payload, catalog);
        let id = match catalog.known(blob.hash) {
            Some(id) => id,
            None => {
                bodies.add_location(body_location(&record, segment, &raw));
                catalog.restore_again(blob)
            }
        };
        self.ids.restore(number, id);
        Some(id)
    }
}
