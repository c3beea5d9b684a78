//! Names that a client has unsubscribed from.

use indexmap::IndexMap;

use crate::wire::content::UsedContent;
use crate::wire::event::{DenseHash, Seq, Sym};

use super::compare::mark_key;

/// Released names that are remembered; of more, the oldest are forgotten.
const MAX_RELEASED: usize = 4096;

/// The names that a client has given up, with the newest request that did so.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReleasedNames {
    by_name: IndexMap<Sym, Seq, DenseHash>,
    /// The newest request whose names are forgotten.
    forgotten: Option<Seq>,
}

impl ReleasedNames {
    pub(super) fn add(&mut self, name: Sym, n: Seq) {
        if self.by_name.len() >= MAX_RELEASED {
            self.forget();
        }
        self.by_name.insert(name, n);
    }

    /// Forgets the names, which may have been given up by any request until now.
    fn forget(&mut self) {
        self.forgotten = self.by_name.values().copied().max().max(self.forgotten);
        self.by_name.clear();
    }

    /// Whether a request after message `n` may have given up the name.
    pub(super) fn may_have(&self, name: Sym, n: Seq) -> bool {
        self.forgotten >= Some(n) || self.by_name.get(&name).is_some_and(|released| *released >= n)
    }

    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.by_name.keys().for_each(|name| mark_key(used, *name));
    }
}
