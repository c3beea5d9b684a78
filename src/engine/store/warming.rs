//! Clusters and listeners that warm: the client does not use them until others have arrived.

mod cause;
mod needs;
mod of_dump;

use std::sync::Arc;
use std::time::Duration;

use crate::session::{
    Condition, ConditionKind, CurrentState, MissingNeed, NeededResource, Stream, SymSet, Track, WarmingCause,
    WarmingName, WarmingView,
};
use xdscope_wire::InterventionFacts;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Seq, StreamId, Sym, Time, TypeUrl};

use super::{Store, TypeState};

pub(crate) use needs::ClientNeeds;
pub(crate) use needs::routed::UnrequestedCluster;
pub(crate) use needs::unsubscribed::{UnsubscribedNames, UnsubscribedNeed};

/// A cluster or listener that warms, on an open stream. The server owes what it waits for, unless
/// the client has never requested it.
///
/// Warming starts with each response that adds or changes the resource. It ends once all needed
/// resources have arrived, or when the resource is removed or refused (docs/protocol.md#h-01 to
/// docs/protocol.md#h-06).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmingFact {
    /// The stream of the resource.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// Type URL of the resource.
    pub type_url: TypeUrl,
    /// Type of the resource: cluster or listener.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Arc<str>,
    /// When the response came that started the warming.
    pub since: Time,
    /// That response.
    pub response: Seq,
    /// Whether the warming has ended, and the client uses the resource without what it needs.
    pub is_used_without: bool,
    /// Whether the client had the resource before: an earlier version stays in use meanwhile.
    pub is_update: bool,
    /// The content that stays in use meanwhile, if it is known.
    pub earlier: Option<BlobId>,
    /// The response without a verdict that the client withholds until the warming has ended.
    pub withheld: Option<Seq>,
    /// The resources that are waited for, the longest wait first. At least one, except in a dump.
    pub needs: Vec<NeededResource>,
    /// Other things that the client waits for, in the words of its admin port.
    pub other_waits: Vec<Arc<str>>,
    /// Whether a dump of the client lists the resource as warming. A dump does not say which side
    /// owes what the resource waits for.
    pub is_dumped: bool,
    /// The intervention of xdscope because of which it warms.
    pub caused_by: Option<Arc<InterventionFacts>>,
}

/// A resource that warms until a missing resource arrives, or is in use without that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmingUser {
    /// Type of the resource: cluster or listener.
    pub kind: Kind,
    /// Name of the resource.
    pub name: Arc<str>,
    /// The response without a verdict that the client withholds until the warming has ended.
    pub withheld: Option<Seq>,
    /// How many more resources warm until then.
    pub more: usize,
    /// Whether the warming has ended, and the client uses the resource without the missing one.
    pub is_used_without: bool,
}

impl WarmingFact {
    /// Whether the problems of the missing resources say all that the server owes.
    pub(crate) fn is_told_by_needs(&self) -> bool {
        !self.is_dumped && self.needs.iter().all(|need| need.is_owed || need.is_malformed)
    }

    /// Whether the resource waits only for names that no resource can have.
    pub fn is_in_vain(&self) -> bool {
        !self.is_dumped && self.needs.iter().all(|need| need.is_malformed)
    }

    /// Whether the order of the resource and of what it waits for is uncertain: the client asks for
    /// them on separate streams (docs/protocol.md#h-12).
    pub fn is_order_uncertain(&self) -> bool {
        self.needs.iter().all(|need| need.is_elsewhere)
    }

    /// Whether the client owes a request for what the resource waits for. Otherwise the server owes
    /// the resources.
    pub fn is_owed_by_client(&self) -> bool {
        !self.is_dumped && self.needs.iter().all(|need| need.is_unrequested)
    }

    /// Returns what one side owes, on a stream that opened at a time: a client requests again on
    /// each stream.
    pub(crate) fn condition(&self, opened: Time) -> Condition {
        let (kind, due_from) = match self.is_owed_by_client() {
            true => (ConditionKind::Request, self.client_owes_since().max(opened)),
            false => (ConditionKind::Warming, self.server_owes_since()),
        };
        Condition { kind, since: self.since, message: self.response, due_from }
    }

    /// Since when the client owes its request: from the start of the wait on, or since it gave up
    /// the last resource that it had requested.
    fn client_owes_since(&self) -> Time {
        self.needs.iter().map(|need| need.since).max().unwrap_or_default().max(self.since)
    }

    /// Since when the server owes what the resource waits for: from the first request for it on.
    fn server_owes_since(&self) -> Time {
        let owed = self.needs.iter().filter(|need| !need.is_unrequested);
        owed.map(|need| need.since).min().unwrap_or_default().max(self.since)
    }

    /// The newest request with which the client gave up what the resource waits for.
    pub fn given_up(&self) -> Option<Seq> {
        self.needs.iter().map(|need| need.given_up).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    /// Whether the client withholds a verdict until the server has sent what the resource needs. A
    /// client that has not requested that does not wait for the server.
    fn explains_silence(&self) -> bool {
        self.withheld.is_some() && !self.is_owed_by_client()
    }
}

impl Store {
    /// Returns the warming resources on open streams, those that wait longest first.
    pub fn warming(&self) -> Vec<WarmingFact> {
        let open = self.engine.streams().iter().filter(|stream| stream.closed.is_none());
        let mut facts: Vec<WarmingFact> = open.flat_map(|stream| self.warming_facts(stream)).collect();
        facts.sort_by_key(|fact| (fact.since, fact.response));
        facts
    }

    /// Returns the warming resources of one stream in the order of types.
    pub fn warming_of(&self, stream: StreamId) -> Vec<WarmingFact> {
        let stream = self.engine.stream(stream).filter(|stream| stream.closed.is_none());
        stream.map(|stream| self.warming_facts(stream)).unwrap_or_default()
    }

    fn warming_facts(&self, stream: &Stream) -> Vec<WarmingFact> {
        let tracks = stream.tracks_shown();
        tracks.flat_map(|track| self.warming_of_track(stream, track)).collect()
    }

    /// Returns the streams of a client as far as warming goes.
    fn warming_view(&self, stream: &Stream) -> WarmingView<'_> {
        self.warming_view_at(stream, self.now)
    }

    fn warming_view_at(&self, stream: &Stream, at: Time) -> WarmingView<'_> {
        let index = self.engine.index(stream.id).unwrap_or_default();
        let view = self.engine.warming_view(&self.catalog, index);
        if self.limits.timed { view.at(at) } else { view }
    }

    /// Returns the warming resources of a track, those for which the server owes something first.
    pub(crate) fn warming_of_track(&self, stream: &Stream, track: &Track) -> Vec<WarmingFact> {
        self.warming_of_track_at(stream, track, self.now)
    }

    /// Returns the warming resources of a track at a time that is now or later.
    pub(crate) fn warming_of_track_at(&self, stream: &Stream, track: &Track, at: Time) -> Vec<WarmingFact> {
        if stream.is_dump() {
            return of_dump::warming_of_dump(self, stream, track);
        }
        if track.warming.is_empty() {
            return Vec::new();
        }
        let view = self.warming_view_at(stream, at);
        let facts = view.names(track).filter_map(|warming| self.warming_fact(stream, track, &warming));
        let mut facts: Vec<WarmingFact> = facts.collect();
        if stream.closed.is_none() {
            let unrequested = self.not_yet_requested(&view, stream, track);
            facts.extend(unrequested.iter().filter_map(|warming| self.warming_fact(stream, track, warming)));
        }
        facts
    }

    /// Whether the client withholds its verdict until the server has sent what the resources need.
    pub(crate) fn is_verdict_withheld(&self, stream: &Stream, track: &Track) -> bool {
        self.warming_of_track(stream, track).iter().any(WarmingFact::explains_silence)
    }

    /// Returns the resources of a track that the client uses without others that they need.
    pub(crate) fn used_without(&self, stream: &Stream, track: &Track) -> Vec<WarmingFact> {
        self.used_without_at(stream, track, self.now)
    }

    /// Returns the resources of a track that the client uses without others that they need, at a
    /// time that is now or later.
    pub(crate) fn used_without_at(&self, stream: &Stream, track: &Track, at: Time) -> Vec<WarmingFact> {
        if track.warming.is_empty() {
            return Vec::new();
        }
        let view = self.warming_view_at(stream, at);
        let facts = view.used_without(track).filter_map(|used| self.warming_fact(stream, track, &used));
        facts.map(|fact| WarmingFact { is_used_without: true, withheld: None, ..fact }).collect()
    }

    /// Returns the clusters and listeners of a track that warm until the client requests what they
    /// refer to. A client whose implementation is unknown may never do so, and is not waited for
    /// beyond the limit.
    fn not_yet_requested<'t>(
        &self,
        view: &WarmingView<'_>,
        stream: &Stream,
        track: &'t Track,
    ) -> Vec<WarmingName<'t>> {
        let mut found = view.not_yet_requested(stream, track, (self.now(), Duration::ZERO));
        if let Some(limit) = self.limits.resource_timeout
            && !view.follows_references()
        {
            found.retain(|warming| self.now().since(warming.batch.at) < limit);
        }
        found
    }

    /// Returns the resources of a track that wait for others which the client has not requested
    /// within a limit.
    pub(crate) fn unrequested_of_track(
        &self,
        stream: &Stream,
        track: &Track,
        within: (Time, Duration),
    ) -> Vec<WarmingFact> {
        let unrequested = self.warming_view(stream).unrequested(stream, track, within);
        unrequested.iter().filter_map(|warming| self.warming_fact(stream, track, warming)).collect()
    }

    fn warming_fact(&self, stream: &Stream, track: &Track, warming: &WarmingName<'_>) -> Option<WarmingFact> {
        let mut needs: Vec<NeededResource> =
            warming.needs.iter().map(|need| need.with_text(self.text(need.name))).collect();
        needs.sort_by_key(|need| need.since);
        let name = self.text(warming.name);
        let caused_by = cause::cause_of_warming(self, stream, track, &name, warming.batch.seq, &needs);
        Some(WarmingFact {
            stream: stream.id,
            node: stream.peers.node_id.clone(),
            type_url: track.type_url.clone(),
            kind: track.kind?,
            name,
            since: warming.batch.at,
            response: warming.batch.seq,
            is_used_without: false,
            is_update: warming.batch.cause == WarmingCause::Update,
            earlier: track.warming.earlier(warming.name).and_then(|blob| self.catalog.entry(blob).payload),
            withheld: track.withheld_since(warming.batch.seq),
            needs,
            other_waits: Vec::new(),
            is_dumped: false,
            caused_by,
        })
    }

    /// Returns those of the named resources of a track that still warm or are used without what
    /// they need, at a time that is now or later, and the names that they need.
    pub(crate) fn still_warming(
        &self,
        (stream, track): (usize, usize),
        names: &SymSet,
        at: Time,
    ) -> (SymSet, SymSet) {
        let (mut still, mut needs) = (SymSet::default(), SymSet::default());
        let open = self.engine.streams().get(stream).filter(|stream| stream.closed.is_none());
        if let Some((stream, track)) = open.and_then(|stream| Some((stream, stream.tracks.get(track)?))) {
            let view = self.warming_view_at(stream, at);
            let used = view.used_without(track).filter(|used| names.contains(&used.name));
            for warming in view.names_among(track, names).chain(used) {
                still.insert(warming.name);
                needs.extend(warming.needs.iter().map(|need| need.name));
            }
        }
        (still, needs)
    }

    /// Returns those of the named resources of a track that wait for others which the client has
    /// not requested yet.
    pub(crate) fn still_unrequested(&self, (stream, track): (usize, usize), names: &SymSet) -> SymSet {
        let open = self.engine.streams().get(stream).filter(|stream| stream.closed.is_none());
        let place = open.and_then(|stream| Some((stream, stream.tracks.get(track)?)));
        let Some((stream, track)) = place else { return SymSet::default() };
        let unrequested = self.warming_view(stream).unrequested(stream, track, (self.now(), Duration::ZERO));
        unrequested.iter().map(|warming| warming.name).filter(|name| names.contains(name)).collect()
    }

    /// Returns those of the named resources of a type that warm, on an open stream.
    pub fn warming_among(&self, stream: StreamId, url: &TypeUrl, names: &[Arc<str>]) -> Vec<Arc<str>> {
        let open = self.engine.stream(stream).filter(|stream| stream.closed.is_none());
        let track = open.and_then(|stream| Some((stream, stream.find(url)?)));
        if let Some((stream, track)) = track.filter(|(stream, _)| stream.is_dump()) {
            let dumped = of_dump::warming_of_dump(self, stream, track).into_iter().map(|fact| fact.name);
            return dumped.filter(|name| names.contains(name)).collect();
        }
        let Some((stream, track)) = track.filter(|(_, track)| !track.warming.is_empty()) else {
            return Vec::new();
        };
        let wanted = names.iter().filter_map(|name| xdscope_wire::xdstp::named(&self.catalog, name));
        let wanted: SymSet = wanted.collect();
        let view = self.warming_view(stream);
        let unrequested = self.not_yet_requested(&view, stream, track);
        let unrequested =
            unrequested.into_iter().map(|warming| warming.name).filter(|name| wanted.contains(name));
        let names = view.names_among(track, &wanted).map(|warming| warming.name).chain(unrequested);
        names.map(|name| self.text(name)).collect()
    }

    /// Returns the first resource of the client that warms until one of the names arrives, or is in
    /// use without; without names, until any resource of the type does.
    pub(crate) fn warming_for(
        &self,
        stream: &Stream,
        kind: Kind,
        names: Option<&[Sym]>,
    ) -> Option<WarmingUser> {
        let names: Option<SymSet> = names.map(|names| names.iter().copied().collect());
        let is_needed = |need: &MissingNeed| {
            need.kind == kind && names.as_ref().is_none_or(|names| names.contains(&need.name))
        };
        let mut found: Option<WarmingUser> = None;
        for user in [Kind::Cds, Kind::Lds] {
            for stream in self.carriers(stream, user) {
                let is_user = |track: &&Track| track.kind == Some(user) && !track.warming.is_empty();
                let mut tracks = stream.known_tracks().filter(is_user).peekable();
                if tracks.peek().is_none() {
                    continue;
                }
                let view = self.warming_view(stream);
                for track in tracks {
                    let waiting = view.names(track).map(|warming| (warming, false));
                    let users = waiting.chain(view.used_without(track).map(|used| (used, true)));
                    for (warming, is_used_without) in users {
                        if !warming.needs.iter().any(is_needed) {
                            continue;
                        }
                        if let Some(known) = &mut found {
                            known.more += 1;
                            continue;
                        }
                        let withheld = match is_used_without {
                            true => None,
                            false => track.withheld_since(warming.batch.seq),
                        };
                        let name = self.text(warming.name);
                        found = Some(WarmingUser { kind: user, name, withheld, more: 0, is_used_without });
                    }
                }
            }
        }
        found
    }

    /// Returns the open streams of a client that carry a type; of a closed stream itself and those
    /// that closed with it.
    pub(super) fn carriers<'a>(&'a self, stream: &'a Stream, kind: Kind) -> Vec<&'a Stream> {
        match stream.closed {
            Some(_) => self.warming_view(stream).streams,
            None => self.engine.open_of_kind(stream, kind).map(|(_, stream)| stream).collect(),
        }
    }

    /// Replaces the state of a type whose resources warm, if the state would blame the client for
    /// its withheld verdict, or would hide that a resource is not in use yet.
    pub(super) fn with_warming(&self, stream: &Stream, track: &Track, current: CurrentState) -> CurrentState {
        if stream.is_dump() {
            return CurrentState { state: of_dump::state_of_dump(track, current.state), ..current };
        }
        let can_hide = matches!(current.state, TypeState::Stale | TypeState::Sent | TypeState::Synced);
        if track.warming.is_empty() || !can_hide {
            return current;
        }
        let shows = |warming: &WarmingName<'_>| {
            current.state != TypeState::Stale || track.withheld_since(warming.batch.seq).is_some()
        };
        let view = self.warming_view(stream);
        if let Some(warming) = view.names(track).find(shows) {
            return CurrentState { state: TypeState::Warming, since: warming.batch.at };
        }
        // Both a verdict and a request that the client owes are its fault: the verdict comes first.
        if current.state == TypeState::Stale || stream.closed.is_some() {
            return current;
        }
        // Resources warm from their delivery on (docs/protocol.md#h-01).
        let unrequested = self.not_yet_requested(&view, stream, track);
        match unrequested.first() {
            Some(warming) => CurrentState { state: TypeState::Warming, since: warming.batch.at },
            None => current,
        }
    }
}
