use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{DenseHash, Sym};

pub(crate) type SymMap<V> = HashMap<Sym, V, DenseHash>;
pub(crate) type SymSet = HashSet<Sym, DenseHash>;

/// Sorted lists of names, stored once: a thousand clients with one subscription share the list.
#[derive(Clone, Default)]
pub(crate) struct NameRuns {
    known: HashSet<Arc<[Sym]>>,
    purge_at: usize,
}

impl NameRuns {
    /// Returns the shared list of these names, sorted and without repeats.
    pub(crate) fn intern(&mut self, mut names: Vec<Sym>) -> Arc<[Sym]> {
        names.sort_unstable();
        names.dedup();
        if let Some(run) = self.known.get(names.as_slice()) {
            return run.clone();
        }
        if self.known.len() >= self.purge_at {
            self.known.retain(|run| Arc::strong_count(run) > 1);
            self.purge_at = (self.known.len() * 2).max(256);
        }
        let run: Arc<[Sym]> = names.into();
        self.known.insert(run.clone());
        run
    }

    /// Drops the lists that no client has any more.
    pub(crate) fn drop_unused(&mut self) {
        self.known.retain(|run| Arc::strong_count(run) > 1);
        self.known.shrink_to_fit();
    }
}

/// A set of names: a shared list, and the names added to and removed from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSet {
    run: Option<Arc<[Sym]>>,
    plus: BTreeSet<Sym>,
    minus: BTreeSet<Sym>,
}

impl NameSet {
    pub(crate) fn from_run(run: Arc<[Sym]>) -> NameSet {
        NameSet { run: Some(run), ..NameSet::default() }
    }

    fn run(&self) -> &[Sym] {
        self.run.as_deref().unwrap_or(&[])
    }

    /// Returns the number of names that are not in the shared list as they are.
    pub(crate) fn own_len(&self) -> usize {
        self.plus.len() + self.minus.len()
    }

    pub(crate) fn contains(&self, name: Sym) -> bool {
        self.plus.contains(&name) || (self.run().binary_search(&name).is_ok() && !self.minus.contains(&name))
    }

    /// Adds a name, and returns whether it is new to the set.
    pub(crate) fn insert(&mut self, name: Sym, runs: &mut NameRuns) -> bool {
        if self.contains(name) {
            return false;
        }
        if !self.minus.remove(&name) {
            self.plus.insert(name);
            self.settle(runs);
        }
        true
    }

    /// Removes a name, and returns whether it was in the set.
    pub(crate) fn remove(&mut self, name: Sym, runs: &mut NameRuns) -> bool {
        if !self.contains(name) {
            return false;
        }
        if !self.plus.remove(&name) {
            self.minus.insert(name);
            self.settle(runs);
        }
        true
    }

    /// Marks the names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        self.run.iter().for_each(|run| used.run(run));
        used.names(self.plus.iter().chain(&self.minus));
    }

    fn settle(&mut self, runs: &mut NameRuns) {
        if self.plus.len() + self.minus.len() > 64 + self.run().len() / 8 {
            let names = self.iter().collect();
            *self = NameSet::from_run(runs.intern(names));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.run().len() + self.plus.len() - self.minus.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names in order of their symbols, that is, of their first appearance in the source.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Sym> {
        let mut run = self.run().iter().copied().filter(|name| !self.minus.contains(name)).peekable();
        let mut plus = self.plus.iter().copied().peekable();
        std::iter::from_fn(move || match (run.peek(), plus.peek()) {
            (Some(a), Some(b)) if b < a => plus.next(),
            (Some(_), _) => run.next(),
            (None, _) => plus.next(),
        })
    }
}

impl PartialEq for NameSet {
    fn eq(&self, other: &NameSet) -> bool {
        let shared = match (&self.run, &other.run) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        (shared && self.plus == other.plus && self.minus == other.minus)
            || (self.len() == other.len() && self.iter().eq(other.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_equals_btree_set() {
        let mut runs = NameRuns::default();
        let mut set = NameSet::from_run(runs.intern(vec![Sym(5), Sym(3), Sym(5)]));
        let mut plain: BTreeSet<Sym> = [Sym(3), Sym(5)].into();
        for step in 0..2000u32 {
            let name = Sym(step * 7 % 311 + 1);
            if step % 3 == 0 {
                assert_eq!(set.remove(name, &mut runs), plain.remove(&name));
            } else {
                assert_eq!(set.insert(name, &mut runs), plain.insert(name));
            }
            assert_eq!(set.len(), plain.len());
        }
        assert!(set.iter().eq(plain.iter().copied()));
        assert_eq!(set, NameSet::from_run(runs.intern(plain.into_iter().collect())));
    }

    #[test]
    fn shares_equal_lists() {
        let mut runs = NameRuns::default();
        let a = runs.intern(vec![Sym(2), Sym(1)]);
        let b = runs.intern(vec![Sym(1), Sym(2)]);
        assert!(Arc::ptr_eq(&a, &b));
    }
}
