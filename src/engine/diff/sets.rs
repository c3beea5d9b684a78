use std::collections::HashMap;
use std::hash::Hash;

/// How a set of resources differs from an older one, by places in the two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetDiff {
    /// In the new list.
    pub added: Vec<usize>,
    /// In the old and in the new list, in the order of the new one.
    pub changed: Vec<(usize, usize)>,
    /// In the old list.
    pub removed: Vec<usize>,
    /// What is in both with the same content.
    pub same: usize,
}

/// Compares two lists in which no key stands twice. `same` tells whether the contents at these places are equal.
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
