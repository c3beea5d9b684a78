use hashbrown::HashTable;

/// A hash table of numbers, eight bytes each.
///
/// The values that the numbers stand for are not stored: the caller compares them. Part of the hash
/// is stored, so that growing the table reads nothing else.
#[derive(Debug, Default)]
pub(super) struct Index(HashTable<(u32, u32)>);

impl Index {
    /// Returns the number with this hash that `is` accepts.
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let part = part(hash);
        self.0.find(spread(part), |(of, number)| *of == part && is(*number)).map(|(_, number)| *number)
    }

    /// Adds a number without searching for an equal one.
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        let part = part(hash);
        self.0.insert_unique(spread(part), (part, number), |(of, _)| spread(*of));
    }
}

impl FromIterator<(u64, u32)> for Index {
    /// Makes a table of hashes and numbers.
    fn from_iter<T: IntoIterator<Item = (u64, u32)>>(items: T) -> Index {
        let mut index = Index::default();
        for (hash, number) in items {
            index.insert(hash, number);
        }
        index
    }
}

fn part(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Spreads the bits, because the table uses the upper and the lower ones.
fn spread(part: u32) -> u64 {
    u64::from(part) << 32 | u64::from(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_numbers_with_equal_hashes() {
        let mut index = Index::default();
        for number in 0..1000u32 {
            index.insert(u64::from(number / 2) << 40, number);
        }
        for number in 0..1000 {
            let hash = u64::from(number / 2) << 40;
            assert_eq!(index.find(hash, |found| found == number), Some(number));
        }
        assert_eq!(index.find(7 << 40, |found| found == 3), None);
        assert_eq!(index.find(1000 << 40, |_| true), None);
    }
}
