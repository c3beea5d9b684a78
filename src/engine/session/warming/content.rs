//! The contents for which clusters and listeners warm: those that the client has accepted, or has
//! yet to answer. A refused update neither starts nor ends the warming of what is in force.

use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Seq, Sym, Time};

use super::needs::Needs;
use crate::session::content::compare::key;
use crate::session::content::names::{NameRuns, SymSet};
use crate::session::content::refusals::Refusal;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Order;
use crate::session::track::Track;
use crate::session::warming::batches::{MAX_NAMES, WarmingBatch, WarmingCause};
use crate::session::{DynSemantics, ResponseOutcome};

/// The content for which a resource of a batch warms.
pub(crate) enum WarmingContent {
    /// The resource is gone, or the client has refused the content.
    None,
    /// Content without a verdict that the client has refused before.
    RefusedBefore,
    /// The client uses the content, or has yet to answer.
    Used(ResourceEntry),
    /// Whether the client uses the content is unknown: it has refused the response, maybe for
    /// another resource.
    InDoubt(ResourceEntry, Refusal),
}

impl WarmingContent {
    pub(crate) fn blob(&self) -> Option<BlobId> {
        match self {
            WarmingContent::Used(entry) | WarmingContent::InDoubt(entry, _) => entry.blob,
            WarmingContent::None | WarmingContent::RefusedBefore => None,
        }
    }
}

impl Track {
    /// Returns the content for which a resource warms since a response.
    pub(crate) fn warming_content(&self, catalog: &Catalog, since: Seq, name: Sym) -> WarmingContent {
        let in_force = || match self.in_force(catalog, name).filter(|entry| self.is_from(entry, since)) {
            Some(entry) => WarmingContent::Used(entry),
            None => WarmingContent::None,
        };
        let Some(sent) = self.sent.get(catalog, name).filter(ResourceEntry::is_present) else {
            let is_kept = self.refused.removal(name).is_some();
            return if is_kept { in_force() } else { WarmingContent::None };
        };
        let Some(refusal) = self.refused.get(name).filter(Refusal::is_unused) else {
            return WarmingContent::Used(sent);
        };
        let is_newer = sent.order > refusal.order;
        if refusal.response < since {
            let is_same = is_newer && has_payload(catalog, &sent, refusal.blob);
            return if is_same { WarmingContent::RefusedBefore } else { WarmingContent::Used(sent) };
        }
        match self.keeps_out(catalog, name, &refusal) {
            true => in_force(),
            false if is_newer && !has_payload(catalog, &sent, refusal.blob) => WarmingContent::Used(sent),
            false => WarmingContent::InDoubt(sent, refusal),
        }
    }

    /// Whether the client is known to use, or to have yet to answer, the content for which a
    /// resource warms since a response.
    pub(crate) fn is_warming_certain(&self, catalog: &Catalog, since: Seq, name: Sym) -> bool {
        matches!(self.warming_content(catalog, since, name), WarmingContent::Used(_))
    }

    /// Whether a refusal certainly keeps the newest content of a name out of use.
    fn keeps_out(&self, catalog: &Catalog, name: Sym, refusal: &Refusal) -> bool {
        refusal.is_certain || (refusal.is_unused() && self.accepted.is_present(catalog, name))
    }

    /// Whether an entry came with a response or after the response.
    fn is_from(&self, entry: &ResourceEntry, response: Seq) -> bool {
        match self.responses.get(entry.order) {
            Some(own) if entry.state == Presence::Present => own.seq >= response,
            // From an earlier stream, or from before the oldest response that is remembered.
            _ => self.responses.oldest().is_none_or(|oldest| oldest.seq > response),
        }
    }

    /// Starts batches for the resources of a response that need others.
    pub(crate) fn start_warming(
        &mut self,
        (catalog, runs): (&mut Catalog, &mut NameRuns),
        (needs, semantics): (&Needs, &DynSemantics),
        outcome: &ResponseOutcome,
        (seq, at): (Seq, Time),
    ) {
        let (again, in_force) = self.after_refusals(catalog);
        let is_plain = |name: &&Sym| !again.contains(name) && !in_force.contains(name);
        let (updates, new): (Vec<Sym>, Vec<Sym>) =
            again.iter().partition(|name| self.in_force(catalog, **name).is_some());
        // The client drops a removed resource, and what has come for it.
        let is_dropped = |name: &&Sym| is_plain(name) && self.refused.removal(**name).is_none();
        let restored: Vec<Sym> = outcome.restored.iter().filter(is_dropped).copied().collect();
        let dropped: SymSet = restored.iter().copied().collect();
        self.warming.end_all(&dropped);
        let is_added = |name: &&Sym| !dropped.contains(*name);
        let added: Vec<Sym> = outcome.added.iter().filter(is_plain).filter(is_added).copied().collect();
        let changed: Vec<Sym> = outcome.changed.iter().filter(is_plain).copied().collect();
        let batches = [
            (WarmingCause::New, [added, new].concat()),
            (WarmingCause::Restored, restored),
            (WarmingCause::Update, [changed, updates].concat()),
        ];
        for (cause, names) in batches {
            let mut waiting = Vec::new();
            for name in names.iter().take(MAX_NAMES) {
                let blob = self.sent.get(catalog, *name).and_then(|entry| entry.blob);
                let Some(payload) = blob.and_then(|blob| catalog.entry(blob).payload) else { continue };
                if !needs.read(catalog, semantics, self.kind, payload).is_empty() {
                    waiting.push(*name);
                }
            }
            if cause == WarmingCause::Update {
                for name in &waiting {
                    if let Some(blob) = self.in_force(catalog, *name).and_then(|entry| entry.blob) {
                        self.warming.note_earlier(*name, blob);
                    }
                }
            }
            if !waiting.is_empty() {
                let names = runs.intern(waiting);
                self.warming.push(WarmingBatch { seq, at, cause, names, from: 0, is_given_up: false });
            }
        }
    }

    /// Ends the batches of resources whose content in force was sent again before the client
    /// refused the one between: nothing changes for the client.
    pub(crate) fn end_warming_in_force(&mut self, catalog: &Catalog) {
        if self.warming.is_empty() {
            return;
        }
        let names: Vec<Sym> = self.refused.names().collect();
        for name in names {
            let sent = self.sent.get(catalog, name).filter(ResourceEntry::is_present);
            let (Some(sent), Some(known)) = (sent, self.in_force(catalog, name)) else { continue };
            let is_later = self.refused.get(name).is_some_and(|refusal| refusal.order < sent.order);
            if is_later
                && has_payload(catalog, &sent, known.blob)
                && !self.responses.has_pending_before(sent.order)
            {
                self.end_warming_after(name, &known, Seq(u64::MAX));
            }
        }
    }

    /// Ends the warming of resources whose content in an accepted response is the one in force,
    /// after skipped responses: nothing changes for the client.
    ///
    /// Comes before the verdict is applied. `newest` is the newest accepted response.
    pub(crate) fn end_warming_of_skipped(&mut self, catalog: &Catalog, newest: Option<Order>, order: Order) {
        if self.warming.is_empty() || !self.responses.has_skipped(newest, order) {
            return;
        }
        let Some(response) = self.responses.get(order) else { return };
        let Some(body) = &response.body else { return };
        let (seq, list) = (response.seq, body.list.clone());
        let warming: SymSet = self.warming.names_of(seq).collect();
        for id in list.blobs() {
            let name = key(catalog, *id);
            if warming.contains(&name)
                && let Some(known) = self.in_force(catalog, name)
                && has_payload(catalog, &known, Some(*id))
            {
                self.end_warming_after(name, &known, seq);
            }
        }
    }

    /// Ends the batches of a resource from after the content in force up to a response.
    fn end_warming_after(&mut self, name: Sym, in_force: &ResourceEntry, last: Seq) {
        let seqs = self.warming.seqs().filter(|n| *n <= last && !self.is_from(in_force, *n));
        let unused: Vec<Seq> = seqs.collect();
        self.warming.end(name, &unused);
    }

    /// Returns the names in the newest response whose content before was refused: those with other
    /// content than the client uses, and those with the content in force. Ends the batches that
    /// the refused contents have started.
    fn after_refusals(&mut self, catalog: &Catalog) -> (SymSet, SymSet) {
        let (mut again, mut in_force) = (SymSet::default(), SymSet::default());
        let newest = self.responses.newest();
        for name in self.refused.names() {
            let Some(refusal) = self.refused.get(name) else { continue };
            let sent = self.sent.get(catalog, name).filter(ResourceEntry::is_present);
            let Some(sent) = sent.filter(|entry| Some(entry.order) == newest) else { continue };
            if !self.keeps_out(catalog, name, &refusal) {
                continue;
            }
            let known = self.in_force(catalog, name);
            // The client may use an unanswered response meanwhile.
            let is_last = !self.responses.has_pending_before(sent.order);
            match known.is_some_and(|known| has_payload(catalog, &sent, known.blob)) && is_last {
                true => in_force.insert(name),
                false => again.insert(name),
            };
            let is_used = |batch: Seq| known.is_some_and(|known| self.is_from(&known, batch));
            let refused: Vec<Seq> = self.warming.seqs().filter(|n| *n <= refusal.response).collect();
            let refused: Vec<Seq> = refused.into_iter().filter(|n| !is_used(*n)).collect();
            self.warming.end(name, &refused);
        }
        (again, in_force)
    }
}

/// Whether an entry has the payload of a content, in whatever version.
fn has_payload(catalog: &Catalog, entry: &ResourceEntry, other: Option<BlobId>) -> bool {
    let payload = |blob: Option<BlobId>| blob.and_then(|blob| catalog.entry(blob).payload);
    payload(entry.blob).is_some() && payload(entry.blob) == payload(other)
}
