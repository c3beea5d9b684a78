//! Clusters and listeners that wait for resources before the client uses them.
//!
//! Each response that adds or changes a cluster or a listener starts a batch. A name warms until
//! every resource that it needs was delivered; an updated cluster of an Envoy needs its endpoints
//! once more (docs/protocol.md#h-01 to docs/protocol.md#h-06).

pub(super) mod batches;
mod cached_endpoints;
pub(super) mod content;
pub(super) mod needed;
pub(super) mod needs;
mod scopes;
pub(super) mod track;
pub(super) mod unrequested;
use std::cell::OnceCell;

use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Seq, Sym, Time};

use super::stream::Stream;
use super::subscription::NameRequest;
use super::track::Track;
use crate::session::content::names::SymSet;
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Response;
use batches::{WarmingBatch, WarmingCause, WarmingProgress};
use content::WarmingContent;
use needed::MissingNeed;
use needs::{Needs, ResourceKey};
use xdscope_wire::xdstp::lists::LOCATOR;
use xdscope_wire::xdstp::{is_structured, named};

/// Batches of a track up to which finished ones are searched for at the front only.
const MIN_BATCHES: usize = 16;
/// Redirects in a row that are followed.
const MAX_HOPS: usize = 8;

/// A resource that warms, with the batch that it belongs to.
pub(crate) struct WarmingName<'a> {
    pub(crate) name: Sym,
    pub(crate) batch: &'a WarmingBatch,
    /// The resources that it waits for.
    pub(crate) needs: Vec<MissingNeed>,
}

/// The open streams of a client and the needs of contents, to find out what warms.
#[derive(Clone)]
pub(crate) struct WarmingView<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) needs: &'a Needs,
    pub(crate) streams: Vec<&'a Stream>,
    /// The routes that the scopes of the client refer to, with the response that sent the scope.
    scope_routes: OnceCell<Vec<(ResourceKey, Seq)>>,
    /// The time at which resources have expired, and clients have stopped waiting. `None` if
    /// neither counts.
    now: Option<Time>,
}

/// How far a resource of a batch has come.
pub(super) enum BatchState {
    /// Has warmed, or is gone or refused.
    Over,
    /// Needs resources that the client has not requested yet.
    Unasked,
    /// Waits for these resources.
    Warming(Vec<MissingNeed>),
    /// The client uses it without these resources.
    UsedWithout(Vec<MissingNeed>),
}

impl BatchState {
    fn waits_for(self) -> Option<Vec<MissingNeed>> {
        match self {
            BatchState::Warming(needs) => Some(needs),
            _ => None,
        }
    }

    fn lacks(self) -> Option<Vec<MissingNeed>> {
        match self {
            BatchState::UsedWithout(needs) => Some(needs),
            _ => None,
        }
    }
}

/// Whether a resource is there for those that need it.
enum NeedState {
    Met,
    Unasked,
    Missing(MissingNeed),
    /// Does not exist, and nothing waits for it.
    Absent(MissingNeed),
}

impl<'a> WarmingView<'a> {
    pub(crate) fn new(catalog: &'a Catalog, needs: &'a Needs, streams: Vec<&'a Stream>) -> WarmingView<'a> {
        WarmingView { catalog, needs, streams, scope_routes: OnceCell::new(), now: None }
    }

    /// The view at a time: like a removed resource, an expired one does not warm
    /// (docs/protocol.md#g-02), and an Envoy waits for a limited time (docs/protocol.md#e-46).
    pub(crate) fn at(self, now: Time) -> WarmingView<'a> {
        WarmingView { now: Some(now), ..self }
    }
}

impl WarmingView<'_> {
    /// Returns the warming resources of a track of the client, those that wait longest first.
    pub(crate) fn names<'t>(&self, track: &'t Track) -> impl Iterator<Item = WarmingName<'t>> {
        self.names_if(track, |_| true, BatchState::waits_for)
    }

    /// Returns the warming resources of a track with these names.
    pub(crate) fn names_among<'t>(
        &self,
        track: &'t Track,
        names: &SymSet,
    ) -> impl Iterator<Item = WarmingName<'t>> {
        self.names_if(track, |name| names.contains(&name), BatchState::waits_for)
    }

    /// Returns the resources of a track that the client uses without others that they need.
    pub(crate) fn used_without<'t>(&self, track: &'t Track) -> impl Iterator<Item = WarmingName<'t>> {
        self.names_if(track, |_| true, BatchState::lacks)
    }

    /// Returns the first of the warming resources with each wanted name, for which `needs_in`
    /// finds needs.
    fn names_if<'t>(
        &self,
        track: &'t Track,
        is_wanted: impl Fn(Sym) -> bool,
        needs_in: fn(BatchState) -> Option<Vec<MissingNeed>>,
    ) -> impl Iterator<Item = WarmingName<'t>> {
        let batches = track.warming.batches.iter();
        let names = batches.flat_map(|batch| batch.names().iter().map(move |name| (batch, *name)));
        let mut seen = SymSet::default();
        names.filter_map(move |(batch, name)| {
            if !is_wanted(name) {
                return None;
            }
            let needs = needs_in(self.state(track, batch, name))?;
            if seen.insert(name) { Some(WarmingName { name, batch, needs }) } else { None }
        })
    }

    /// Returns the batches of a track with the names that have not warmed.
    pub(super) fn unfinished(&self, track: &Track) -> Vec<WarmingBatch> {
        let mut unfinished = Vec::new();
        for batch in &track.warming.batches {
            let (mut waiting, mut used) = (Vec::new(), Vec::new());
            for name in batch.names() {
                match self.state(track, batch, *name) {
                    BatchState::Over => {}
                    BatchState::UsedWithout(_) => used.push(*name),
                    BatchState::Unasked | BatchState::Warming(_) => waiting.push(*name),
                }
            }
            for (names, is_given_up) in [(waiting, batch.is_given_up), (used, true)] {
                if !names.is_empty() {
                    unfinished.push(WarmingBatch { names: names.into(), from: 0, is_given_up, ..*batch });
                }
            }
        }
        unfinished
    }

    /// Returns the names of the endpoints of clusters that may still warm.
    pub(super) fn endpoints_of_batches(&self) -> SymSet {
        let mut endpoints = SymSet::default();
        let tracks = self.streams.iter().flat_map(|stream| &stream.tracks);
        for track in tracks.filter(|track| track.kind == Some(Kind::Cds)) {
            for batch in &track.warming.batches {
                for name in batch.names() {
                    let content = track.warming_content(self.catalog, batch.seq, *name);
                    let needs = self.needs.of_content(self.catalog, content.blob());
                    let needs = needs.iter().filter(|need| need.kind == Kind::Eds);
                    endpoints.extend(needs.map(|need| self.resolve(*need).name));
                }
            }
        }
        endpoints
    }

    /// Returns whether a resource of a batch still warms, and what it waits for.
    pub(super) fn state(&self, track: &Track, batch: &WarmingBatch, name: Sym) -> BatchState {
        if self.now.is_some_and(|now| track.ttl.is_over(name, track.lifetime.ttl_clock(now))) {
            return BatchState::Over;
        }
        let (entry, refusal) = match track.warming_content(self.catalog, batch.seq, name) {
            WarmingContent::None => return BatchState::Over,
            WarmingContent::RefusedBefore => return BatchState::Unasked,
            WarmingContent::Used(entry) => (entry, None),
            // A client that requests the endpoints of a new cluster uses the cluster, even if the
            // response was refused for another one.
            WarmingContent::InDoubt(entry, refusal) => (entry, Some(refusal)),
        };
        let is_refused = refusal.is_some();
        let (mut missing, mut absent, mut is_over) = (Vec::new(), Vec::new(), true);
        // `stated_by`: the content with the config source of the resource, if known.
        let mut add = |state: NeedState, need: ResourceKey, stated_by: Option<BlobId>| match state {
            NeedState::Met => {}
            NeedState::Absent(absence) => absent.push(absence),
            NeedState::Unasked => is_over = false,
            NeedState::Missing(missed) => {
                let timeout = stated_by.and_then(|blob| self.needs.timeout(self.catalog, Some(blob), need));
                // Without a timeout the client waits on, whatever it has.
                let is_cached = missed.is_cached && timeout.is_some();
                let timeout = missed.timeout.and(timeout);
                missing.push(MissingNeed { timeout, is_cached, ..missed });
            }
        };
        let mut add_route = |need: ResourceKey, is_refused: bool, stated_by: Option<BlobId>| {
            let route = self.resolve(need);
            add(self.need_state(route, batch, is_refused), need, stated_by);
            if let Some((hosts, routes)) = self.hosts_of(route, batch) {
                add(self.hosts_state(hosts, batch), hosts, routes);
            }
        };
        for need in self.needs.of_content(self.catalog, entry.blob).iter() {
            add_route(*need, is_refused, entry.blob);
            // Once a listener has its scopes, scopes that come later do not stop it.
            if need.kind == Kind::Srds {
                for route in self.new_scope_routes(batch) {
                    add_route(route, false, None);
                }
            }
        }
        // Requests that came before the NACK do not show that the client uses a refused cluster.
        let refusal = refusal.filter(|refusal| refusal.is_named);
        let is_early = |need: &MissingNeed| need.asked < refusal.map(|refusal| refusal.nack);
        if refusal.is_some() && missing.iter().all(is_early) {
            return BatchState::Over;
        }
        let is_given_up = batch.is_given_up && self.may_be_envoy();
        let has_timed_out = is_over && self.has_accepted(track, name, &entry) && self.has_timed_out(&missing);
        let has_stopped_waiting = is_given_up || has_timed_out;
        if has_stopped_waiting {
            missing.retain(|need| !need.is_cached);
        }
        match (missing.is_empty(), absent.is_empty()) {
            (false, _) if has_stopped_waiting => BatchState::UsedWithout(missing),
            (false, _) => BatchState::Warming(missing),
            (true, _) if !is_over => BatchState::Unasked,
            (true, false) => BatchState::UsedWithout(absent),
            (true, true) => BatchState::Over,
        }
    }

    /// Whether the client has accepted the content of an entry.
    fn has_accepted(&self, track: &Track, name: Sym, entry: &ResourceEntry) -> bool {
        track.accepted.get(self.catalog, name).is_some_and(|accepted| accepted.blob == entry.blob)
    }

    /// Whether an Envoy has stopped waiting for all of these resources: the
    /// `initial_fetch_timeout` of their config sources has ended (docs/protocol.md#e-46).
    fn has_timed_out(&self, missing: &[MissingNeed]) -> bool {
        let is_open = self.streams.first().is_some_and(|stream| stream.closed.is_none());
        let Some(now) = self.now else { return false };
        // Each client that has the endpoints goes on: those that are no Envoy do not wait at all.
        let is_known = self.is_envoy() || missing.iter().all(|need| need.is_cached);
        if !is_open || missing.is_empty() || !is_known {
            return false;
        }
        missing.iter().all(|need| {
            let Some(timeout) = need.timeout else { return false };
            let waited = now.since(need.since);
            // Endpoints that do not come in time are told before the client continues with those
            // that it has.
            waited > timeout || (waited == timeout && !need.is_cached)
        })
    }

    /// Returns the tracks of a type on the streams of the client.
    pub(super) fn tracks_of(&self, kind: Kind) -> impl Iterator<Item = &Track> {
        let tracks = self.streams.iter().flat_map(|stream| stream.all_tracks());
        tracks.filter(move |track| track.kind == Some(kind))
    }

    /// Returns the resource that a reference leads to: under the spelling of messages, behind an
    /// alias, and at the end of redirects (docs/protocol.md#k-08, docs/protocol.md#f-30,
    /// docs/protocol.md#k-27).
    pub(super) fn resolve(&self, reference: ResourceKey) -> ResourceKey {
        let mut key = reference;
        for _ in 0..MAX_HOPS {
            let text = self.catalog.text(key.name);
            if is_structured(text) {
                key.name = named(self.catalog, text).unwrap_or(key.name);
            }
            let mut names = self.tracks_of(key.kind).map(|track| track.canonical(self.catalog, key.name));
            if let Some(name) = names.find(|name| *name != key.name) {
                key.name = name;
            }
            match self.target_of(key) {
                Some(target) => key = target,
                None => break,
            }
        }
        key
    }

    /// Returns the target of a redirect that the client has under a name.
    fn target_of(&self, key: ResourceKey) -> Option<ResourceKey> {
        if !is_structured(self.catalog.text(key.name)) {
            return None;
        }
        self.tracks_of(key.kind).find_map(|track| {
            let entry = track.sent.get(self.catalog, key.name).filter(ResourceEntry::is_present)?;
            if self.catalog.text(self.catalog.entry(entry.blob?).type_url) != LOCATOR {
                return None;
            }
            self.needs.of_content(self.catalog, entry.blob).first().copied()
        })
    }

    /// Whether a track belongs to another stream than the warming resources.
    fn is_elsewhere(&self, track: &Track) -> bool {
        let own = self.streams.first().into_iter().flat_map(|stream| stream.all_tracks());
        !own.into_iter().any(|own| std::ptr::eq(own, track))
    }

    /// Whether the client subscribes to a name.
    fn is_covered(&self, track: &Track, name: Sym) -> bool {
        let entry = track.sent.get(self.catalog, name);
        track.covers(self.catalog, name, entry.as_ref())
    }

    /// Whether the client requests a name, by itself or with a wildcard or glob.
    fn is_requested(&self, track: &Track, name: Sym) -> bool {
        track.subscribed.is_wildcard()
            || track.subscribed.names.contains(name)
            || track.glob_of(self.catalog, name).is_some()
    }

    /// Returns whether a resource that a batch needs is there, and if not, what it waits for.
    fn need_state(&self, key: ResourceKey, batch: &WarmingBatch, is_refused: bool) -> NeedState {
        if key.kind == Kind::Srds {
            return self.scopes_state(key, batch);
        }
        // A redirect that leads to itself brings no resource.
        let is_loop = self.target_of(key).is_some();
        let mut need = MissingNeed::new(key.kind, key.name, batch.at);
        for track in self.tracks_of(key.kind) {
            let Some(entry) = track.sent.get(self.catalog, key.name) else { continue };
            let is_ignored = is_loop || track.is_ignored(self.catalog, key.name, &entry);
            if !is_ignored && self.is_met_by(track, &entry, key, batch) {
                return NeedState::Met;
            }
            need.is_resend |= entry.is_present() && !is_ignored;
            if matches!(entry.state, Presence::Absent(_) | Presence::Removed) {
                need.is_absent = true;
                need.absent = track.responses.get(entry.order).map(|response| response.seq);
                let error = track.errors.get(&key.name).filter(|error| Some(error.n) == need.absent);
                need.is_error = error.is_some_and(|error| !error.is_not_found());
            }
        }
        // Envoy waits on for routes and filters that do not exist.
        let told = if matches!(key.kind, Kind::Eds | Kind::Sds) { self.told_absent(key) } else { None };
        let Some(covering) = self.tracks_of(key.kind).find(|track| self.is_covered(track, key.name)) else {
            return if told.is_some() { NeedState::Met } else { NeedState::Unasked };
        };
        need.is_elsewhere = self.is_elsewhere(covering);
        if let Some(response) = told {
            let since = response.map_or(batch.at, |told| told.at.max(batch.at));
            let absent = response.map(|told| told.seq);
            return NeedState::Absent(MissingNeed {
                since,
                is_absent: true,
                absent,
                is_resend: false,
                ..need
            });
        }
        let request = covering.waiting.get(key.name);
        // A client that has its resources from before the recording may have had the warming one.
        let may_have = |request: NameRequest| request.has_resource && batch.cause == WarmingCause::New;
        if request.is_some_and(|request| request.is_served || may_have(request)) {
            return NeedState::Met;
        }
        if is_refused && request.is_none() {
            return NeedState::Unasked;
        }
        let is_known = request.is_some() || self.is_requested(covering, key.name);
        if !is_known {
            // The requests before the recording and their responses are unknown.
            return NeedState::Met;
        }
        let is_restated = covering.subscription.last_names.is_some();
        match request {
            Some(request) => {
                need.asked = Some(request.first);
                need.is_owed = request.is_owed();
                need.is_malformed = request.is_malformed;
                if !need.is_resend {
                    need.since = request.since.max(batch.at);
                }
            }
            None if is_restated => need.asked = repeated_request(covering, batch.seq),
            None => {}
        }
        need.is_cached = need.is_resend && self.has_cached_endpoints(key, batch);
        if !has_timeout(request, need.is_absent && !is_restated) {
            need.timeout = None;
        }
        NeedState::Missing(need)
    }

    /// Whether a resource that was sent on a track is there for a batch that needs it.
    fn is_met_by(
        &self,
        track: &Track,
        entry: &ResourceEntry,
        key: ResourceKey,
        batch: &WarmingBatch,
    ) -> bool {
        match entry.state {
            _ if entry.is_present() && self.gave_up_before(track, key.name, batch.seq) => false,
            Presence::Present | Presence::Kept => {
                !self.needs_resend(key.kind, batch) || delivered_since(track, entry, batch.seq)
            }
            Presence::Absent(_) | Presence::Again | Presence::Expired => false,
            // Envoy keeps what is removed, and shares routes that others have not given up.
            Presence::Removed => key.kind != Kind::Rds || !self.gave_up_before(track, key.name, batch.seq),
            Presence::Released => true,
        }
    }

    /// Returns the response that says that endpoints or a secret do not exist, if the client acts
    /// on it: what needs them is used without them. `Some(None)` if the response is forgotten.
    /// Envoy ignores the errors in SotW responses (docs/protocol.md#m-14).
    fn told_absent(&self, key: ResourceKey) -> Option<Option<&Response>> {
        let mut tracks = self.tracks_of(key.kind);
        tracks.find_map(|track| {
            let entry = track.sent.get(self.catalog, key.name)?;
            let is_absent = matches!(entry.state, Presence::Absent(_));
            let is_sotw = track.subscription.last_names.is_some();
            if is_absent && !(is_sotw && self.may_be_envoy()) {
                Some(track.responses.get(entry.order))
            } else {
                None
            }
        })
    }

    /// Whether resources of a batch need a resource of a type once more if the client has it: an
    /// Envoy needs the endpoints of clusters that were updated, or removed and added again
    /// (docs/protocol.md#h-05).
    pub(super) fn needs_resend(&self, kind: Kind, batch: &WarmingBatch) -> bool {
        batch.cause != WarmingCause::New && kind == Kind::Eds && self.may_be_envoy()
    }

    pub(super) fn may_be_envoy(&self) -> bool {
        self.user_agent().is_empty() || self.is_envoy()
    }

    /// Whether the client is known to be an Envoy.
    fn is_envoy(&self) -> bool {
        self.user_agent().to_ascii_lowercase().contains("envoy")
    }

    /// Returns the name of the client program; empty if it is unknown.
    fn user_agent(&self) -> &str {
        let node = self.streams.iter().find_map(|stream| stream.peers.node.as_ref());
        node.map_or("", |node| node.user_agent.as_str())
    }
}

/// Whether the newest delivery of a resource came after message `n`. True if that is not known.
pub(super) fn delivered_since(track: &Track, entry: &ResourceEntry, n: Seq) -> bool {
    match (entry.state, track.responses.get(entry.order)) {
        (Presence::Kept, _) => false,
        (_, Some(response)) => response.seq > n,
        // Forgotten, so it was sent before the oldest one that is remembered.
        (_, None) => track.responses.oldest().is_none_or(|oldest| oldest.seq > n),
    }
}

impl WarmingView<'_> {
    /// Returns how far the batches of a track have come.
    ///
    /// Stops at the first unfinished batch, unless there are many.
    pub(super) fn progress(&self, track: &Track) -> WarmingProgress {
        let state = &track.warming;
        let is_sweep = state.batches.len() >= state.sweep_at.max(MIN_BATCHES);
        let mut warmed = Vec::new();
        for batch in &state.batches {
            let done = |name: &&Sym| matches!(self.state(track, batch, **name), BatchState::Over);
            let count = batch.names().iter().take_while(done).count();
            warmed.push(count);
            if count < batch.names().len() && !is_sweep {
                break;
            }
        }
        WarmingProgress { warmed, is_sweep }
    }
}

/// Returns the newest request behind a message, unless it is a verdict: a SotW request asks for all
/// of its names once more.
fn repeated_request(track: &Track, after: Seq) -> Option<Seq> {
    let newest = track.traffic.last_request?;
    if newest > after && !track.verdicts.is_verdict(newest) { Some(newest) } else { None }
}

/// Whether the client stops waiting for a resource at its timeout. `is_answered`: a delta server
/// has said that the resource does not exist, which ends the timeout.
///
/// A client that may have the resource from before the recording may continue with that.
fn has_timeout(request: Option<NameRequest>, is_answered: bool) -> bool {
    !is_answered && !request.is_some_and(|request| request.has_resource)
}
