//! Which rows of the timeline are shown, found in slices so that no frame waits for a whole search.

use std::collections::VecDeque;

/// Matching rows, in order. The search starts at an anchor (what the reader looks at) and grows both ways, so
/// the first matches are the near ones; rows that arrive later are searched as they come.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// No predicate: every row is shown and nothing is kept.
    all: bool,
    total: usize,
    matching: VecDeque<usize>,
    /// Rows `low..high` have been looked at.
    low: usize,
    high: usize,
}

impl Index {
    /// Every row.
    pub fn all(total: usize) -> Index {
        Index { all: true, total, ..Index::default() }
    }

    /// Nothing looked at yet, starting at row `anchor`.
    pub fn at(anchor: usize) -> Index {
        Index { low: anchor, high: anchor, ..Index::default() }
    }

    /// Looks at up to `slice` more of `total` rows: newer ones first, then back to the beginning.
    pub fn extend(&mut self, total: usize, slice: usize, mut matches: impl FnMut(usize) -> bool) {
        self.total = total;
        if self.all {
            return;
        }
        self.high = self.high.min(total);
        self.low = self.low.min(self.high);
        let newer = slice.min(total - self.high);
        for row in self.high..self.high + newer {
            if matches(row) {
                self.matching.push_back(row);
            }
        }
        self.high += newer;
        for _ in newer..slice {
            let Some(row) = self.low.checked_sub(1) else { break };
            if matches(row) {
                self.matching.push_front(row);
            }
            self.low = row;
        }
    }

    /// Every row has been looked at.
    pub fn complete(&self) -> bool {
        self.all || (self.low == 0 && self.high == self.total)
    }

    /// Rows there are to look at.
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many rows have been looked at.
    pub fn searched(&self) -> usize {
        if self.all { self.total } else { self.high - self.low }
    }

    pub fn len(&self) -> usize {
        if self.all { self.total } else { self.matching.len() }
    }

    /// The row at a position.
    pub fn get(&self, position: usize) -> Option<usize> {
        if self.all {
            (position < self.total).then_some(position)
        } else {
            self.matching.get(position).copied()
        }
    }

    /// The position of the first shown row from `row` on.
    pub fn rank(&self, row: usize) -> usize {
        if self.all { row.min(self.total) } else { self.matching.partition_point(|r| *r < row) }
    }

    /// The position of the shown row nearest to `row`.
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
    fn the_search_grows_from_its_anchor() {
        let mut index = Index::at(50);
        index.extend(100, 10, |row| row % 10 == 0);
        assert_eq!((index.searched(), index.get(0)), (10, Some(50)));
        index.extend(100, 60, |row| row % 10 == 0);
        assert_eq!(index.matching, [30, 40, 50, 60, 70, 80, 90]);
        assert!(!index.complete());
        index.extend(100, 30, |row| row % 10 == 0);
        assert!(index.complete());
        assert_eq!(index.len(), 10);
        // Rows that arrive later.
        index.extend(120, 100, |row| row % 10 == 0);
        assert_eq!((index.complete(), index.len()), (true, 12));
    }

    #[test]
    fn nearest_and_rank() {
        let mut index = Index::at(0);
        index.extend(100, 100, |row| row == 10 || row == 20);
        assert_eq!((index.rank(10), index.rank(11), index.rank(99)), (0, 1, 2));
        assert_eq!([0, 13, 16, 99].map(|row| index.nearest(row)), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(Index::at(5).nearest(5), None);
        assert_eq!(Index::all(3).nearest(9), Some(2));
    }

    proptest::proptest! {
        #[test]
        fn slices_find_what_a_whole_search_finds(
            total in 0usize..300, anchor in 0usize..300, slice in 1usize..40, by in 1usize..9,
        ) {
            let mut index = Index::at(anchor);
            for _ in 0..total / slice + 2 {
                index.extend(total, slice, |row| row % by == 0);
            }
            proptest::prop_assert!(index.complete());
            let found: Vec<usize> = (0..index.len()).filter_map(|p| index.get(p)).collect();
            let wanted: Vec<usize> = (0..total).filter(|row| row % by == 0).collect();
            proptest::prop_assert_eq!(found, wanted);
        }
    }
}
