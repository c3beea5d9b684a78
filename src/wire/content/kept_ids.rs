//! Ids that stay when others are dropped, and their places.

/// An ascending sequence of ids. The place of an id is its position in the sequence.
///
/// Ids that follow each other take no memory of their own.
#[derive(Debug, Default)]
pub(super) struct KeptIds {
    runs: Vec<Run>,
    len: u32,
}

/// Ids that follow each other, up to the next run.
#[derive(Debug)]
struct Run {
    first: u32,
    /// The place of the first id.
    place: u32,
}

impl KeptIds {
    /// Appends an id that is larger than all others.
    pub(super) fn push(&mut self, id: u32) {
        let follows = self.runs.last().is_some_and(|run| id - run.first == self.len - run.place);
        if !follows {
            self.runs.push(Run { first: id, place: self.len });
        }
        self.len += 1;
    }

    /// Returns the place of an id.
    pub(super) fn place(&self, id: u32) -> Option<usize> {
        let next = self.runs.partition_point(|run| run.first <= id);
        let run = self.runs.get(next.checked_sub(1)?)?;
        let end = self.runs.get(next).map_or(self.len, |next| next.place);
        let place = run.place + (id - run.first);
        (place < end).then_some(place as usize)
    }

    /// Returns all ids, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        let ends = self.runs.iter().skip(1).map(|next| next.place).chain([self.len]);
        self.runs.iter().zip(ends).flat_map(|(run, end)| (0..end - run.place).map(|n| run.first + n))
    }

    /// Returns the memory of the ids, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }

    /// Frees the memory that only further ids would need.
    pub(super) fn shrink_to_fit(&mut self) {
        self.runs.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_places_of_kept_ids() {
        let ids = [0, 1, 2, 5, 7, 8, 9, 1000, u32::MAX - 1, u32::MAX];
        let mut kept = KeptIds::default();
        assert_eq!(kept.place(0), None);
        ids.iter().for_each(|id| kept.push(*id));
        assert_eq!(kept.runs.len(), 5);
        assert_eq!(kept.iter().collect::<Vec<_>>(), ids);
        for id in (0..1002).chain([u32::MAX - 2, u32::MAX - 1, u32::MAX]) {
            assert_eq!(kept.place(id), ids.iter().position(|kept| *kept == id), "{id}");
        }
    }
}
