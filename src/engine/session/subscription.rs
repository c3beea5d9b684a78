use indexmap::IndexMap;

use std::sync::Arc;

use crate::wire::event::{DenseHash, Seq, Sym, Time};

use super::Wildcard;
use super::names::{NameRuns, NameSet, SymSet};

/// The subscription of a client to one type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Want {
    pub(crate) wildcard: Wildcard,
    /// The names, without `*`.
    pub(crate) names: NameSet,
}

impl Want {
    pub(crate) fn is_wildcard(&self) -> bool {
        self.wildcard != Wildcard::None
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_wildcard() && self.names.is_empty()
    }
}

/// The requests for a name that was not sent since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) since: Time,
    /// The first request.
    pub(crate) first: Seq,
    /// The newest request that names it (delta only: a SotW request restates all names).
    pub(crate) last: Seq,
    /// Number of requests of the track before the first one.
    pub(crate) nth: u32,
    /// Number of requests that name it (delta only).
    pub(crate) times: u32,
    /// The client has the resource and asked for it again: it is not missing
    /// (docs/protocol.md#e-36, docs/protocol.md#f-14).
    pub(crate) held: bool,
}

/// Names that were requested and not sent since. The names of a first request are kept as one
/// shared list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    all: Option<(Arc<[Sym]>, Asked)>,
    some: IndexMap<Sym, Asked, DenseHash>,
    held: usize,
}

impl Waiting {
    /// Adds all names of a first request.
    pub(crate) fn ask_all(&mut self, names: Vec<Sym>, asked: Asked, runs: &mut NameRuns) {
        if !names.is_empty() {
            self.all = Some((runs.intern(names), asked));
        }
    }

    pub(crate) fn ask(&mut self, name: Sym, asked: Asked) {
        self.spread();
        match self.some.get_mut(&name) {
            Some(known) => {
                known.last = asked.last;
                known.times += 1;
            }
            None => {
                self.held += usize::from(asked.held);
                self.some.insert(name, asked);
            }
        }
    }

    /// Turns the shared list into single names.
    fn spread(&mut self) {
        if let Some((names, asked)) = self.all.take() {
            self.held += names.len() * usize::from(asked.held);
            self.some.extend(names.iter().map(|name| (*name, asked)));
        }
    }

    pub(crate) fn get(&self, name: Sym) -> Option<Asked> {
        if let Some((names, asked)) = &self.all {
            return names.binary_search(&name).is_ok().then_some(*asked);
        }
        self.some.get(&name).copied()
    }

    /// Removes a name that was sent, removed or released.
    pub(crate) fn done(&mut self, name: Sym) -> Option<Asked> {
        self.get(name)?;
        self.spread();
        let done = self.some.shift_remove(&name);
        self.held -= usize::from(done.is_some_and(|asked| asked.held));
        done
    }

    /// Removes names that were sent.
    pub(crate) fn done_all(&mut self, names: &[Sym]) {
        if self.is_empty() {
            return;
        }
        if names.len() < 4 {
            for name in names {
                self.done(*name);
            }
            return;
        }
        let sent: SymSet = names.iter().copied().collect();
        if let Some((run, asked)) = self.all.take() {
            self.some.extend(run.iter().filter(|name| !sent.contains(*name)).map(|name| (*name, asked)));
        } else {
            self.some.retain(|name, _| !sent.contains(name));
        }
        self.held = self.some.values().filter(|asked| asked.held).count();
    }

    /// Whether the client waits for a name that it has.
    pub(crate) fn any_held(&self) -> bool {
        self.held > 0 || self.all.as_ref().is_some_and(|(_, asked)| asked.held)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none() && self.some.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.as_ref().map_or(0, |(names, _)| names.len()) + self.some.len()
    }

    /// The names in the order of their requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sym, &Asked)> {
        let all = self.all.iter().flat_map(|(names, asked)| names.iter().map(move |name| (*name, asked)));
        all.chain(self.some.iter().map(|(name, asked)| (*name, asked)))
    }

    /// Counts the names that the client does not have; those requested at or before `limit` are
    /// overdue.
    pub(crate) fn owed(&self, limit: Option<Time>) -> Owed {
        let mut owed = Owed::default();
        if let Some((names, asked)) = self.all.as_ref().filter(|(_, asked)| !asked.held) {
            owed.count(asked, limit, names.len() as u64);
        }
        for asked in self.some.values().filter(|asked| !asked.held) {
            owed.count(asked, limit, 1);
        }
        owed
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owed {
    pub(crate) names: u64,
    pub(crate) overdue: u64,
    pub(crate) since: Option<Time>,
}

impl Owed {
    fn count(&mut self, asked: &Asked, limit: Option<Time>, names: u64) {
        self.names += names;
        if limit.is_some_and(|limit| asked.since <= limit) {
            self.overdue += names;
        }
        self.since = Some(self.since.map_or(asked.since, |since| since.min(asked.since)));
    }
}
