//! Sets of ids of contents and names.

use std::collections::HashMap;

use crate::event::DenseHash;

/// A set of ids. Ids that are close to each other share an entry, so that marking the contents of
/// many streams stays within the caches of the processor.
#[derive(Debug, Default)]
pub(super) struct IdSet {
    /// One bit for each id, by the id without its last [`ID_BITS`] bits.
    words: HashMap<u32, u64, DenseHash>,
}

/// Bits of an id that select a bit of a word.
const ID_BITS: u32 = u64::BITS.ilog2();

/// Returns the key of the word of an id, and the bit in the word.
fn place(id: u32) -> (u32, u64) {
    (id >> ID_BITS, 1 << (id % u64::BITS))
}

impl IdSet {
    pub(super) fn insert(&mut self, id: u32) {
        let (word, bit) = place(id);
        *self.words.entry(word).or_default() |= bit;
    }

    pub(super) fn contains(&self, id: u32) -> bool {
        let (word, bit) = place(id);
        self.words.get(&word).is_some_and(|bits| bits & bit != 0)
    }

    /// Returns the ids, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let words = self.words.iter();
        words.flat_map(|(word, bits)| {
            let bits = *bits;
            (0..u64::BITS).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| word << ID_BITS | bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contains_what_was_inserted() {
        let mut set = IdSet::default();
        let ids = [0, 1, 63, 64, 65, 1000, u32::MAX - 1, u32::MAX];
        for id in ids {
            set.insert(id);
        }
        set.insert(64);
        let mut found: Vec<u32> = set.iter().collect();
        found.sort_unstable();
        assert_eq!(found, ids);
        assert!(ids.into_iter().all(|id| set.contains(id)));
        assert!(![2, 62, 66, 127, 128, u32::MAX - 2].into_iter().any(|id| set.contains(id)));
    }
}
