mod parts;
mod verdict;

pub(crate) use parts::{Carried, Subscription, Traffic};
pub(crate) use verdict::Verdicts;

use std::cell::Cell;
use std::time::Duration;

use indexmap::IndexMap;

use crate::wire::content::{BlobId, Catalog, List};
use crate::wire::event::{DenseHash, Kind, Sym, Time, TypeUrl};
use crate::wire::{ResourceError, ResponseView};

use super::compare::{hollow, key};
use super::names::{SymMap, SymSet};
use super::outcome::{Hollow, ResponseOutcome};
use super::resource_set::{Change, IncomingResponse, Presence, ResourceEntry, ResourceSet};
use super::responses::{Body, Order, Response, Responses, Status};
use super::subscription::{Waiting, Want};
use super::{AbsentBy, Context, MessageKind, PushFact, Wildcard, xdstp};

/// One type on one stream: what the client wants, what it was sent, and what it accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(crate) type_url: TypeUrl,
    pub(crate) kind: Option<Kind>,
    /// Messages before the first recorded one, or in a gap, are unknown. Ends once the client uses
    /// a nonce of a recorded response.
    pub(crate) partial: bool,
    /// A REST track: each request is the verdict on the response before it, with a nonce or without
    /// (docs/protocol.md#d-02).
    pub(crate) polled: bool,
    /// The names of the current subscription.
    pub(crate) want: Want,
    pub(crate) subscription: Subscription,
    /// Names that the client asked for and the server has not sent since.
    pub(crate) waiting: Waiting,
    pub(crate) responses: Responses,
    pub(crate) verdicts: Verdicts,
    /// The server's view: everything that was sent, accepted or not.
    pub(crate) sent: ResourceSet,
    /// The client's view: everything that it has accepted.
    pub(crate) accepted: ResourceSet,
    /// Names whose newest content was refused and not accepted since (docs/protocol.md#f-34).
    pub(crate) refused: SymSet,
    /// Names that were sent and never asked for.
    pub(crate) unasked: SymSet,
    /// Alias to name (docs/protocol.md#f-30).
    pub(crate) aliases: SymMap<Sym>,
    /// When resources with a time to live expire.
    pub(crate) deadlines: IndexMap<Sym, Time, DenseHash>,
    pub(crate) traffic: Traffic,
    pub(crate) carried: Carried,
    /// The result of [`Track::present`], cached for a number of messages.
    pub(crate) counted: Cell<Option<(u64, u64)>>,
}

/// Effects of a response on the resources of a track.
struct TakenResources {
    change: Change,
    /// Entries without a payload, by name.
    hollow: Vec<(Sym, Hollow)>,
    /// Removed names that the client never subscribed to.
    strangers: Vec<Sym>,
}

impl Track {
    pub(crate) fn new(type_url: TypeUrl, partial: bool, at: Time) -> Track {
        let kind = Kind::of_type_url(type_url.as_str()).map(|(kind, _)| kind);
        let traffic = Traffic { began: at, ..Traffic::default() };
        Track { type_url, kind, partial, traffic, ..Track::default() }
    }

    /// Whether the client subscribes to the name: directly, by an alias, by a glob or by the
    /// wildcard.
    pub(crate) fn covers(&self, catalog: &Catalog, name: Sym, slot: Option<&ResourceEntry>) -> bool {
        self.want.is_wildcard() || self.names(catalog, name, slot) || self.glob_of(catalog, name).is_some()
    }

    /// Whether the client subscribes to the name directly or by an alias.
    pub(crate) fn names(&self, catalog: &Catalog, name: Sym, slot: Option<&ResourceEntry>) -> bool {
        if self.want.names.contains(name) {
            return true;
        }
        if self.aliases.is_empty() {
            return false;
        }
        if self.spelled(catalog, name).is_some() {
            return true;
        }
        let blob = slot.and_then(|slot| slot.blob);
        blob.is_some_and(|blob| {
            catalog.entry(blob).aliases.iter().any(|alias| self.want.names.contains(*alias))
        })
    }

    /// Returns the subscribed name that equals this one except for the order of context parameters
    /// (docs/protocol.md#k-08).
    fn spelled(&self, catalog: &Catalog, name: Sym) -> Option<Sym> {
        let own = xdstp::reordered(catalog.text(name))?;
        let same = |wanted: &Sym| xdstp::reordered(catalog.text(*wanted)).is_some_and(|other| other == own);
        self.want.names.iter().find(same)
    }

    /// Returns the subscribed glob collection that has the name as a member
    /// (docs/protocol.md#k-21).
    pub(crate) fn glob_of(&self, catalog: &Catalog, name: Sym) -> Option<Sym> {
        let text = || catalog.text(name);
        self.subscription.globs.iter().copied().find(|glob| xdstp::glob_matches(catalog.text(*glob), text()))
    }

    /// Returns the name of the resource that an alias stands for, or the name itself.
    pub(crate) fn canonical(&self, catalog: &Catalog, name: Sym) -> Sym {
        match self.aliases.get(&name) {
            Some(canonical) if !self.sent.is_present(catalog, name) => *canonical,
            _ => name,
        }
    }

    /// Marks resources as expired whose time to live is over (docs/protocol.md#g-02).
    fn expire(&mut self, ctx: &mut Context<'_>) {
        if self.deadlines.is_empty() || !ctx.timed {
            return;
        }
        let over: Vec<Sym> =
            self.deadlines.iter().filter(|(_, at)| **at <= ctx.at).map(|(n, _)| *n).collect();
        for name in over {
            if let Some(slot) = self.sent.get(ctx.catalog, name).filter(ResourceEntry::is_present) {
                self.sent.put(ctx.catalog, name, ResourceEntry { state: Presence::Expired, ..slot });
            }
        }
    }

    /// Applies a response.
    ///
    /// One that was read from a file has no client to answer it: it is applied or rejected
    /// immediately.
    pub(crate) fn response(
        &mut self,
        ctx: &mut Context<'_>,
        push: &ResponseView<'_>,
        from_file: bool,
    ) -> ResponseOutcome {
        self.expire(ctx);
        let order = self.responses.next();
        let version = match push.is_delta {
            // Each delta resource has its own version, or none (docs/protocol.md#f-02).
            true => Sym::EMPTY,
            false => ctx.catalog.intern(push.version.as_str()),
        };
        let blobs = push.resources.blobs();
        let beat = blobs.first().is_some_and(|id| hollow(ctx.catalog, *id))
            && blobs.iter().all(|id| hollow(ctx.catalog, *id));
        let full = !push.is_delta && !beat && self.kind.is_some_and(Kind::full_state);
        let resent = self.kept_among(ctx.catalog, push.resources);
        let again = match push.is_delta {
            true => self.as_they_were(ctx.catalog, push.resources),
            false => Vec::new(),
        };
        let taken = IncomingResponse { list: push.resources, version, order };
        let TakenResources { change, hollow, strangers } = self.take_resources(ctx, push, taken, full, beat);
        let is_heartbeat = beat && hollow.iter().all(|(_, kind)| *kind != Hollow::NotFound);
        self.delivered(ctx, push.resources, &change);
        self.subscription.wildcard_owed = None;
        self.count_carried(resent, full, change.removed.len());
        let quiet = change.added.is_empty() && change.changed.is_empty() && change.removed.is_empty();
        let kind = if is_heartbeat && push.removed.is_empty() {
            MessageKind::Heartbeat
        } else if quiet && !blobs.is_empty() {
            MessageKind::Resend
        } else {
            MessageKind::Push
        };
        let body = Body {
            list: push.resources.clone(),
            version,
            full,
            removed: change.removed.clone().into_boxed_slice(),
        };
        let nonce_reused = !self.responses.push(Response {
            seq: ctx.seq,
            at: ctx.at,
            nonce: push.nonce.clone(),
            version: push.version.clone(),
            status: Status::Pending,
            body: Some(body),
        });
        if from_file {
            let wrong = super::file::rejection(ctx, &self.type_url, push.resources, &change.twice);
            self.judge(ctx, order, wrong.as_ref(), false);
            self.verdicts.latencies.clear();
        }
        self.count_traffic(ctx, push, &change);
        ResponseOutcome {
            kind,
            answers: self.traffic.unanswered.take(),
            added: change.added,
            changed: change.changed,
            removed: change.removed,
            same: change.same,
            twice: change.twice,
            nonce_reused,
            order,
            rewritten: change.rewritten,
            repeated: again.iter().filter(|(_, held)| !held).map(|(name, _)| *name).collect(),
            held: again.iter().filter(|(_, held)| *held).map(|(name, _)| *name).collect(),
            hollow,
            strangers,
        }
    }

    /// Updates the resources by what a response sends, removes and reports as missing.
    fn take_resources(
        &mut self,
        ctx: &mut Context<'_>,
        push: &ResponseView<'_>,
        taken: IncomingResponse<'_>,
        full: bool,
        beat: bool,
    ) -> TakenResources {
        let mut strangers = Vec::new();
        let mut removed = Vec::new();
        for name in push.removed {
            if self.is_stranger(ctx.catalog, *name) {
                strangers.push(*name);
            }
            self.remove(ctx, *name, taken.order, &mut removed);
        }
        let mut change = self.take(ctx, taken, full, beat);
        let mut hollow = Vec::new();
        for id in std::mem::take(&mut change.hollow) {
            let removed = &mut change.removed;
            hollow.extend(self.without_payload(ctx, id, taken.version, taken.order, removed));
        }
        for error in push.resource_errors {
            self.error(ctx, error, taken.order, &mut change.removed);
        }
        removed.append(&mut change.removed);
        change.removed = removed;
        TakenResources { change, hollow, strangers }
    }

    /// Counts the resources of the stream before that a response sent again or left out.
    fn count_carried(&mut self, resent: usize, full: bool, removed: usize) {
        self.carried.account.resent += resent as u64;
        let gone = if full { self.carried.unmentioned.saturating_sub(resent) } else { 0 };
        self.carried.account.removed += gone.min(removed) as u64;
        self.carried.unmentioned = self.carried.unmentioned.saturating_sub(resent + gone);
    }

    /// Counts the bytes and the resources of a response.
    fn count_traffic(&mut self, ctx: &Context<'_>, push: &ResponseView<'_>, change: &Change) {
        self.traffic.pushes += 1;
        self.traffic.bytes += push.size;
        let bytes_same = if change.same == 0 { 0 } else { push.size.saturating_sub(change.bytes_new) };
        self.traffic.bytes_resent += bytes_same;
        self.traffic.last_push = Some(PushFact {
            n: ctx.seq.0,
            at: ctx.at,
            added: change.added.len() as u64,
            changed: change.changed.len() as u64,
            removed: change.removed.len() as u64,
            same: change.same,
            bytes: push.size,
            bytes_same,
        });
    }

    fn take(&mut self, ctx: &mut Context<'_>, taken: IncomingResponse<'_>, full: bool, beat: bool) -> Change {
        if beat {
            return Change { hollow: taken.list.blobs().to_vec(), ..Change::default() };
        }
        if !full {
            return self.sent.take_partial(ctx.catalog, ctx.compare, taken);
        }
        let (want, aliases) = (&self.want, &self.aliases);
        let aliased = |name: Sym| {
            let known = aliases.iter().any(|(alias, of)| *of == name && want.names.contains(*alias));
            known && !aliases.is_empty()
        };
        let covered = |name: Sym| want.is_wildcard() || want.names.contains(name) || aliased(name);
        self.sent.take_full(ctx.catalog, ctx.compare, taken, covered)
    }

    /// Delta: returns the entries that repeat a resource unchanged and unrequested, and whether the
    /// client claimed to have them (docs/protocol.md#f-17, docs/protocol.md#f-35).
    fn as_they_were(&self, catalog: &Catalog, list: &List) -> Vec<(Sym, bool)> {
        let mut out = Vec::new();
        for id in list.blobs() {
            let (name, entry) = (key(catalog, *id), catalog.entry(*id));
            let Some(slot) = self.sent.get(catalog, name).filter(ResourceEntry::is_present) else { continue };
            let kept = slot.state == Presence::Kept;
            let same = slot.version == entry.version && entry.version != Sym::EMPTY;
            let known = slot.blob.map(|was| catalog.entry(was));
            let payload = known.map_or(kept, |known| known.payload == entry.payload);
            let timed = entry.ttl.is_some() || known.is_some_and(|known| known.ttl.is_some());
            if same && payload && entry.payload.is_some() && !timed && self.waiting.get(name).is_none() {
                out.push((name, kept));
            }
        }
        out
    }

    /// Whether the client neither has, nor had, nor wants the name.
    fn is_stranger(&self, catalog: &Catalog, name: Sym) -> bool {
        let name = self.canonical(catalog, name);
        let slot = self.sent.get(catalog, name);
        slot.is_none() && !self.covers(catalog, name, None) && self.waiting.get(name).is_none()
    }

    /// Counts the resources of a response that the client has from an earlier stream.
    fn kept_among(&self, catalog: &Catalog, list: &List) -> usize {
        if self.carried.unmentioned == 0 {
            return 0;
        }
        let kept = |name| self.sent.get(catalog, name).is_some_and(|slot| slot.state == Presence::Kept);
        list.blobs().iter().filter(|id| kept(key(catalog, **id))).count()
    }

    /// Handles a removed name, or one that does not exist (docs/protocol.md#f-27,
    /// docs/protocol.md#f-28).
    fn remove(&mut self, ctx: &mut Context<'_>, raw: Sym, order: Order, removed: &mut Vec<Sym>) {
        let name = self.canonical(ctx.catalog, raw);
        if xdstp::is_glob(ctx.catalog.text(name)) && self.want.names.contains(name) {
            let text = ctx.catalog.text(name).to_owned();
            let slots = self.sent.slots(ctx.catalog).into_iter();
            let members = slots.filter(|(member, slot)| {
                slot.is_present() && xdstp::glob_matches(&text, ctx.catalog.text(*member))
            });
            for (member, _) in members.collect::<Vec<_>>() {
                self.remove(ctx, member, order, removed);
            }
        }
        let slot = self.sent.get(ctx.catalog, name);
        let was_held = slot.is_some_and(|slot| slot.is_present() || slot.state == Presence::Expired)
            || self.waiting.get(name).is_some_and(|asked| asked.held);
        let state = match slot.map(|slot| slot.state) {
            _ if was_held => Presence::Removed,
            Some(Presence::Removed) => Presence::Removed,
            _ => Presence::Absent(AbsentBy::Server),
        };
        if slot.is_some_and(|slot| slot.state == Presence::Kept) {
            self.carried.account.removed += 1;
            self.carried.unmentioned = self.carried.unmentioned.saturating_sub(1);
        }
        if was_held || self.covers(ctx.catalog, name, slot.as_ref()) {
            removed.push(name);
        }
        let (blob, version) = slot.map_or((None, Sym::EMPTY), |slot| (slot.blob, slot.version));
        self.sent.put(ctx.catalog, name, ResourceEntry { state, blob, version, order });
        self.forget(name);
        self.waiting.done(raw);
    }

    /// Clears what is known of a name that is not present any more.
    fn forget(&mut self, name: Sym) {
        self.waiting.done(name);
        self.deadlines.shift_remove(&name);
        self.unasked.remove(&name);
    }

    /// Handles an entry without a payload: a heartbeat if its version is the last one sent, else a
    /// resource that does not exist (docs/protocol.md#g-11).
    fn without_payload(
        &mut self,
        ctx: &mut Context<'_>,
        id: BlobId,
        response_version: Sym,
        order: Order,
        removed: &mut Vec<Sym>,
    ) -> Option<(Sym, Hollow)> {
        let entry = ctx.catalog.entry(id);
        let (name, version, ttl) = (entry.name, entry.version, entry.ttl);
        if name == Sym::EMPTY {
            return None;
        }
        let name = self.canonical(ctx.catalog, name);
        let slot = self.sent.get(ctx.catalog, name);
        if let Some(slot) = slot.filter(|slot| slot.is_present() || slot.state == Presence::Expired) {
            // The protocol does not say which version applies, so either one matches
            // (docs/protocol.md#g-10).
            if slot.version == version || (response_version != Sym::EMPTY && slot.version == response_version)
            {
                if slot.is_present() {
                    self.set_deadline(ctx, name, ttl);
                }
                return Some((name, Hollow::Heartbeat));
            }
            if ttl.is_some() {
                return Some((name, Hollow::OtherVersion));
            }
        }
        let blob = slot.and_then(|slot| slot.blob);
        let was_here = slot.is_some_and(|slot| slot.is_present());
        if was_here || self.covers(ctx.catalog, name, slot.as_ref()) {
            removed.push(name);
        }
        let state = Presence::Absent(AbsentBy::Legacy);
        let version = slot.map_or(Sym::EMPTY, |slot| slot.version);
        self.sent.put(ctx.catalog, name, ResourceEntry { state, blob, version, order });
        self.forget(name);
        Some((name, Hollow::NotFound))
    }

    /// Handles a resource error: the server says why it does not send a resource
    /// (docs/protocol.md#m-14).
    fn error(&mut self, ctx: &mut Context<'_>, error: &ResourceError, order: Order, removed: &mut Vec<Sym>) {
        const NOT_FOUND: i32 = 5;
        let name = self.canonical(ctx.catalog, error.name);
        if error.detail.code == NOT_FOUND || !self.sent.is_present(ctx.catalog, name) {
            self.remove(ctx, name, order, removed);
        }
    }

    fn set_deadline(&mut self, ctx: &Context<'_>, name: Sym, ttl: Option<i64>) {
        match ttl.and_then(|ttl| u64::try_from(ttl).ok()).filter(|ttl| *ttl > 0) {
            Some(ttl) => {
                self.deadlines.insert(name, ctx.at.after(Duration::from_nanos(ttl)));
            }
            None => {
                self.deadlines.shift_remove(&name);
            }
        }
    }

    /// Records which names a response delivers, their aliases and times to live.
    fn delivered(&mut self, ctx: &mut Context<'_>, list: &List, change: &Change) {
        if self.want.wildcard == Wildcard::Ambiguous && !change.added.is_empty() {
            let asked = |name: &Sym| self.covers_by_name(ctx.catalog, *name);
            if !change.added.iter().all(asked) {
                // The server treats the request as a wildcard (docs/protocol.md#f-21).
                self.want.wildcard = Wildcard::Legacy;
            }
        }
        if ctx.specials.any() || self.waiting.any_held() {
            self.delivered_specials(ctx, list);
        }
        self.waiting.done_all(&change.added);
        if !self.want.is_wildcard() {
            for name in &change.added {
                if !self.covers(ctx.catalog, *name, self.sent.get(ctx.catalog, *name).as_ref()) {
                    self.unasked.insert(*name);
                }
            }
        }
        for name in &change.removed {
            if !self.sent.is_present(ctx.catalog, *name) {
                self.forget(*name);
            }
        }
    }

    fn covers_by_name(&self, catalog: &Catalog, name: Sym) -> bool {
        self.names(catalog, name, self.sent.get(catalog, name).as_ref())
            || self.glob_of(catalog, name).is_some()
    }

    /// Records aliases and times to live, for sources that have any.
    fn delivered_specials(&mut self, ctx: &mut Context<'_>, list: &List) {
        for id in list.blobs() {
            if hollow(ctx.catalog, *id) {
                continue;
            }
            let name = key(ctx.catalog, *id);
            let entry = ctx.catalog.entry(*id);
            let ttl = entry.ttl;
            let aliases: Vec<Sym> = entry.aliases.to_vec();
            if ttl.is_some() || !self.deadlines.is_empty() {
                self.set_deadline(ctx, name, ttl);
            }
            if !self.waiting.is_empty() {
                self.waiting.done(name);
                if let Some(glob) = self.glob_of(ctx.catalog, name) {
                    self.waiting.done(glob);
                }
            }
            let spelled = match self.want.names.contains(name) {
                true => None,
                false => self.spelled(ctx.catalog, name),
            };
            for alias in aliases.into_iter().chain(spelled) {
                self.waiting.done(alias);
                self.aliases.insert(alias, name);
            }
        }
    }

    /// Starts with resources from an earlier stream.
    pub(crate) fn keep(&mut self, sent: ResourceSet, accepted: ResourceSet) {
        self.carried.unmentioned = sent.count();
        self.sent = sent;
        self.accepted = accepted;
    }

    /// Recounts the resources from an earlier stream after more were added.
    pub(crate) fn recount_kept(&mut self) {
        self.carried.unmentioned = self.sent.count();
    }
}
