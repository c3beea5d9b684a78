use std::collections::HashMap;
use std::hash::Hash;

/// The difference between two lists of keys, as indexes in the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetDiff {
    /// Indexes in the new list.
    pub added: Vec<usize>,
    /// Indexes in the old and new list, in the order of the new list.
    pub changed: Vec<(usize, usize)>,
    /// Indexes in the old list.
    pub removed: Vec<usize>,
    /// Number of keys with equal content in both lists.
    pub same: usize,
}

/// Compares two lists of unique keys.
///
/// `same` takes an index in each list and returns whether the contents are equal.
pub fn diff_sets<K: Hash + Eq>(old: &[K], new: &[K], mut same: impl FnMut(usize, usize) -> bool) -> SetDiff {
    let place: HashMap<&K, usize> = old.iter().enumerate().map(|(at, key)| (key, at)).collect();
    let mut met = vec![false; old.len()];
    let mut out = SetDiff::default();
    for (j, key) in new.iter().enumerate() {
        let Some(i) = place.get(key).copied() else {
            out.added.push(j);
            continue;
        };
        if let Some(met) = met.get_mut(i) {
            *met = true;
        }
        if same(i, j) {
            out.same += 1;
        } else {
            out.changed.push((i, j));
        }
    }
    out.removed = met.iter().enumerate().filter(|(_, met)| !**met).map(|(at, _)| at).collect();
    out
}
