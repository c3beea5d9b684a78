//! The blobs of a file by number, and the segments from which dropped ones are read again.

use std::collections::HashMap;

use xdscope_wire::content::{BlobId, UsedContent};

/// The ids of blobs by their number in the file.
#[derive(Default)]
pub(super) struct BlobIds {
    /// Blobs that were kept when others were dropped, and those that were read again.
    older: HashMap<u32, BlobId>,
    /// Ranges of newer blobs, in order of their numbers. Only damage makes more than one.
    newer: Vec<BlobRange>,
    /// The numbers in each segment, in order.
    segments: Vec<SegmentNumbers>,
    /// The number of the next blob.
    next: u32,
    /// The segment of the next blob.
    segment: u32,
}

/// Blobs whose numbers are consecutive in the file and in the catalog.
struct BlobRange {
    first: u32,
    id: BlobId,
    len: u32,
}

/// Consecutive numbers of blobs in one segment.
struct SegmentNumbers {
    segment: u32,
    first: u32,
    end: u32,
}

/// The place of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobPlace {
    /// The blob is in the catalog.
    Known(BlobId),
    /// The catalog has dropped the blob, which is in this segment.
    Dropped { segment: u32 },
    /// The record of the blob is lost.
    Lost,
    /// The file has no such blob so far.
    Never,
}

impl BlobIds {
    /// Returns the number of the next blob.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Forgets the numbers of an earlier file.
    pub(super) fn clear(&mut self) {
        *self = BlobIds::default();
    }

    /// Begins a segment.
    pub(super) fn begin_segment(&mut self, segment: u32) {
        self.segment = segment;
    }

    /// Gives the next blob this number.
    pub(super) fn start(&mut self, number: u32) {
        if number == self.next {
            return;
        }
        // A hostile file may reuse numbers; they refer to the later blobs.
        if number < self.next {
            while self.newer.pop_if(|run| run.first >= number).is_some() {}
            while self.segments.pop_if(|segment| segment.first >= number).is_some() {}
            if let Some(run) = self.newer.last_mut() {
                run.len = run.len.min(number - run.first);
            }
            if let Some(segment) = self.segments.last_mut() {
                segment.end = segment.end.min(number);
            }
            self.older.retain(|other, _| *other < number);
        }
        self.next = number;
    }

    /// Assigns the next number to a blob.
    pub(super) fn assign(&mut self, id: BlobId) {
        let (number, segment) = (self.next, self.segment);
        self.next = number.saturating_add(1);
        match self.newer.last_mut() {
            Some(run) if run.first + run.len == number && run.id.0.checked_add(run.len) == Some(id.0) => {
                run.len += 1;
            }
            _ => self.newer.push(BlobRange { first: number, id, len: 1 }),
        }
        match self.segments.last_mut() {
            Some(of) if of.segment == segment && of.end == number => of.end = self.next,
            _ => self.segments.push(SegmentNumbers { segment, first: number, end: self.next }),
        }
    }

    /// Notes the id of a blob that was read again.
    pub(super) fn restore(&mut self, number: u32, id: BlobId) {
        self.older.insert(number, id);
    }

    /// Returns the place of a blob.
    pub(super) fn find(&self, number: u32) -> BlobPlace {
        if number >= self.next {
            return BlobPlace::Never;
        }
        let after = self.newer.partition_point(|run| run.first <= number);
        let run = after.checked_sub(1).and_then(|at| self.newer.get(at));
        if let Some(run) = run.filter(|run| number - run.first < run.len) {
            return BlobPlace::Known(BlobId(run.id.0 + (number - run.first)));
        }
        if let Some(id) = self.older.get(&number) {
            return BlobPlace::Known(*id);
        }
        let after = self.segments.partition_point(|segment| segment.first <= number);
        match after.checked_sub(1).and_then(|at| self.segments.get(at)) {
            Some(segment) if number < segment.end => BlobPlace::Dropped { segment: segment.segment },
            _ => BlobPlace::Lost,
        }
    }

    /// Forgets the ids of blobs that the catalog has dropped.
    pub(super) fn forget(&mut self, used: &UsedContent) {
        self.older.retain(|_, id| used.has_blob(*id));
        for BlobRange { first, id, len } in std::mem::take(&mut self.newer) {
            let blobs = (0..len).map(|at| (first + at, BlobId(id.0 + at)));
            self.older.extend(blobs.filter(|(_, id)| used.has_blob(*id)));
        }
        self.older.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_dropped_blobs_in_their_segments() {
        let mut ids = BlobIds::default();
        for number in 0..100u32 {
            ids.begin_segment(number / 10);
            ids.assign(BlobId(1000 + number));
        }
        assert_eq!(ids.find(57), BlobPlace::Known(BlobId(1057)));
        assert_eq!(ids.find(100), BlobPlace::Never);
        let mut used = UsedContent::default();
        used.blob(BlobId(1057));
        ids.forget(&used);
        assert_eq!(ids.find(57), BlobPlace::Known(BlobId(1057)));
        assert_eq!(ids.find(58), BlobPlace::Dropped { segment: 5 });
        ids.restore(58, BlobId(2000));
        assert_eq!(ids.find(58), BlobPlace::Known(BlobId(2000)));
        ids.begin_segment(10);
        ids.start(103);
        ids.assign(BlobId(2001));
        assert_eq!(ids.find(101), BlobPlace::Lost);
        assert_eq!(ids.find(103), BlobPlace::Known(BlobId(2001)));
        ids.forget(&UsedContent::default());
        assert_eq!(ids.find(103), BlobPlace::Dropped { segment: 10 });
        assert_eq!(ids.find(57), BlobPlace::Dropped { segment: 5 });
    }
}
