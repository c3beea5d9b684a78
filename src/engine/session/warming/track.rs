//! Statements of a track about the clusters and listeners that wait.

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Seq, Sym, Time};

use super::needs::Needs;
use crate::session::content::resource_set::Presence;
use crate::session::track::Track;
use crate::session::warming::batches::MAX_NAMES;
use crate::session::{DynSemantics, ResponseOutcome};
use xdscope_wire::xdstp::lists::LOCATOR;

impl Track {
    /// Reads the needs that the scopes or routes of a response pass on to listeners.
    pub(crate) fn read_needs(
        &self,
        catalog: &mut Catalog,
        needs: &Needs,
        semantics: &DynSemantics,
        outcome: &ResponseOutcome,
    ) {
        for name in outcome.added.iter().chain(&outcome.changed).take(MAX_NAMES) {
            let blob = self.sent.get(catalog, *name).and_then(|entry| entry.blob);
            if let Some(payload) = blob.and_then(|blob| catalog.entry(blob).payload) {
                needs.read(catalog, semantics, self.kind, payload);
            }
        }
    }

    /// Reads the targets of the redirects in a response (docs/protocol.md#k-27).
    pub(crate) fn read_redirects(&self, catalog: &mut Catalog, needs: &Needs, outcome: &ResponseOutcome) {
        let Some(kind) = self.kind else { return };
        for name in outcome.added.iter().chain(&outcome.changed).take(MAX_NAMES) {
            let Some(blob) = self.sent.get(catalog, *name).and_then(|entry| entry.blob) else { continue };
            let entry = catalog.entry(blob);
            if let Some(payload) = entry.payload
                && catalog.text(entry.type_url) == LOCATOR
            {
                needs.read_redirect(catalog, kind, payload);
            }
        }
    }

    /// Returns the time from which the client owes its verdict on a response of this time: that of
    /// the response, the end of the warming for which it withheld the verdict, or its next poll.
    pub(crate) fn verdict_due_from(&self, at: Time) -> Time {
        at.max(self.warming.settled).after(self.poll_wait())
    }

    /// Whether the client has accepted the content that was sent last under a name.
    pub(crate) fn has_accepted_sent(&self, catalog: &Catalog, name: Sym) -> bool {
        let sent = self.sent.get(catalog, name);
        self.accepted.get(catalog, name).is_some_and(|entry| sent.is_some_and(|sent| sent.blob == entry.blob))
    }

    /// Returns the oldest response without a verdict, from response `n` on, unless the client has
    /// refused such a response or accepted a later one: then it does not wait with its answers.
    pub(crate) fn withheld_since(&self, n: Seq) -> Option<Seq> {
        let refused = self.verdicts.nacks.back().and_then(|nack| nack.refused);
        if self.verdicts.newest_accepted > Some(n) || refused >= Some(n) {
            return None;
        }
        self.responses.pending().map(|response| response.seq).find(|seq| *seq >= n)
    }

    /// Whether the server has removed a resource that the client had, and continues to request.
    pub(crate) fn is_removed_and_requested(&self, catalog: &Catalog, name: Sym) -> bool {
        let entry = self.sent.get(catalog, self.canonical(catalog, name));
        let entry = entry.filter(|entry| entry.state == Presence::Removed);
        entry.is_some_and(|entry| self.covers(catalog, name, Some(&entry)))
    }
}
