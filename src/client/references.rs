use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::content::{BlobId, Catalog};
use crate::event::{Kind, Sym};

use super::Links;
use super::track::Changes;

/// What accepted resources refer to, counted, so that what nothing refers to any more is given up (row E-45).
#[derive(Default)]
pub(super) struct References {
    parents: HashMap<(Kind, Sym), Parent>,
    counts: BTreeMap<Kind, BTreeMap<Sym, u32>>,
}

struct Parent {
    content: BlobId,
    children: BTreeSet<(Kind, Sym)>,
}

impl References {
    /// Takes the changes of one type; the types whose names changed by it, with all their names.
    pub(super) fn update(
        &mut self,
        kind: Kind,
        changes: Changes,
        links: &Links,
        catalog: &mut Catalog,
    ) -> Vec<(Kind, BTreeSet<Sym>)> {
        let mut touched = BTreeSet::new();
        for name in changes.gone {
            if let Some(old) = self.parents.remove(&(kind, name)) {
                self.count(&old.children, false, &mut touched);
            }
        }
        for (name, content) in changes.accepted {
            if self.parents.get(&(kind, name)).is_some_and(|known| known.content == content) {
                continue;
            }
            let Some(bytes) = catalog.bytes(content) else { continue };
            // A name that stands for many can't be asked for (VHDS asks on demand).
            let found = links(&bytes).into_iter().filter(|to| !to.name.is_empty() && !to.name.ends_with('*'));
            let children: BTreeSet<_> = found.map(|to| (to.kind, catalog.intern(&to.name))).collect();
            self.count(&children, true, &mut touched);
            if let Some(old) = self.parents.insert((kind, name), Parent { content, children }) {
                self.count(&old.children, false, &mut touched);
            }
        }
        let names = |kind: &Kind| self.counts.get(kind).map(|counts| counts.keys().copied().collect());
        touched.iter().map(|kind| (*kind, names(kind).unwrap_or_default())).collect()
    }

    fn count(&mut self, children: &BTreeSet<(Kind, Sym)>, more: bool, touched: &mut BTreeSet<Kind>) {
        for (kind, name) in children {
            let counts = self.counts.entry(*kind).or_default();
            let count = counts.entry(*name).or_default();
            *count = if more { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                counts.remove(name);
            }
            touched.insert(*kind);
        }
    }
}
