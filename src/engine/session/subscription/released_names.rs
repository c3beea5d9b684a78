//! Names that a client has unsubscribed from.

use indexmap::IndexMap;

use xdscope_wire::content::UsedContent;
use xdscope_wire::event::{DenseHash, Seq, Sym, Time};

use crate::session::content::compare::mark_key;

/// Released names that are remembered; of more, the oldest are forgotten.
const MAX_RELEASED: usize = 4096;

/// The names that a client has given up, with the newest request that did so, and its time.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReleasedNames {
    by_name: IndexMap<Sym, (Seq, Time), DenseHash>,
    /// The newest request whose names are forgotten.
    forgotten: Option<Seq>,
}

impl ReleasedNames {
    pub(crate) fn add(&mut self, name: Sym, n: Seq, at: Time) {
        if self.by_name.len() >= MAX_RELEASED {
            self.forget();
        }
        self.by_name.insert(name, (n, at));
    }

    /// Forgets the names, which may have been given up by any request until now.
    fn forget(&mut self) {
        self.forgotten = self.by_name.values().map(|(n, _)| *n).max().max(self.forgotten);
        self.by_name.clear();
    }

    /// Whether a request has given up the name.
    pub(crate) fn has(&self, name: Sym) -> bool {
        self.by_name.contains_key(&name)
    }

    /// Whether a request after message `n` may have given up the name.
    pub(crate) fn may_have(&self, name: Sym, n: Seq) -> bool {
        self.has_forgotten(n) || self.after(name, n).is_some()
    }

    /// Whether names that a request after message `n` gave up are forgotten.
    pub(crate) fn has_forgotten(&self, n: Seq) -> bool {
        self.forgotten >= Some(n)
    }

    /// Returns the request after message `n` that gave up the name, and its time.
    pub(crate) fn after(&self, name: Sym, n: Seq) -> Option<(Seq, Time)> {
        self.by_name.get(&name).copied().filter(|(released, _)| *released >= n)
    }

    /// The names, with the newest request that gave each of them up, and its time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sym, Seq, Time)> {
        self.by_name.iter().map(|(name, (n, at))| (*name, *n, *at))
    }

    /// Marks the names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        self.by_name.keys().for_each(|name| mark_key(used, *name));
    }
}
