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
    /// Returns the content, if the client may use it.
    pub(crate) fn blob(&self) -> Option<BlobId> {
        match self {
            WarmingContent::Used(entry) | WarmingContent::InDoubt(entry, _) => entry.blob,
            WarmingContent::None | WarmingContent::RefusedBefore => None,
        }
    }
}

/// The parts of the engine with which the track of a response starts batches.
pub(crate) struct WarmingContext<'a> {
    pub(crate) catalog: &'a mut Catalog,
    pub(crate) runs: &'a mut NameRuns,
    pub(crate) needs: &'a Needs,
    pub(crate) semantics: &'a DynSemantics,
}

impl Track {
    /// Returns the content for which a resource of a batch warms. `since` is the response of the
    /// batch.
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

    /// Whether an entry came with a response or after it.
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
        ctx: &mut WarmingContext<'_>,
        outcome: &ResponseOutcome,
        seq: Seq,
        at: Time,
    ) {
        let (again, in_force) = self.after_refusals(ctx.catalog);
        let follows_refusal = |name: &Sym| again.contains(name) || in_force.contains(name);
        let (mut new, mut restored, mut updates) = (Vec::new(), Vec::new(), Vec::new());
        for name in &outcome.restored {
            // The client drops a removed resource, and what has come for it.
            if !follows_refusal(name) && self.refused.removal(*name).is_none() {
                restored.push(*name);
            }
        }
        let dropped: SymSet = restored.iter().copied().collect();
        self.warming.end_all(&dropped);
        let is_new = |name: &&Sym| !follows_refusal(name) && !dropped.contains(*name);
        new.extend(outcome.added.iter().filter(is_new));
        updates.extend(outcome.changed.iter().filter(|name| !follows_refusal(name)));
        let (updated, added): (Vec<Sym>, Vec<Sym>) =
            again.iter().partition(|name| self.in_force(ctx.catalog, **name).is_some());
        new.extend(added);
        updates.extend(updated);
        let batches =
            [(WarmingCause::New, new), (WarmingCause::Restored, restored), (WarmingCause::Update, updates)];
        for (cause, mut names) in batches {
            names.truncate(MAX_NAMES);
            names.retain(|name| self.needs_others(ctx, *name));
            if cause == WarmingCause::Update {
                for name in &names {
                    if let Some(blob) = self.in_force(ctx.catalog, *name).and_then(|entry| entry.blob) {
                        self.warming.note_earlier(*name, blob);
                    }
                }
            }
            if !names.is_empty() {
                let names = ctx.runs.intern(names);
                self.warming.push(WarmingBatch { seq, at, cause, names, from: 0, is_given_up: false });
            }
        }
    }

    /// Reads the resources that a sent resource needs. Returns whether there are any.
    fn needs_others(&self, ctx: &mut WarmingContext<'_>, name: Sym) -> bool {
        let blob = self.sent.get(ctx.catalog, name).and_then(|entry| entry.blob);
        let Some(payload) = blob.and_then(|blob| ctx.catalog.entry(blob).payload) else { return false };
        !ctx.needs.read(ctx.catalog, ctx.semantics, self.kind, payload).is_empty()
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
            if is_last && known.is_some_and(|known| has_payload(catalog, &sent, known.blob)) {
                in_force.insert(name);
            } else {
                again.insert(name);
            }
            let is_used = |batch: Seq| known.is_some_and(|known| self.is_from(&known, batch));
            let mut refused: Vec<Seq> = self.warming.seqs().collect();
            refused.retain(|batch| *batch <= refusal.response && !is_used(*batch));
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
