//! Lists of entries as differences: one change in 10,000 entries takes about 15 bytes.

use std::collections::HashMap;
use std::hash::Hash;

use super::header::{unzigzag, zigzag};
use super::order;

/// Longest list that is read. A message of the largest size has fewer entries.
const MAX_LIST_LEN: usize = 1 << 24;
/// Shorter lists are written in full.
const MIN_EDIT_LEN: usize = 16;

/// The edit that makes a list from an earlier one, or from nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListEdit<T> {
    /// Triples: inserted entries, move within the base (zigzag), copied entries.
    pub runs: Vec<u64>,
    /// The inserted entries; without a base, the list itself.
    pub ids: Vec<T>,
    /// The permutation applied last, or empty.
    pub order: Vec<u8>,
}

/// Returns a short edit that makes `new` from `base`, without searching for the shortest.
pub(super) fn diff<T: Copy + Eq + Hash + Ord>(base: Option<&[T]>, new: &[T]) -> ListEdit<T> {
    if new.len() >= MIN_EDIT_LEN {
        let Some(base) = base else { return literal(new) };
        let script = edit(base, new);
        // If few runs survive, an order is smaller than their positions.
        if script.runs.len() < new.len() / 4 && script.ids.len() < new.len() / 4 {
            return script;
        }
        if let Some(script) = reorder(base, new) {
            return script;
        }
    }
    literal(new)
}

/// Writes a list in full. Ascending ids compress to nothing; other ids are sorted and their order
/// is written.
fn literal<T: Copy + Eq + Hash + Ord>(new: &[T]) -> ListEdit<T> {
    let falls = new.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if new.len() < MIN_EDIT_LEN || falls <= new.len() / 16 {
        return ListEdit { runs: Vec::new(), ids: new.to_vec(), order: Vec::new() };
    }
    let mut ids = new.to_vec();
    ids.sort_unstable();
    let order = order_of(&ids, new);
    ListEdit { runs: Vec::new(), ids, order }
}

fn edit<T: Copy + Eq + Hash>(base: &[T], new: &[T]) -> ListEdit<T> {
    let mut script = ListEdit { runs: Vec::new(), ids: Vec::new(), order: Vec::new() };
    let mut places: Option<HashMap<T, usize>> = None;
    let (mut at, mut done) = (0usize, 0usize);
    while done < new.len() {
        let (mut inserts, from) = (0, at);
        while done < new.len() && base.get(at) != Some(&new[done]) {
            // Most pushes replace single entries.
            if base.get(at + 1).is_some_and(|next| Some(next) == new.get(done + 1)) {
                at += 1;
            } else {
                let places = places.get_or_insert_with(|| base.iter().copied().zip(0..).collect());
                if let Some(place) = places.get(&new[done]) {
                    at = *place;
                    break;
                }
            }
            script.ids.push(new[done]);
            inserts += 1;
            done += 1;
        }
        let copies =
            new[done..].iter().zip(base.get(at..).unwrap_or_default()).take_while(|(a, b)| a == b).count();
        script.runs.extend([inserts, zigzag(at as i64 - from as i64), copies as u64]);
        at += copies;
        done += copies;
    }
    script
}

/// Removes and adds entries, then permutes. Returns `None` if little of `new` is in the base.
fn reorder<T: Copy + Eq + Hash>(base: &[T], new: &[T]) -> Option<ListEdit<T>> {
    let mut wanted: HashMap<T, u32> = HashMap::new();
    for id in new {
        *wanted.entry(*id).or_default() += 1;
    }
    let mut made: Vec<T> = Vec::with_capacity(new.len());
    for id in base {
        if let Some(left) = wanted.get_mut(id).filter(|left| **left > 0) {
            *left -= 1;
            made.push(*id);
        }
    }
    if made.len() < new.len() / 2 {
        return None;
    }
    for id in new {
        if let Some(left) = wanted.get_mut(id).filter(|left| **left > 0) {
            *left -= 1;
            made.push(*id);
        }
    }
    let order = order_of(&made, new);
    Some(ListEdit { order, ..edit(base, &made) })
}

/// Encodes the order that turns `made` into `new`. Both hold the same entries, repeats included.
fn order_of<T: Copy + Eq + Hash>(made: &[T], new: &[T]) -> Vec<u8> {
    let mut places: HashMap<T, Vec<u32>> = HashMap::new();
    for (id, place) in made.iter().zip(0..) {
        places.entry(*id).or_default().push(place);
    }
    let order: Vec<u32> = new.iter().filter_map(|id| places.get_mut(id)?.pop()).collect();
    order::encode(&order)
}

impl<T: Copy> ListEdit<T> {
    /// Applies the edit. Returns `None` if it does not fit the base.
    pub(super) fn apply(self, base: Option<&[T]>) -> Option<Vec<T>> {
        let made = match base {
            None => self.ids,
            Some(_) if self.runs.is_empty() => self.ids,
            Some(base) => {
                // Usually as long as the base.
                let made = Vec::with_capacity(base.len() + self.ids.len());
                let (mut made, mut ids, mut at) = (made, self.ids.into_iter(), 0usize);
                for run in self.runs.chunks(3) {
                    let &[inserts, step, copies] = run else { return None };
                    for _ in 0..inserts {
                        made.push(ids.next()?);
                    }
                    at = at.checked_add_signed(isize::try_from(unzigzag(step)).ok()?)?;
                    let end = at.checked_add(usize::try_from(copies).ok()?)?;
                    made.extend_from_slice(base.get(at..end)?);
                    at = end;
                    if made.len() > MAX_LIST_LEN {
                        return None;
                    }
                }
                made
            }
        };
        if self.order.is_empty() { Some(made) } else { order::apply(made, &self.order) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list() -> impl Strategy<Value = Vec<u32>> {
        prop_oneof![
            proptest::collection::vec(0u32..60, 0..80),
            Just((0..60).collect::<Vec<u32>>()),
            Just((0..60).collect::<Vec<u32>>()).prop_shuffle(),
            (0usize..60, 0usize..60).prop_map(|(a, b)| {
                let mut list: Vec<u32> = (0..60).collect();
                let moved = list.remove(a);
                list.insert(b.min(list.len()), moved);
                list.insert(a, 777);
                list
            }),
        ]
    }

    proptest! {
        #[test]
        fn edits_restore_list(base in list(), new in list()) {
            prop_assert_eq!(diff(None, &new).apply(None), Some(new.clone()));
            prop_assert_eq!(diff(Some(&base), &new).apply(Some(&base)), Some(new));
        }

        #[test]
        fn arbitrary_edits_apply_or_are_refused(base in list(), runs: Vec<u64>, ids: Vec<u32>, order: Vec<u8>) {
            let _ = ListEdit { runs, ids, order }.apply(Some(&base));
        }
    }

    #[test]
    fn encodes_one_change_as_two_runs() {
        let base: Vec<u32> = (0..10_000).collect();
        let mut new = base.clone();
        new[5000] = 10_000;
        let script = diff(Some(&base), &new);
        assert_eq!((script.runs.len(), script.ids.len(), script.order.len()), (6, 1, 0));
        new.remove(17);
        new.insert(9000, 10_001);
        assert_eq!(diff(Some(&base), &new).runs.len(), 12);
    }

    #[test]
    fn encodes_random_order_compactly() {
        let base: Vec<u32> = (0..10_000).collect();
        // A linear congruence with a full period: not a random order, but no run survives.
        let new: Vec<u32> = (0..10_000u32).map(|i| (i * 7919 + 13) % 10_000).collect();
        let script = diff(Some(&base), &new);
        assert!(script.order.len() < 15_500, "{}", script.order.len());
        assert!(script.runs.len() <= 3 && script.ids.is_empty());
        assert_eq!(script.apply(Some(&base)), Some(new));
    }
}
