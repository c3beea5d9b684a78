//! A map of names that keeps their order.

use xdscope_wire::event::Sym;

use super::names::SymMap;

/// Places that are kept beyond twice the number of names before the map is packed.
const MIN_PACKED: usize = 32;

/// Values by name, in the order in which the names were added. A name is removed in constant time,
/// wherever it is: a client may release 100,000 names one by one.
#[derive(Clone, Debug)]
pub(crate) struct NameMap<V> {
    places: SymMap<usize>,
    /// `None`: the name was removed, or added again later.
    entries: Vec<Option<(Sym, V)>>,
    /// Entries before this place are removed.
    first: usize,
}

impl<V> Default for NameMap<V> {
    fn default() -> NameMap<V> {
        NameMap { places: SymMap::default(), entries: Vec::new(), first: 0 }
    }
}

impl<V> NameMap<V> {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn contains_key(&self, name: Sym) -> bool {
        self.places.contains_key(&name)
    }

    pub(crate) fn get(&self, name: Sym) -> Option<&V> {
        let (_, value) = self.entries[*self.places.get(&name)?].as_ref()?;
        Some(value)
    }

    pub(crate) fn get_mut(&mut self, name: Sym) -> Option<&mut V> {
        let (_, value) = self.entries[*self.places.get(&name)?].as_mut()?;
        Some(value)
    }

    /// Sets the value of a name. A known name keeps its place.
    pub(crate) fn insert(&mut self, name: Sym, value: V) {
        let end = self.entries.len();
        let at = *self.places.entry(name).or_insert(end);
        if at == end {
            self.entries.push(None);
        }
        self.entries[at] = Some((name, value));
    }

    pub(crate) fn remove(&mut self, name: Sym) -> Option<V> {
        let (_, value) = self.entries[self.places.remove(&name)?].take()?;
        while self.entries.get(self.first).is_some_and(Option::is_none) {
            self.first += 1;
        }
        if self.entries.len() > self.len() * 2 + MIN_PACKED {
            self.pack();
        }
        Some(value)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Sym, &V) -> bool) {
        for entry in &mut self.entries {
            entry.take_if(|(name, value)| !keep(*name, value));
        }
        self.pack();
    }

    /// Drops the places of removed names.
    fn pack(&mut self) {
        self.entries.retain(Option::is_some);
        let names = self.entries.iter().flatten().map(|(name, _)| *name);
        self.places = names.enumerate().map(|(at, name)| (name, at)).collect();
        self.first = 0;
    }

    /// Returns the value of the name that was added first.
    pub(crate) fn first(&self) -> Option<&V> {
        self.values().next()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sym, &V)> {
        self.entries[self.first..].iter().flatten().map(|(name, value)| (*name, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Sym> {
        self.entries[self.first..].iter().flatten().map(|(name, _)| name)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<V> Extend<(Sym, V)> for NameMap<V> {
    fn extend<I: IntoIterator<Item = (Sym, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_order_of_an_index_map(steps in prop::collection::vec((0..60_u32, 0..5_u8), 0..400)) {
            let (mut map, mut model) = (NameMap::default(), IndexMap::new());
            for (at, (name, step)) in steps.into_iter().enumerate() {
                let name = Sym(name);
                match step {
                    0..=1 => {
                        map.insert(name, at);
                        model.insert(name, at);
                    }
                    2..=3 => prop_assert_eq!(map.remove(name), model.shift_remove(&name)),
                    _ => {
                        map.retain(|_, value| value % 7 != 0);
                        model.retain(|_, value| *value % 7 != 0);
                    }
                }
                prop_assert_eq!(map.get(name), model.get(&name));
                prop_assert_eq!(map.contains_key(name), model.contains_key(&name));
                prop_assert_eq!(map.first(), model.values().next());
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
                let expected: Vec<_> = model.iter().map(|(name, value)| (*name, value)).collect();
                prop_assert_eq!(map.iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}
