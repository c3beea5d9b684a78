use indexmap::IndexMap;

use std::sync::Arc;

use crate::wire::event::{DenseHash, Seq, Sym, Time};

use super::Wildcard;
use super::names::{NameRuns, NameSet, SymSet};

/// What a client wants of one type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Want {
    pub(crate) wildcard: Wildcard,
    /// Without `*`.
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

/// A name asked for and not sent since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) since: Time,
    /// The request that asked first.
    pub(crate) first: Seq,
    /// The newest that named it again (delta; a SotW request always restates it).
    pub(crate) last: Seq,
    /// How many requests the track had before the first.
    pub(crate) nth: u32,
    /// Delta: how often it was named.
    pub(crate) times: u32,
    /// The client has it, and wants it sent again (rows E-36, F-14): nothing is missing.
    pub(crate) held: bool,
}

/// Names asked for and not sent since. The names of a first request are held as the one run they came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    all: Option<(Arc<[Sym]>, Asked)>,
    some: IndexMap<Sym, Asked, DenseHash>,
    held: usize,
}

impl Waiting {
    /// All names of a first request.
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

    /// Turns the run into single names.
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

    /// The name was sent, ended, or is not wanted any more.
    pub(crate) fn done(&mut self, name: Sym) -> Option<Asked> {
        self.get(name)?;
        self.spread();
        let done = self.some.shift_remove(&name);
        self.held -= usize::from(done.is_some_and(|asked| asked.held));
        done
    }

    /// All of these were sent.
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

    /// Some names are waited for although the client has them.
    pub(crate) fn any_held(&self) -> bool {
        self.held > 0 || self.all.as_ref().is_some_and(|(_, asked)| asked.held)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none() && self.some.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.as_ref().map_or(0, |(names, _)| names.len()) + self.some.len()
    }

    /// In the order in which they were asked for.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sym, &Asked)> {
        let all = self.all.iter().flat_map(|(names, asked)| names.iter().map(move |name| (*name, asked)));
        all.chain(self.some.iter().map(|(name, asked)| (*name, asked)))
    }

    /// Names the client does not have, longest waited for first: how many were asked for at or before `limit`,
    /// how many at all, and since when the first.
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
