pub(super) mod released_names;
pub(super) mod subscribe;
use std::sync::Arc;

use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Seq, Sym, Time};

use super::Wildcard;
use super::condition::Condition;
use crate::session::content::name_map::NameMap;
use crate::session::content::names::{NameRuns, NameSet, SymSet};
use crate::session::content::resource_set::ResourceEntry;
use xdscope_wire::xdstp::glob_matches;

/// How a server reads a list of names after a wildcard (docs/protocol.md#l-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WildcardReading {
    /// The server sends the names only.
    Ended,
    /// The server keeps the wildcard, as in the edition of Envoy 1.17.
    Kept,
}

/// The subscription of a client to one type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SubscribedNames {
    pub(crate) wildcard: Wildcard,
    /// The names, without `*`.
    pub(crate) names: NameSet,
}

impl SubscribedNames {
    /// Whether the client has a wildcard, if known.
    pub(crate) fn is_wildcard(&self) -> bool {
        !matches!(self.wildcard, Wildcard::None | Wildcard::Unknown)
    }

    /// Whether the client has a wildcard, or may have one from before the recording.
    pub(crate) fn may_be_wildcard(&self) -> bool {
        self.wildcard != Wildcard::None
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_wildcard() && self.names.is_empty()
    }

    /// Whether the client names a resource: directly, by an alias, or by one of the globs among the
    /// names.
    pub(super) fn has(&self, catalog: &Catalog, name: Sym, entry: &ResourceEntry, globs: &[Sym]) -> bool {
        let aliases = entry.blob.map_or(&[][..], |blob| catalog.entry(blob).aliases);
        let mut spellings = aliases.iter().copied().chain([name]).map(|name| catalog.first_spelling(name));
        let is_member = |glob: &Sym| glob_matches(catalog.text(*glob), catalog.text(name));
        spellings.any(|name| self.names.contains(name)) || globs.iter().any(is_member)
    }

    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.names.mark(used);
    }
}

/// The requests for a name that was not sent since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameRequest {
    pub(crate) since: Time,
    /// The first request.
    pub(crate) first: Seq,
    /// The first request on an earlier stream, if the client waits since then.
    pub(crate) earlier: Option<Seq>,
    /// The newest request that names it (delta only: a SotW request restates all names).
    pub(crate) last: Seq,
    /// Number of requests of the track before the first one that were not a mere ACK or NACK.
    pub(crate) askings_before: u32,
    /// Number of requests that name it (delta only).
    pub(crate) count: u32,
    /// The client has the resource and requests it again: it is not missing
    /// (docs/protocol.md#e-36, docs/protocol.md#f-14).
    pub(crate) has_resource: bool,
    /// The server has to send the resource although the client has it: delta only
    /// (docs/protocol.md#f-14).
    pub(crate) is_resend: bool,
    /// The client has an alternative of the resource (docs/protocol.md#k-29).
    pub(crate) is_served: bool,
    /// No resource can have the name (docs/protocol.md#k-02).
    pub(crate) is_malformed: bool,
    /// The client does not name the resource: it had given up the wildcard, and requests it again.
    pub(crate) is_member: bool,
}

impl NameRequest {
    /// Returns the request with which the wait began.
    pub(crate) fn began_with(&self) -> Seq {
        self.earlier.unwrap_or(self.first)
    }

    /// Returns the answer that the server owes to the request.
    pub(crate) fn condition(&self) -> Condition {
        Condition::answer(self.since, self.began_with())
    }

    /// Whether the server owes the resource: the name can be that of a resource, and the client has
    /// neither that nor an alternative, or has requested it again.
    pub(crate) fn is_owed(&self) -> bool {
        (!self.has_resource || self.is_resend) && !self.is_served && !self.is_malformed
    }
}

/// The requests for a name that was not sent since, as facts show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: Seq,
    /// The newest of them.
    pub last: Seq,
}

/// Names that were requested and not sent since. The names of a first request are kept as one
/// shared list.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingNames {
    shared: Option<(Arc<[Sym]>, NameRequest)>,
    single: NameMap<NameRequest>,
    /// Number of single names whose resource the client has.
    with_resource: usize,
}

impl PendingNames {
    /// Returns the number of names that are not in the shared list.
    pub(super) fn own_len(&self) -> usize {
        self.single.len()
    }

    /// Marks the names as used.
    pub(super) fn mark(&self, used: &mut UsedContent) {
        self.shared.iter().for_each(|(names, _)| used.run(names));
        used.names(self.single.keys());
    }

    /// Adds all names of a first request. No resource has an empty name.
    pub(crate) fn add_all(&mut self, mut names: Vec<Sym>, request: NameRequest, runs: &mut NameRuns) {
        names.retain(|name| *name != Sym::EMPTY);
        if !names.is_empty() {
            self.shared = Some((runs.intern(names), request));
        }
    }

    /// Adds a name, or counts one more request for it. No resource has an empty name.
    pub(crate) fn add(&mut self, name: Sym, request: NameRequest) {
        if name == Sym::EMPTY {
            return;
        }
        self.spread();
        match self.single.get_mut(name) {
            Some(known) => {
                known.last = request.last;
                known.count += 1;
                known.is_member &= request.is_member;
            }
            None => {
                self.with_resource += usize::from(request.has_resource);
                self.single.insert(name, request);
            }
        }
    }

    /// Turns the shared list into single names.
    fn spread(&mut self) {
        if let Some((names, request)) = self.shared.take() {
            self.with_resource += names.len() * usize::from(request.has_resource);
            self.single.extend(names.iter().map(|name| (*name, request)));
        }
    }

    pub(crate) fn get(&self, name: Sym) -> Option<NameRequest> {
        if let Some((names, request)) = &self.shared {
            return names.binary_search(&name).is_ok().then_some(*request);
        }
        self.single.get(name).copied()
    }

    /// Records whether the client has an alternative of a resource that it waits for.
    pub(super) fn serve(&mut self, name: Sym, is_served: bool) {
        if self.get(name).is_some_and(|request| request.is_served != is_served) {
            self.spread();
            if let Some(request) = self.single.get_mut(name) {
                request.is_served = is_served;
            }
        }
    }

    /// Removes a name that was sent, removed or released.
    pub(crate) fn remove(&mut self, name: Sym) -> Option<NameRequest> {
        self.get(name)?;
        self.spread();
        let removed = self.single.remove(name);
        self.with_resource -= usize::from(removed.is_some_and(|request| request.has_resource));
        removed
    }

    /// Removes names that were sent.
    pub(crate) fn remove_all(&mut self, names: &[Sym]) {
        if self.is_empty() {
            return;
        }
        if names.len() < 4 {
            for name in names {
                self.remove(*name);
            }
            return;
        }
        let sent: SymSet = names.iter().copied().collect();
        if let Some((run, request)) = self.shared.take() {
            self.single.extend(run.iter().filter(|name| !sent.contains(*name)).map(|name| (*name, request)));
        } else {
            self.single.retain(|name, _| !sent.contains(&name));
        }
        self.with_resource = self.single.values().filter(|request| request.has_resource).count();
    }

    /// Returns the members of a wildcard that the client waits for.
    pub(crate) fn members(&self) -> Vec<Sym> {
        self.single.iter().filter(|(_, request)| request.is_member).map(|(name, _)| name).collect()
    }

    /// Whether the client waits for a resource that it has.
    pub(crate) fn has_requested_again(&self) -> bool {
        self.with_resource > 0 || self.shared.as_ref().is_some_and(|(_, request)| request.has_resource)
    }

    /// Returns the time of the oldest request: names are kept in the order of their requests.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let shared = self.shared.as_ref().map(|(_, request)| request.since);
        shared.or_else(|| self.single.first().map(|request| request.since))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shared.is_none() && self.single.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.shared.as_ref().map_or(0, |(names, _)| names.len()) + self.single.len()
    }

    /// The names in the order of their requests.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Sym, &NameRequest)> {
        let shared =
            self.shared.iter().flat_map(|(names, request)| names.iter().map(move |name| (*name, request)));
        shared.chain(self.single.iter())
    }

    /// Returns the names that the server owes, in the order of their requests.
    pub(crate) fn owed(&self) -> impl Iterator<Item = (Sym, &NameRequest)> {
        self.iter().filter(|(_, request)| request.is_owed())
    }

    /// Returns the oldest request for a name that the server owes.
    pub(crate) fn oldest_owed(&self) -> Option<&NameRequest> {
        let shared = self.shared.as_ref().map(|(_, request)| request);
        let all = shared.into_iter().chain(self.single.values());
        all.filter(|request| request.is_owed()).min_by_key(|request| request.since)
    }

    /// Counts the names that the server owes. `is_late`: whether a name is overdue. `has_older`:
    /// whether the client has an older version of a resource.
    pub(crate) fn count_owed(
        &self,
        is_late: &dyn Fn(&NameRequest) -> bool,
        has_older: Option<&dyn Fn(Sym) -> bool>,
    ) -> Owed {
        let mut owed = Owed::default();
        if let Some((names, request)) = &self.shared
            && request.is_owed()
        {
            let older = match has_older {
                Some(has_older) => names.iter().filter(|name| has_older(**name)).count(),
                None => 0,
            };
            owed.count(is_late(request), names.len() as u64, older as u64);
        }
        for (name, request) in self.single.iter() {
            if request.is_owed() {
                let is_again = request.is_resend || has_older.is_some_and(|is_older| is_older(name));
                owed.count(is_late(request), 1, u64::from(is_again));
            }
            owed.malformed += u64::from(request.is_malformed);
        }
        owed
    }
}

/// Counts of the names that the server has not sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owed {
    /// Names whose resource the client does not have.
    pub(crate) names: u64,
    /// Those of the names that are overdue.
    pub(crate) overdue: u64,
    /// Names whose resource the client has, and the server owes again: a newer version, or after a
    /// second request.
    pub(crate) again: u64,
    /// Other names, which no resource can have.
    pub(crate) malformed: u64,
}

impl Owed {
    fn count(&mut self, is_late: bool, names: u64, again: u64) {
        self.names += names - again;
        self.again += again;
        if is_late {
            self.overdue += names - again;
        }
    }
}
