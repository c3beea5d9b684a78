//! Errors that a server reports in place of resources (docs/protocol.md#m-14).

use std::sync::Arc;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time};

use super::Track;

/// The code of gRPC for what does not exist.
pub(super) const NOT_FOUND: i32 = 5;

/// An entry of `resource_errors` (docs/protocol.md#m-14).
#[derive(Clone, Debug)]
pub(crate) struct ReportedError {
    /// The newest response that reports it.
    pub(crate) n: Seq,
    pub(crate) at: Time,
    pub(crate) code: i32,
    /// The text of the server, shortened.
    pub(crate) message: Arc<str>,
}

impl ReportedError {
    /// Whether the error says that the resource does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.code == NOT_FOUND
    }
}

/// Resources of a track that the server does not send for another reason than that they do not
/// exist.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportedNames {
    /// When the oldest error was reported.
    pub(crate) since: Option<Time>,
    /// Number of names.
    pub(crate) count: u64,
}

impl Track {
    /// Whether the server has reported another error for a resource than that it does not exist.
    pub(crate) fn is_withheld(&self, name: Sym) -> bool {
        self.errors.get(&name).is_some_and(|error| !error.is_not_found())
    }

    /// Returns the errors of resources that the client wants, oldest first, without those of
    /// resources that do not exist. A name that the client has requested again has no answer yet.
    pub(crate) fn reported_errors(&self, catalog: &Catalog) -> Vec<(Sym, &ReportedError)> {
        let is_standing = |name: Sym| {
            let entry = self.sent.get(catalog, name);
            self.waiting.get(name).is_none() && self.covers(catalog, name, entry.as_ref())
        };
        let errors = self.errors.iter().map(|(name, error)| (*name, error));
        let mut standing: Vec<_> =
            errors.filter(|(name, error)| !error.is_not_found() && is_standing(*name)).collect();
        standing.sort_unstable_by_key(|(name, error)| (error.n, *name));
        standing
    }

    /// Returns the number of these errors, and since when there are any.
    pub(crate) fn reported_names(&self, catalog: &Catalog) -> ReportedNames {
        if self.errors.is_empty() {
            return ReportedNames::default();
        }
        let messages = self.traffic.messages();
        if let Some((_, names)) = self.counts.errors.get().filter(|(at, _)| *at == messages) {
            return names;
        }
        let errors = self.reported_errors(catalog);
        let since = errors.iter().map(|(_, error)| error.at).min();
        let names = ReportedNames { since, count: errors.len() as u64 };
        self.counts.errors.set((messages, names));
        names
    }
}
