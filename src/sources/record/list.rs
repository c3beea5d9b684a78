//! Lists of entries as differences: 10,000 entries with one changed take some fifteen bytes.

use std::collections::HashMap;
use std::hash::Hash;

use super::header::{unzigzag, zigzag};
use super::order;

/// No list is read that is longer: a message of the largest size has fewer entries.
const MAX_LEN: usize = 1 << 24;
/// Shorter lists are written as they are.
const SHORT: usize = 16;

/// How a list is made from another, or from nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script<T> {
    /// Triples: inserts, move in the base (zigzag), copies.
    pub runs: Vec<u64>,
    /// The entries that the base lacks; without a base the list.
    pub ids: Vec<T>,
    /// What was made so far, in another order.
    pub order: Vec<u8>,
}

/// The shortest script of `new` that is quickly found.
pub(super) fn diff<T: Copy + Eq + Hash + Ord>(base: Option<&[T]>, new: &[T]) -> Script<T> {
    if new.len() >= SHORT {
        let Some(base) = base else { return literal(new) };
        let script = edit(base, new);
        // Where little stands as it stood, the order costs less than the places it is made of.
        if script.runs.len() < new.len() / 4 && script.ids.len() < new.len() / 4 {
            return script;
        }
        if let Some(script) = reorder(base, new) {
            return script;
        }
    }
    literal(new)
}

/// Ascending ids cost nothing when packed; others are sorted, and their order is written.
fn literal<T: Copy + Eq + Hash + Ord>(new: &[T]) -> Script<T> {
    let falls = new.windows(2).filter(|pair| pair[1] < pair[0]).count();
    if new.len() < SHORT || falls <= new.len() / 16 {
        return Script { runs: Vec::new(), ids: new.to_vec(), order: Vec::new() };
    }
    let mut ids = new.to_vec();
    ids.sort_unstable();
    let order = order_of(&ids, new);
    Script { runs: Vec::new(), ids, order }
}

fn edit<T: Copy + Eq + Hash>(base: &[T], new: &[T]) -> Script<T> {
    let mut script = Script { runs: Vec::new(), ids: Vec::new(), order: Vec::new() };
    let mut places: Option<HashMap<T, usize>> = None;
    let (mut at, mut done) = (0usize, 0usize);
    while done < new.len() {
        let (mut inserts, from) = (0, at);
        while done < new.len() && base.get(at) != Some(&new[done]) {
            // One entry in place of another is what nearly every push is.
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

/// The base less what is gone, and what is new, in another order. `None` if little of it is in the base.
fn reorder<T: Copy + Eq + Hash>(base: &[T], new: &[T]) -> Option<Script<T>> {
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
    Some(Script { order, ..edit(base, &made) })
}

/// The order that makes `new` of `made`, which holds the same entries, repeats included.
fn order_of<T: Copy + Eq + Hash>(made: &[T], new: &[T]) -> Vec<u8> {
    let mut places: HashMap<T, Vec<u32>> = HashMap::new();
    for (id, place) in made.iter().zip(0..) {
        places.entry(*id).or_default().push(place);
    }
    let order: Vec<u32> = new.iter().filter_map(|id| places.get_mut(id)?.pop()).collect();
    order::encode(&order)
}

impl<T: Copy> Script<T> {
    /// The list; `None` if the script does not fit the base. Without runs no base is looked at.
    pub(super) fn apply(self, base: Option<&[T]>) -> Option<Vec<T>> {
        let made = match base.filter(|_| !self.runs.is_empty()) {
            None => self.ids,
            Some(base) => {
                // As long as the base, as a rule.
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
                    if made.len() > MAX_LEN {
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
        fn scripts_make_the_list_again(base in list(), new in list()) {
            prop_assert_eq!(diff(None, &new).apply(None), Some(new.clone()));
            prop_assert_eq!(diff(Some(&base), &new).apply(Some(&base)), Some(new));
        }

        #[test]
        fn any_script_fits_or_is_refused(base in list(), runs: Vec<u64>, ids: Vec<u32>, order: Vec<u8>) {
            let _ = Script { runs, ids, order }.apply(Some(&base));
        }
    }

    #[test]
    fn one_change_is_two_runs() {
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
    fn random_order_takes_its_bits() {
        let base: Vec<u32> = (0..10_000).collect();
        // A full cycle of a linear congruence is no random order, but no run of it stands as it stood.
        let new: Vec<u32> = (0..10_000u32).map(|i| (i * 7919 + 13) % 10_000).collect();
        let script = diff(Some(&base), &new);
        assert!(script.order.len() < 15_500, "{}", script.order.len());
        assert!(script.runs.len() <= 3 && script.ids.is_empty());
        assert_eq!(script.apply(Some(&base)), Some(new));
    }
}
