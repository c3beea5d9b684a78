//! The rows that match scope and filter, found in slices so that no frame waits for a full search.

use std::collections::VecDeque;
use std::ops::Range;

/// Matching rows, in order.
///
/// The search starts at an anchor (the selected row) and grows in both directions, so that the
/// first matches are near it. Rows that arrive later are examined as they come.
#[derive(Clone, Debug, Default)]
pub struct RowIndex {
    /// There is no predicate: every row matches, and none is stored.
    all: bool,
    /// The first row that the source still has.
    first: usize,
    total: usize,
    matching: VecDeque<usize>,
    /// Rows `low..high` have been examined.
    low: usize,
    high: usize,
}

impl RowIndex {
    /// An index of every row.
    pub fn all(rows: Range<usize>) -> RowIndex {
        RowIndex { all: true, first: rows.start, total: rows.end, ..RowIndex::default() }
    }

    /// An index of no row yet. The search starts at row `anchor`.
    pub fn at(anchor: usize) -> RowIndex {
        RowIndex { low: anchor, high: anchor, ..RowIndex::default() }
    }

    /// Examines up to `slice` more rows: newer ones first, then older ones. The source has `rows`.
    pub fn extend(&mut self, rows: Range<usize>, slice: usize, mut matches: impl FnMut(usize) -> bool) {
        let Range { start: first, end: total } = rows;
        (self.first, self.total) = (first, total);
        if self.all {
            return;
        }
        while self.matching.pop_front_if(|row| *row < first).is_some() {}
        self.high = self.high.clamp(first, total.max(first));
        self.low = self.low.clamp(first, self.high);
        let newer = slice.min(total - self.high);
        for row in self.high..self.high + newer {
            if matches(row) {
                self.matching.push_back(row);
            }
        }
        self.high += newer;
        for _ in newer..slice {
            let Some(row) = self.low.checked_sub(1).filter(|row| *row >= first) else { break };
            if matches(row) {
                self.matching.push_front(row);
            }
            self.low = row;
        }
    }

    /// Every row has been examined.
    pub fn is_complete(&self) -> bool {
        self.all || (self.low == self.first && self.high == self.total)
    }

    /// Number of rows that the source has.
    pub fn total(&self) -> usize {
        self.total.saturating_sub(self.first)
    }

    /// The number after that of the last row of the source.
    pub fn end(&self) -> usize {
        self.total
    }

    /// Rows examined.
    pub fn searched(&self) -> usize {
        if self.all { self.total() } else { self.high - self.low }
    }

    pub fn len(&self) -> usize {
        if self.all { self.total() } else { self.matching.len() }
    }

    /// The row at a position.
    pub fn get(&self, position: usize) -> Option<usize> {
        if self.all {
            (position < self.total()).then_some(self.first + position)
        } else {
            self.matching.get(position).copied()
        }
    }

    /// The position of the first match from `row` on.
    pub fn rank(&self, row: usize) -> usize {
        if self.all {
            row.clamp(self.first, self.total) - self.first
        } else {
            self.matching.partition_point(|r| *r < row)
        }
    }

    /// The position of the match nearest to `row`.
    pub fn nearest(&self, row: usize) -> Option<usize> {
        let after = self.rank(row);
        let before = after.checked_sub(1);
        match (self.get(after), before.and_then(|p| self.get(p))) {
            (Some(next), Some(previous)) if row - previous < next - row => before,
            (Some(_), _) => Some(after),
            (None, Some(_)) => before,
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_from_the_anchor() {
        let mut index = RowIndex::at(50);
        index.extend(0..100, 10, |row| row % 10 == 0);
        assert_eq!((index.searched(), index.get(0)), (10, Some(50)));
        index.extend(0..100, 60, |row| row % 10 == 0);
        assert_eq!(index.matching, [30, 40, 50, 60, 70, 80, 90]);
        assert!(!index.is_complete());
        index.extend(0..100, 30, |row| row % 10 == 0);
        assert!(index.is_complete());
        assert_eq!(index.len(), 10);
        // Rows that arrive later are examined too.
        index.extend(0..120, 100, |row| row % 10 == 0);
        assert_eq!((index.is_complete(), index.len()), (true, 12));
    }

    #[test]
    fn leaves_out_dropped_rows() {
        let mut index = RowIndex::at(50);
        index.extend(0..100, 1000, |row| row % 10 == 0);
        index.extend(35..110, 1000, |row| row % 10 == 0);
        assert_eq!(index.matching, [40, 50, 60, 70, 80, 90, 100]);
        assert!(index.is_complete());
        let mut all = RowIndex::all(0..100);
        all.extend(35..110, 1000, |_| true);
        assert_eq!((all.len(), all.get(0), all.get(74), all.get(75)), (75, Some(35), Some(109), None));
        assert_eq!((all.rank(10), all.rank(40), all.rank(500)), (0, 5, 75));
    }

    #[test]
    fn finds_rank_and_nearest_match() {
        let mut index = RowIndex::at(0);
        index.extend(0..100, 100, |row| row == 10 || row == 20);
        assert_eq!((index.rank(10), index.rank(11), index.rank(99)), (0, 1, 2));
        assert_eq!([0, 13, 16, 99].map(|row| index.nearest(row)), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(RowIndex::at(5).nearest(5), None);
        assert_eq!(RowIndex::all(0..3).nearest(9), Some(2));
    }

    proptest::proptest! {
        #[test]
        fn slices_find_all_matches(
            total in 0usize..300, anchor in 0usize..300, slice in 1usize..40, by in 1usize..9,
        ) {
            let mut index = RowIndex::at(anchor);
            for _ in 0..total / slice + 2 {
                index.extend(0..total, slice, |row| row % by == 0);
            }
            proptest::prop_assert!(index.is_complete());
            let found: Vec<usize> = (0..index.len()).filter_map(|p| index.get(p)).collect();
            let wanted: Vec<usize> = (0..total).filter(|row| row % by == 0).collect();
            proptest::prop_assert_eq!(found, wanted);
        }
    }
}
