use std::time::Duration;

use super::clock::{Alarm, Alarms};
use super::finding::{Findings, Found, Place};
use super::memo::{NAMES, REFUSED, RESPONSES, Sent, SourceState, StreamMemo, Target, TrackMemo, earlier};
use super::scan::Scan;
use super::structured::{self, Entry, Locator};
use super::{Options, Rule};
use crate::engine::session::{
    MessageKind, Name, RequestClass, RequestOutcome, ResponseOutcome, Stream, Track, Wildcard, glob_matches,
};
use crate::engine::store::Store;
use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Seq, Sym, Time, TypeUrl, Variant, VersionInfo};
use crate::wire::{Body, DeltaRequest, ErrorDetail, Message, Profile, ResponseView, SotwRequest};

/// Timers about more than [`MANY`] names fire no more often than this.
pub(super) const COALESCE: Duration = Duration::from_millis(100);
pub(super) const MANY: usize = 256;
/// Targets of redirects and lists that are remembered per type.
const TARGETS: usize = 4096;
/// After this a new stream has said what it wants (section P).
const SETTLES: Duration = Duration::from_secs(5);

/// What a rule has before it: one frame or one timer, on one stream, mostly about one type.
pub(super) struct RuleContext<'a> {
    pub(super) store: &'a Store,
    pub(super) stream: &'a Stream,
    /// Index of the stream.
    pub(super) index: usize,
    pub(super) track: Option<usize>,
    pub(super) at: Time,
    /// None from a timer.
    pub(super) seq: Option<Seq>,
    /// As it was before this frame.
    pub(super) memo: &'a mut TrackMemo,
    pub(super) stream_memo: &'a mut StreamMemo,
    pub(super) world: &'a mut SourceState,
    pub(super) options: &'a Options,
    pub(super) findings: &'a mut Findings,
    pub(super) alarms: &'a mut Alarms,
}

/// A request: what it says, and what the engine made of it. The track is as it is after it.
pub(super) struct RequestContext<'a> {
    pub(super) track: &'a Track,
    pub(super) outcome: &'a RequestOutcome,
    pub(super) message: &'a Message,
}

/// A response, the same way.
pub(super) struct ResponseContext<'a> {
    pub(super) track: &'a Track,
    pub(super) outcome: &'a ResponseOutcome,
    pub(super) view: ResponseView<'a>,
    pub(super) scan: &'a Scan,
}

impl<'a> RequestContext<'a> {
    pub(super) fn sotw(&self) -> Option<&'a SotwRequest> {
        match &self.message.body {
            Body::SotwRequest(request) => Some(request),
            _ => None,
        }
    }

    pub(super) fn delta(&self) -> Option<&'a DeltaRequest> {
        match &self.message.body {
            Body::DeltaRequest(request) => Some(request),
            _ => None,
        }
    }

    pub(super) fn error(&self) -> Option<&'a ErrorDetail> {
        self.message.error_detail()
    }

    pub(super) fn nonce(&self) -> &'a str {
        self.message.request().map_or("", |request| request.response_nonce.as_str())
    }

    pub(super) fn is(&self, class: RequestClass) -> bool {
        self.outcome.class == Some(class)
    }

    /// A refusal with an `error_detail`.
    pub(super) fn refuses(&self) -> bool {
        self.outcome.kind == MessageKind::Nack && !self.outcome.implied
    }

    /// Version of the response that it speaks of.
    pub(super) fn version_answered(&self) -> Option<&'a VersionInfo> {
        let about = self.outcome.about?;
        self.track.responses.get(about.order).map(|response| &response.version)
    }
}

impl<'a> ResponseContext<'a> {
    pub(super) fn of(
        track: &'a Track,
        outcome: &'a ResponseOutcome,
        message: &'a Message,
        scan: &'a Scan,
    ) -> Option<ResponseContext<'a>> {
        Some(ResponseContext { track, outcome, view: message.response()?, scan })
    }

    /// It holds all that the client wants (SotW LDS and CDS).
    pub(super) fn full(&self) -> bool {
        !self.view.is_delta && self.track.kind.is_some_and(Kind::full_state)
    }

    /// Nothing in it differs from what was sent before.
    pub(super) fn unchanged(&self) -> bool {
        let outcome = self.outcome;
        outcome.added.is_empty() && outcome.changed.is_empty() && outcome.removed.is_empty()
    }

    /// Only prolongs times to live.
    pub(super) fn heartbeat(&self) -> bool {
        self.outcome.kind == MessageKind::Heartbeat
    }
}

impl<'a> RuleContext<'a> {
    pub(super) fn catalog(&self) -> &'a Catalog {
        self.store.catalog()
    }

    pub(super) fn text(&self, name: Sym) -> &'a str {
        self.catalog().text(name)
    }

    /// Everything that was said on the stream was seen and read. Where it was not, rules that need the whole
    /// history can't know.
    pub(super) fn is_certain(&self) -> bool {
        !self.stream.open.partial && self.whole()
    }

    /// Nothing was lost or unreadable since the stream came into view.
    pub(super) fn whole(&self) -> bool {
        self.stream.gaps == 0 && self.stream.undecodable == 0
    }

    pub(super) fn timed(&self) -> bool {
        !self.store.clock().untimed
    }

    pub(super) fn profile(&self) -> Profile {
        self.stream.open.profile.or(self.options.profile).unwrap_or(Profile::Current)
    }

    pub(super) fn is_aggregated(&self) -> bool {
        self.stream.variant().is_some_and(Variant::is_aggregated)
    }

    /// A gRPC stream, with nonces and verdicts.
    pub(super) fn is_grpc(&self) -> bool {
        self.stream.is_grpc()
    }

    /// The track of a timer.
    pub(super) fn own_track(&self) -> Option<&'a Track> {
        let stream: &'a Stream = self.stream;
        self.track.and_then(|track| stream.tracks.get(track))
    }

    /// What the session's stream before left of the type: one that had ended when this one began.
    pub(super) fn prior(&self, type_url: &TypeUrl) -> Option<&'a Track> {
        let opened = self.stream.opened;
        let ended = |stream: &&Stream| stream.closed.as_ref().is_some_and(|(at, _)| *at <= opened);
        let store: &'a Store = self.store;
        store.engine().before(self.stream).filter(ended).find_map(|stream| stream.find(type_url))
    }

    /// The node's client features; `None` while no node is known.
    pub(super) fn features(&self) -> Option<&'a [String]> {
        let stream: &'a Stream = self.stream;
        stream.node.as_ref().map(|node| node.client_features.as_slice())
    }

    /// The time `before` ago.
    pub(super) fn ago(&self, before: Duration) -> Option<Time> {
        self.at.0.checked_sub(u64::try_from(before.as_nanos()).unwrap_or(u64::MAX)).map(Time)
    }

    /// The name, or the wildcard, was let go of too short a time ago for the server to know.
    pub(super) fn just_let_go(&self, name: Sym) -> bool {
        let recent = |at: &Time| !self.timed() || self.at.since(*at) <= self.options.timers.ack;
        self.memo.let_go.get(&name).is_some_and(recent)
            || self.memo.wildcard_let_go.as_ref().is_some_and(recent)
    }

    /// Sets a timer for the track, or for the stream if there is none.
    pub(super) fn arm(&mut self, alarm: Alarm, at: Time) {
        if !self.timed() {
            return;
        }
        let set = match self.track {
            Some(_) => earlier(&mut self.memo.armed, alarm, at),
            None => self.stream_memo.arm(alarm, at),
        };
        if set {
            self.alarms.set((at, self.index, self.track, alarm));
        }
    }

    /// Makes a finding; its index among all.
    pub(super) fn raise(&mut self, rule: &'static Rule, found: Found<'_>) -> Option<usize> {
        let place = Place {
            stream: self.stream.id,
            track: self.track,
            node: self.stream.node_id.clone(),
            type_url: self.own_track().map(|track| track.type_url.clone()).unwrap_or_default(),
            at: self.at,
            seq: self.seq,
        };
        let store = self.store;
        self.findings.add(rule, found, place, |name| store.text(name))
    }

    /// Names that have been waited for since after `until`, and for `limit` by now, with who asked.
    pub(super) fn overdue(
        &self,
        track: &Track,
        limit: Duration,
        until: Option<Time>,
    ) -> Vec<(Sym, Seq, bool)> {
        let Some(since) = self.ago(limit) else { return Vec::new() };
        let due = |at: Time| at <= since && until.is_none_or(|until| at > until);
        let waited = track.waiting.iter().filter(|(_, asked)| due(asked.since));
        waited.map(|(name, asked)| (name, asked.last, asked.held)).collect()
    }

    /// The next time at which a name has been waited for long enough.
    pub(super) fn wait_on(&mut self, alarm: Alarm, limit: Duration) {
        let Some(track) = self.own_track() else { return };
        let until = match alarm {
            Alarm::Missing => &mut self.memo.exist_until,
            _ => &mut self.memo.answer_until,
        };
        let limit_at = self.at.0.checked_sub(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)).map(Time);
        *until = limit_at.max(*until);
        let later = |at: &Time| limit_at.is_none_or(|limit| *at > limit);
        let next = track.waiting.iter().map(|(_, asked)| asked.since).filter(later).min();
        if let Some(next) = next {
            // With many of them, not each by itself: a look at all costs time.
            let soon = self.at.after(COALESCE);
            let due = next.after(limit);
            self.arm(alarm, if track.waiting.len() > MANY { due.max(soon) } else { due });
        }
    }

    /// Whether the client of the stream asks for the structured name, on whatever stream.
    pub(super) fn is_wanted(&self, canonical: &str) -> bool {
        let catalog = self.catalog();
        let same =
            |name: Sym| Name::parse(catalog.text(name)).is_some_and(|name| name.canonical() == canonical);
        let node = self.stream.node_id.as_ref();
        let streams = self.store.engine().streams().iter();
        let own = streams.filter(|stream| stream.id == self.stream.id || stream.node_id.as_ref() == node);
        own.flat_map(|stream| &stream.tracks).any(|track| {
            let glob = |glob: &Sym| glob_matches(catalog.text(*glob), canonical);
            track.subscription.globs.iter().any(glob) || track.want.names.iter().any(same)
        })
    }

    /// What the client should ask for after this response.
    fn note_targets(&mut self, answer: &ResponseContext<'_>) {
        let Some(seq) = self.seq else { return };
        let mut note = |of: Sym, locator: &Locator, listed| {
            if self.memo.targets.len() < TARGETS {
                let name = locator.target();
                self.memo.targets.push(Target { name, of, seq, listed, accepted: None });
            }
        };
        for (name, locator) in &answer.scan.redirects {
            note(*name, locator, false);
            if let Some(alternative) = structured::alternative(&locator.uri) {
                self.world.note_alternative(&locator.uri, &alternative);
            }
        }
        for (name, entries) in &answer.scan.collections {
            for entry in entries {
                if let Entry::Locator(locator) = entry {
                    note(*name, locator, true);
                    if let Some(alternative) = structured::alternative(&locator.uri) {
                        self.world.note_alternative(&locator.uri, &alternative);
                    }
                }
            }
        }
    }

    /// The targets of an accepted response are due from now on; those of a refused one never.
    fn settle_targets(&mut self, asking: &RequestContext<'_>) {
        let Some(answered) = asking.outcome.answers.filter(|_| !self.memo.targets.is_empty()) else { return };
        let at = self.at;
        if asking.outcome.kind != MessageKind::Ack {
            return self.memo.targets.retain(|target| target.seq != answered);
        }
        for target in self.memo.targets.iter_mut().filter(|target| target.seq == answered) {
            target.accepted = Some(at);
        }
        self.arm(Alarm::Targets, at.after(self.options.timers.answer));
    }

    /// Targets that have been looked at, and the timer for those that are left.
    pub(super) fn forget_targets(&mut self) {
        let (at, limit) = (self.at, self.options.timers.answer);
        self.memo.targets.retain(|target| target.accepted.is_none_or(|since| at.since(since) < limit));
        if let Some(next) = self.memo.targets.iter().filter_map(|target| target.accepted).min() {
            self.arm(Alarm::Targets, next.after(limit));
        }
    }

    /// What is remembered of a request, after the rules have looked at it.
    pub(super) fn note_request(&mut self, asking: &RequestContext<'_>) {
        self.note_beginning();
        let RequestContext { track, outcome, .. } = asking;
        let (at, timers) = (self.at, self.options.timers);
        let memo = &mut *self.memo;
        memo.requests_since += 1;
        memo.stale_since += u32::from(asking.is(RequestClass::StaleNonce) && outcome.answers.is_none());
        memo.added_since |= !outcome.added.is_empty();
        memo.added_at = if outcome.added.is_empty() { memo.added_at } else { Some(at) };
        let wildcard = track.want.is_wildcard();
        let lost = outcome.was != Wildcard::None && !wildcard;
        memo.changed_since |= !outcome.added.is_empty() || !outcome.removed.is_empty() || lost;
        if let (true, Some(request)) = (outcome.first, asking.sotw()) {
            memo.claimed = Some(request.version_info.clone());
        }
        note_verdict(memo, asking);
        self.settle_targets(asking);
        let memo = &mut *self.memo;
        for name in &outcome.added {
            memo.let_go.remove(name);
        }
        if memo.let_go.len() + outcome.removed.len() > NAMES {
            // Too many to remember: for a while nothing can be said of what the client wants.
            memo.let_go.retain(|_, since| at.since(*since) <= timers.ack);
            memo.wildcard_let_go = Some(at);
        }
        for name in &outcome.removed {
            memo.let_go(*name, at);
            memo.gone.remove(name);
        }
        if lost {
            memo.wildcard_let_go = Some(at);
            memo.gone.clear();
            memo.reclassify.clear();
        }
        let empty = track.subscription.last_names.as_ref().is_some_and(|raw| raw.is_empty());
        memo.emptied = match empty && track.subscription.was_named {
            true => memo.emptied.or(Some(at)),
            false => None,
        };
        memo.shrunk = match outcome.kind == MessageKind::Ack && !outcome.removed.is_empty() {
            true => self.seq.map(|seq| (seq, outcome.removed.iter().copied().take(NAMES).collect())),
            false => None,
        };
        if let Some(request) = asking.delta() {
            // Held and not asked for: the server may well take it away.
            for name in request.initial_resource_versions.keys().filter(|_| outcome.first) {
                memo.let_go(*name, at);
            }
            let old =
                outcome.about.is_some_and(|about| !about.newest) || asking.is(RequestClass::SettledNonce);
            if old && memo.stale_added.len() < NAMES {
                memo.stale_added.extend(outcome.added.iter().take(NAMES));
            }
            let asks = !request.subscribe.is_empty() || !request.locators_subscribe.is_empty();
            self.note_reclassify(asking, wildcard && !lost && !outcome.first);
            if asks {
                self.wait();
            }
        } else if !outcome.added.is_empty() {
            self.wait();
        }
    }

    fn note_reclassify(&mut self, asking: &RequestContext<'_>, wildcard: bool) {
        let Some(seq) = self.seq else { return };
        for name in &asking.outcome.added {
            self.memo.reclassify.remove(name);
        }
        if wildcard && asking.outcome.was != Wildcard::None && self.memo.reclassify.len() < NAMES {
            for name in asking.outcome.removed.iter().take(NAMES) {
                self.memo.reclassify.insert(*name, (self.at, seq));
                self.arm(Alarm::Reclassify, self.at.after(self.options.timers.answer));
            }
        }
    }

    /// The stream's first request: soon it will have said what it wants.
    fn note_beginning(&mut self) {
        let at = self.at.after(SETTLES);
        if self.stream.requests == 1 && self.timed() && self.stream_memo.arm(Alarm::Settled, at) {
            self.alarms.set((at, self.index, None, Alarm::Settled));
        }
    }

    fn wait(&mut self) {
        self.arm(Alarm::Waiting, self.at.after(self.options.timers.answer));
        self.arm(Alarm::Missing, self.at.after(self.options.timers.exist));
    }

    /// The same of a response.
    pub(super) fn note_response(&mut self, answer: &ResponseContext<'_>) {
        let Some(seq) = self.seq else { return };
        let (catalog, track, outcome) = (self.catalog(), answer.track, answer.outcome);
        let sent = Sent {
            seq,
            list: answer.view.resources.clone(),
            version: answer.view.version.clone(),
            twice: outcome.twice.clone(),
            size: answer.view.size,
        };
        let memo = &mut *self.memo;
        if memo.pending.len() == RESPONSES {
            memo.pending.pop_front();
        }
        memo.pending.push_back(sent.clone());
        memo.previous = Some(sent);
        (memo.added_since, memo.changed_since) = (false, false);
        (memo.requests_since, memo.stale_since) = (0, 0);
        if answer.full() && !answer.heartbeat() {
            let content = |name: &Sym| track.sent.get(catalog, *name).and_then(|slot| slot.blob);
            let gone = outcome.removed.iter().take(NAMES);
            memo.gone = gone.filter_map(|name| Some((*name, content(name)?))).collect();
        }
        if !memo.reclassify.is_empty() {
            for id in answer.view.resources.blobs() {
                memo.reclassify.remove(&crate::engine::session::key(catalog, *id));
            }
            for name in answer.view.removed {
                memo.reclassify.remove(name);
            }
        }
        if !memo.ttl.is_empty() {
            for id in answer.view.resources.blobs() {
                let entry = catalog.entry(*id);
                if entry.ttl.is_none() {
                    memo.ttl.remove(&entry.name);
                }
            }
        }
        for id in &answer.scan.ttl {
            let entry = catalog.entry(*id);
            if entry.payload.is_some() && memo.ttl.len() < NAMES {
                memo.ttl.insert(entry.name, entry.version);
            }
        }
        for id in &answer.scan.aliased {
            let entry = catalog.entry(*id);
            for alias in entry.aliases {
                if memo.aliases.len() < NAMES {
                    memo.aliases.insert(*alias, entry.name);
                }
            }
        }
        if track.kind == Some(Kind::Cds) && !(outcome.added.is_empty() && outcome.changed.is_empty()) {
            self.stream_memo.clusters_changed = Some(seq);
        }
        if let Some(push) = track.traffic.last_push.as_ref().filter(|_| !answer.view.is_delta) {
            if memo.pushes.len() == 10 {
                memo.pushes.pop_front();
            }
            memo.pushes.push_back((push.bytes, push.bytes_same));
        }
        let deadline =
            |id: &crate::wire::content::BlobId| track.deadlines.get(&catalog.entry(*id).name).copied();
        if let Some(first) = answer.scan.ttl.iter().filter_map(deadline).min() {
            self.arm(Alarm::Ttl, first);
        }
        self.note_targets(answer);
        self.note_carried(answer);
        self.note_links(answer);
        if self.is_grpc() {
            self.arm(Alarm::Unanswered, self.at.after(self.options.timers.ack));
        }
    }
}

/// What a verdict settles.
fn note_verdict(memo: &mut TrackMemo, asking: &RequestContext<'_>) {
    let outcome = asking.outcome;
    if !outcome.skipped.is_empty() {
        memo.pending.retain(|sent| !outcome.skipped.contains(&sent.seq));
    }
    let Some(answered) = outcome.answers else { return };
    let Some(at) = memo.pending.iter().position(|sent| sent.seq == answered) else { return };
    let Some(sent) = memo.pending.remove(at) else { return };
    if outcome.kind == MessageKind::Ack {
        if memo.acked.back() != Some(&sent.version) {
            if memo.acked.len() == RESPONSES {
                memo.acked.pop_front();
            }
            memo.acked.push_back(sent.version);
        }
        // Content that was accepted after all may be sent again.
        memo.refused.retain(|old| old.list.fingerprint() != sent.list.fingerprint());
    } else if outcome.kind == MessageKind::Nack {
        if memo.refused.len() == REFUSED {
            memo.refused.pop_front();
        }
        memo.refused.push_back(sent);
    }
}
