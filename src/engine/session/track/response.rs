//! Effects of responses on the resources of a track.

use std::sync::Arc;

use crate::session::content::compare::{hollow, is_all_hollow, key, nameless};
use crate::session::content::names::SymSet;
use crate::session::content::resource_set::{Change, IncomingResponse, Presence, ResourceEntry};
use crate::session::content::responses::{Body, Order, Response, Status};
use crate::session::events::{EventKind, MatchedVersion};
use crate::session::outcome::{Hollow, ResponseOutcome};
use crate::session::subscription::PendingNames;
use crate::session::track::claims::ClaimOutcome;
use crate::session::{AbsentBy, Context, MessageKind, Wildcard};
use xdscope_wire::content::{BlobId, Catalog, List};
use xdscope_wire::event::Sym;
use xdscope_wire::xdstp;
use xdscope_wire::{ResourceError, ResponseView};

use super::answered::changes_nothing;
use super::reported::NOT_FOUND;
use super::{ReportedError, Track};

/// Names with an error of the server that are kept.
const MAX_ERRORS: usize = 1 << 14;
/// Bytes of the text of an error that are kept.
const MAX_ERROR_BYTES: usize = 4096;

/// The resources of its type that a response affects.
#[derive(Clone, Copy, PartialEq)]
enum ResponseScope {
    /// All: a SotW response replaces them (docs/protocol.md#e-44).
    Full,
    /// Those that the response names.
    Partial,
    /// Those that the response names, none of which has a payload.
    Hollow,
}

/// Delta: resources that a response repeats although nothing requested them.
#[derive(Default)]
struct ResentResources {
    /// Sent before on this stream.
    repeated: Vec<Sym>,
    /// Claimed by the client in its first request.
    claimed: Vec<Sym>,
}

/// Effects of a response on the resources of a track.
struct AppliedResources {
    change: Change,
    /// Entries without a payload, by name.
    hollow: Vec<(Sym, Hollow)>,
    /// Removed names that the client never subscribed to.
    unknown_removals: Vec<Sym>,
}

impl Track {
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
        // Each delta resource has its own version, or none (docs/protocol.md#f-02).
        let version = if push.is_delta { Sym::EMPTY } else { ctx.catalog.intern(push.version.as_str()) };
        let scope = self.scope_of(ctx.catalog, push);
        let kept = self.count_kept(ctx.catalog, push.resources);
        let resent = if push.is_delta {
            self.resent_unchanged(ctx.catalog, push.resources)
        } else {
            ResentResources::default()
        };
        self.note_appearances(ctx, push.resources);
        let mentions_asked = self.mentions_asked(ctx.catalog, push);
        let incoming = IncomingResponse { list: push.resources, version, order };
        let AppliedResources { change, hollow, unknown_removals } =
            self.apply_resources(ctx, push, incoming, scope);
        let kind = response_kind(push, scope, &change, &hollow);
        self.delivered(ctx, push.resources, &change);
        self.subscription.globs.note_members(ctx, &change);
        self.classify(ctx.catalog, push);
        let is_full = scope == ResponseScope::Full;
        let answers = match mentions_asked || changes_nothing(kind, &change) {
            true => self.traffic.unanswered.take(),
            false => None,
        };
        let wildcard_asked = self.subscription.wildcard_asked.take();
        // A delta server without resources answers a wildcard with nothing.
        let says_nothing = push.resources.is_empty() && push.removed.is_empty();
        if is_full || !change.added.is_empty() || (wildcard_asked.is_some() && says_nothing) {
            self.release_members(ctx.catalog, None);
        }
        let wildcard_reading = if is_full { self.read_names_after_wildcard(ctx, push) } else { None };
        self.count_carried(kept, scope, change.removed.len());
        self.carried.decide_claims(ctx.catalog, push.resources);
        let nonce_reused = !self.add_response(ctx, push, version, scope, &change);
        if from_file {
            let rejection = crate::session::track::file::rejection(
                ctx,
                &self.type_url,
                push.resources,
                &change.duplicates,
            );
            self.apply_verdict(ctx, order, rejection.as_ref(), false);
            self.verdicts.latencies.clear();
        }
        self.traffic.count_response(ctx, push, &change);
        ResponseOutcome {
            kind,
            answers,
            answered_at: self.traffic.unanswered_at,
            added: change.added,
            changed: change.changed,
            removed: change.removed,
            restored: change.restored,
            same: change.same,
            duplicates: change.duplicates,
            nonce_reused,
            order,
            rewritten: change.rewritten,
            repeated: resent.repeated,
            needed_again: Vec::new(),
            claimed_resent: resent.claimed,
            hollow,
            unknown_removals,
            wildcard_reading,
        }
    }

    /// Returns which resources of the type a response affects.
    fn scope_of(&self, catalog: &Catalog, push: &ResponseView<'_>) -> ResponseScope {
        if is_all_hollow(catalog, push.resources) {
            ResponseScope::Hollow
        } else if self.replaces_all(catalog, push) {
            ResponseScope::Full
        } else {
            ResponseScope::Partial
        }
    }

    /// Adds a response to those that wait for a verdict, and returns whether its nonce is new.
    fn add_response(
        &mut self,
        ctx: &Context<'_>,
        push: &ResponseView<'_>,
        version: Sym,
        scope: ResponseScope,
        change: &Change,
    ) -> bool {
        // The client may have resources that the server was not known to have sent.
        let known: SymSet = change.removed.iter().copied().collect();
        let others = push.removed.iter().map(|name| self.canonical(ctx.catalog, *name));
        let others = others.filter(|name| !known.contains(name));
        let body = Body {
            list: push.resources.clone(),
            version,
            full: scope == ResponseScope::Full,
            removed: change.removed.iter().copied().chain(others).collect(),
        };
        let response = Response {
            seq: ctx.seq,
            at: ctx.at,
            nonce: push.nonce.clone(),
            version: push.version.clone(),
            status: Status::Pending,
            settled_by: None,
            body: Some(body),
        };
        self.responses.push(response, ctx.is_crowded)
    }

    /// Updates the resources by what a response sends, removes and reports as missing.
    fn apply_resources(
        &mut self,
        ctx: &mut Context<'_>,
        push: &ResponseView<'_>,
        incoming: IncomingResponse<'_>,
        scope: ResponseScope,
    ) -> AppliedResources {
        let mut unknown_removals = Vec::new();
        let mut removed = Vec::new();
        if ctx.specials.structured {
            let errors = push.resource_errors.iter().map(|error| error.name);
            xdstp::note_spellings(ctx.catalog, push.removed.iter().copied().chain(errors));
        }
        for name in push.removed {
            let canonical = self.canonical(ctx.catalog, *name);
            self.errors.remove(&canonical);
            if self.is_unknown(ctx.catalog, canonical) {
                unknown_removals.push(*name);
                // The client ignores the removal (docs/protocol.md#f-27).
                self.carried.claims.decide(canonical, ClaimOutcome::Removed);
                continue;
            }
            self.remove(ctx, *name, incoming.order, &mut removed);
        }
        let mut change = self.apply_entries(ctx, incoming, scope);
        let mut hollow = Vec::new();
        for id in std::mem::take(&mut change.hollow) {
            let removed = &mut change.removed;
            hollow.extend(self.without_payload(ctx, id, incoming.version, incoming.order, removed));
        }
        for error in push.resource_errors {
            self.error(ctx, error, incoming.order, &mut change.removed);
        }
        removed.append(&mut change.removed);
        if removed.len() > 1 {
            // A name may be in the response several times, also with an error.
            let mut seen = SymSet::default();
            removed.retain(|name| seen.insert(*name));
        }
        change.removed = removed;
        AppliedResources { change, hollow, unknown_removals }
    }

    /// SotW: counts the resources of the stream before that a response sent again or left out.
    fn count_carried(&mut self, resent: usize, scope: ResponseScope, removed: usize) {
        let gone = match scope {
            ResponseScope::Full => self.carried.unmentioned.saturating_sub(resent),
            ResponseScope::Partial | ResponseScope::Hollow => 0,
        };
        self.carried.count(resent, gone.min(removed));
        self.recount_owed(scope);
    }

    /// SotW: counts the resources of the stream before of which a newer version is still owed.
    fn recount_owed(&mut self, scope: ResponseScope) {
        if !self.carried.owes_newer || !self.carried.claims.is_empty() {
            return;
        }
        let owed = self.waiting.iter().filter(|(_, request)| !request.has_resource).count();
        self.carried.owes(if scope == ResponseScope::Full { 0 } else { owed });
    }

    /// Delta: records that a response sends or removes names that were unsubscribed under the
    /// wildcard (docs/protocol.md#f-26).
    fn classify(&mut self, catalog: &Catalog, push: &ResponseView<'_>) {
        if self.subscription.unclassified.is_empty() {
            return;
        }
        let removed = push.removed.iter().copied().chain(push.resource_errors.iter().map(|error| error.name));
        let sent = push.resources.blobs().iter().map(|id| key(catalog, *id));
        for name in sent.chain(removed) {
            self.subscription.unclassified.remove(&self.canonical(catalog, name));
        }
    }

    /// Updates the resources by the entries of a response.
    fn apply_entries(
        &mut self,
        ctx: &mut Context<'_>,
        incoming: IncomingResponse<'_>,
        scope: ResponseScope,
    ) -> Change {
        match scope {
            ResponseScope::Hollow => {
                return Change { hollow: incoming.list.blobs().to_vec(), ..Change::default() };
            }
            ResponseScope::Partial => {
                return self.sent.apply_partial(ctx.catalog, ctx.compare, incoming);
            }
            ResponseScope::Full => {}
        }
        let (subscribed, aliases) = (&self.subscribed, &self.aliases);
        let is_covered = |name: Sym| {
            subscribed.may_be_wildcard()
                || subscribed.names.contains(name)
                || aliases.iter().any(|(alias, owner)| *owner == name && subscribed.names.contains(*alias))
        };
        self.sent.apply_full(ctx.catalog, ctx.compare, incoming, is_covered)
    }

    /// Delta: returns the entries that repeat a resource unchanged and unrequested
    /// (docs/protocol.md#f-17, docs/protocol.md#f-35).
    fn resent_unchanged(&self, catalog: &Catalog, list: &List) -> ResentResources {
        let mut out = ResentResources::default();
        for id in list.blobs() {
            let (name, received) = (key(catalog, *id), catalog.entry(*id));
            let Some(entry) = self.sent.get(catalog, name).filter(ResourceEntry::is_present) else {
                continue;
            };
            let kept = entry.state == Presence::Kept;
            let same = entry.version == received.version && received.version != Sym::EMPTY;
            let known = entry.blob.map(|was| catalog.entry(was));
            let payload = known.map_or(kept, |known| known.payload == received.payload);
            let timed = received.ttl.is_some() || known.is_some_and(|known| known.ttl.is_some());
            // A lost request may have asked for the resource.
            let is_owed =
                self.waiting.get(name).is_some() || self.subscription.unclassified.contains_key(&name);
            let is_unasked = !is_owed && (kept || self.is_current(&entry));
            if same && payload && received.payload.is_some() && !timed && is_unasked {
                let names = if kept { &mut out.claimed } else { &mut out.repeated };
                names.push(name);
            }
        }
        out
    }

    /// Whether the client neither has, nor had, nor wants a canonical name.
    fn is_unknown(&self, catalog: &Catalog, name: Sym) -> bool {
        let entry = self.sent.get(catalog, name);
        entry.is_none() && !self.covers(catalog, name, None) && self.waiting.get(name).is_none()
    }

    /// Counts the resources of a response that the client has from an earlier stream.
    fn count_kept(&self, catalog: &Catalog, list: &List) -> usize {
        if self.carried.unmentioned == 0 || !self.carried.claims.is_empty() {
            return 0;
        }
        let is_kept = |id: &&BlobId| {
            let name = key(catalog, **id);
            match self.sent.get(catalog, name) {
                Some(entry) => entry.state == Presence::Kept,
                // From a stream that was not recorded.
                None => self.waiting.get(name).is_some_and(|request| request.has_resource),
            }
        };
        list.blobs().iter().filter(is_kept).count()
    }

    /// Handles a removed name, or one that does not exist (docs/protocol.md#f-27,
    /// docs/protocol.md#f-28).
    fn remove(&mut self, ctx: &mut Context<'_>, raw: Sym, order: Order, removed: &mut Vec<Sym>) {
        let name = self.canonical(ctx.catalog, raw);
        if xdstp::is_glob(ctx.catalog.text(name)) && self.subscribed.names.contains(name) {
            let text = ctx.catalog.text(name).to_owned();
            for (member, entry) in self.sent.entries(ctx.catalog) {
                let has_been_sent = entry.is_present() || entry.state == Presence::Again;
                if has_been_sent && xdstp::glob_matches(&text, ctx.catalog.text(member)) {
                    self.remove(ctx, member, order, removed);
                }
            }
        }
        let entry = self.sent.get(ctx.catalog, name);
        let is_claimed = match self.waiting.get(name) {
            Some(request) => request.has_resource || self.carried.is_stated(name),
            None => false,
        };
        let was_held = is_claimed || entry.is_some_and(|entry| entry.is_present_or_expired());
        let state = match entry.map(|entry| entry.state) {
            _ if was_held => Presence::Removed,
            Some(Presence::Removed) => Presence::Removed,
            _ => Presence::Absent(AbsentBy::Server),
        };
        self.carried.claims.decide(name, ClaimOutcome::Removed);
        if was_held || self.covers(ctx.catalog, name, entry.as_ref()) {
            removed.push(name);
        }
        self.had_absent |= !was_held;
        let (blob, version) = entry.map_or((None, Sym::EMPTY), |entry| (entry.blob, entry.version));
        self.sent.put(ctx.catalog, name, ResourceEntry { state, blob, version, order });
        self.forget(name);
        self.waiting.remove(ctx.catalog.first_spelling(raw));
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
        let received = ctx.catalog.entry(id);
        let (name, version) = (received.name, received.version);
        let ttl = if ctx.has_ttl { received.ttl } else { None };
        if name == Sym::EMPTY {
            return None;
        }
        let name = self.canonical(ctx.catalog, name);
        let entry = self.sent.get(ctx.catalog, name);
        if let Some(entry) = entry.filter(ResourceEntry::is_present_or_expired) {
            let matched = self.matched_version(ctx.catalog, &entry, version, response_version);
            let is_match = matched != MatchedVersion::Neither;
            // A delta entry has one version only.
            if (is_match && response_version != Sym::EMPTY) || (!is_match && ttl.is_some()) {
                ctx.events.add(EventKind::HeartbeatMatched(matched), name);
            }
            if is_match {
                if entry.is_present() {
                    self.set_deadline(ctx, name, ttl, true);
                }
                return Some((name, Hollow::Heartbeat));
            }
            if ttl.is_some() {
                return Some((name, Hollow::OtherVersion));
            }
        }
        let blob = entry.and_then(|entry| entry.blob);
        let was_here = entry.is_some_and(|entry| entry.is_present());
        if was_here || self.covers(ctx.catalog, name, entry.as_ref()) {
            removed.push(name);
        }
        self.had_absent = true;
        self.carried.claims.decide(name, ClaimOutcome::Removed);
        let state = Presence::Absent(AbsentBy::Legacy);
        let version = entry.map_or(Sym::EMPTY, |entry| entry.version);
        self.sent.put(ctx.catalog, name, ResourceEntry { state, blob, version, order });
        self.forget(name);
        Some((name, Hollow::NotFound))
    }

    /// Returns which version of an entry without a payload is the one that was sent last: its own,
    /// or that of the response. The protocol does not say which one applies
    /// (docs/protocol.md#g-10).
    fn matched_version(
        &self,
        catalog: &Catalog,
        sent: &ResourceEntry,
        version: Sym,
        response_version: Sym,
    ) -> MatchedVersion {
        let has_one_version = version == Sym::EMPTY || version == response_version;
        let is_of_sent = sent.version == response_version
            || (has_one_version
                && self
                    .responses
                    .get(sent.order)
                    .is_some_and(|response| response.version.as_str() == catalog.text(response_version)));
        match (sent.version == version, response_version != Sym::EMPTY && is_of_sent) {
            (true, false) => MatchedVersion::Wrapper,
            (false, true) => MatchedVersion::Response,
            (true, true) => MatchedVersion::Both,
            (false, false) => MatchedVersion::Neither,
        }
    }

    /// Handles a resource error: the server says why it does not send a resource
    /// (docs/protocol.md#m-14).
    fn error(&mut self, ctx: &mut Context<'_>, error: &ResourceError, order: Order, removed: &mut Vec<Sym>) {
        let name = self.canonical(ctx.catalog, error.name);
        if self.errors.len() < MAX_ERRORS || self.errors.contains_key(&name) {
            let message = shortened(&error.detail.message, MAX_ERROR_BYTES);
            let known = ReportedError { n: ctx.seq, at: ctx.at, code: error.detail.code, message };
            self.errors.insert(name, known);
        }
        let entry = self.sent.get(ctx.catalog, name);
        // A name that the client never requested has no resource.
        let is_known = entry.is_some()
            || !self.completeness.names_known
            || self.covers(ctx.catalog, name, entry.as_ref());
        if is_known && (error.detail.code == NOT_FOUND || !entry.is_some_and(|entry| entry.is_present())) {
            self.remove(ctx, name, order, removed);
        }
    }

    /// Records which resources of a response did not exist before, or are overdue
    /// (docs/protocol.md#e-48).
    fn note_appearances(&self, ctx: &mut Context<'_>, list: &List) {
        let is_late = |since| ctx.resource_timeout.is_some_and(|limit| ctx.at.since(since) >= limit);
        let has_late = self.waiting.oldest().is_some_and(is_late);
        if !self.had_absent && !has_late {
            return;
        }
        for id in list.blobs() {
            if hollow(ctx.catalog, *id) {
                continue;
            }
            let name = key(ctx.catalog, *id);
            let entry = self.sent.get(ctx.catalog, name);
            if let Some(ResourceEntry { state: Presence::Absent(by), .. }) = entry {
                ctx.events.add(EventKind::CameIntoExistence(by), name);
            } else if let Some(request) = self.waiting.get(name)
                && request.is_owed()
                && is_late(request.since)
                && self.owed_again(name, entry.as_ref()).is_none()
            {
                ctx.events.add(EventKind::CameIntoExistence(AbsentBy::Timer), name);
            }
        }
    }

    /// Records which names a response delivers, their aliases and times to live.
    fn delivered(&mut self, ctx: &mut Context<'_>, list: &List, change: &Change) {
        let is_named = |name: &Sym| self.covers_by_name(ctx.catalog, *name);
        if self.subscribed.wildcard == Wildcard::Ambiguous && !change.added.iter().all(is_named) {
            // The server treats the request as a wildcard (docs/protocol.md#f-21).
            self.subscribed.wildcard = Wildcard::Legacy;
        }
        let waits_again =
            self.waiting.has_requested_again() || self.carried.owes_newer || self.carried.outdated.is_some();
        if ctx.specials.any() || waits_again {
            self.delivered_specials(ctx, list);
        }
        self.waiting.remove_all(&change.added);
        let is_nameless = |id: &BlobId| nameless(key(ctx.catalog, *id)).is_some();
        if self.kind.is_none() && list.blobs().iter().any(is_nameless) {
            // Each of the names may be that of the resource (docs/protocol.md#a-18).
            self.waiting = PendingNames::default();
        }
        if !self.errors.is_empty() {
            for id in list.blobs().iter().filter(|id| !hollow(ctx.catalog, **id)) {
                self.errors.remove(&key(ctx.catalog, *id));
            }
        }
        if !(self.subscribed.may_be_wildcard() && self.unrequested.is_empty()) {
            for name in &change.added {
                self.unrequested.remove(name);
                if !self.covers(ctx.catalog, *name, self.sent.get(ctx.catalog, *name).as_ref()) {
                    self.unrequested.insert(*name);
                }
            }
        }
        for name in &change.removed {
            if !self.sent.is_present(ctx.catalog, *name) {
                self.forget(*name);
            }
        }
    }

    /// Whether the client subscribes to the name directly, by an alias or by a glob.
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
            let ttl = entry.ttl.filter(|_| ctx.has_ttl);
            let aliases: Vec<Sym> = entry.aliases.to_vec();
            if ttl.is_some() || !self.ttl.deadlines.is_empty() {
                self.set_deadline(ctx, name, ttl, false);
            }
            if !self.waiting.is_empty() {
                self.waiting.remove(name);
            }
            for glob in self.subscription.globs.with_member(ctx.catalog, name) {
                self.waiting.remove(glob);
                // The glob is not empty any more (docs/protocol.md#k-20).
                self.sent.drop_ended(ctx.catalog, glob);
            }
            for alias in aliases {
                let alias = ctx.catalog.first_spelling(alias);
                self.waiting.remove(alias);
                let is_news = self.aliases.insert(alias, name) != Some(name);
                if alias != name {
                    // The name exists as an alias.
                    self.sent.drop_ended(ctx.catalog, alias);
                }
                if is_news && alias != name && self.subscribed.names.contains(alias) {
                    ctx.events.add_all(EventKind::AliasResolved, &[alias, name]);
                }
            }
        }
    }
}

/// Returns the text, or its first `max_bytes`.
fn shortened(text: &Arc<str>, max_bytes: usize) -> Arc<str> {
    match text.floor_char_boundary(max_bytes) {
        end if end < text.len() => Arc::from(&text[..end]),
        _ => text.clone(),
    }
}

/// Returns whether a response brings something new, repeats, or is a heartbeat.
fn response_kind(
    push: &ResponseView<'_>,
    scope: ResponseScope,
    change: &Change,
    hollow: &[(Sym, Hollow)],
) -> MessageKind {
    let is_heartbeat = scope == ResponseScope::Hollow
        && push.removed.is_empty()
        && hollow.iter().all(|(_, kind)| *kind != Hollow::NotFound);
    let is_unchanged = change.added.is_empty() && change.changed.is_empty() && change.removed.is_empty();
    if is_heartbeat {
        MessageKind::Heartbeat
    } else if is_unchanged && !push.resources.is_empty() {
        MessageKind::Resend
    } else {
        MessageKind::Push
    }
}
