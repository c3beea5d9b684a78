//! Resources that clusters, listeners and routes in force refer to, and that the client requests no
//! longer.
//!
//! A subscription ends with its stream, so a client gets no update of a resource that it does not
//! request again (docs/protocol.md#f-18). A client may request an alternative of a resource, or the
//! target of a redirect, in its place (docs/protocol.md#k-27, docs/protocol.md#k-29).

use std::collections::BTreeMap;

use super::ClientNeeds;
use crate::session::{Presence, ResourceEntry, ResourceKey, Stream, SymSet, Track, can_warm};
use crate::store::Store;
use crate::store::nonexistent::is_grpc;
use xdscope_wire::event::{Kind, Seq, Sym, Time};
use xdscope_wire::xdstp::lists::LOCATOR;
use xdscope_wire::xdstp::{is_structured, named};

/// Types that a client requests by name for as long as a cluster or a listener refers to them.
const NAMED_KINDS: [Kind; 4] = [Kind::Eds, Kind::Rds, Kind::Sds, Kind::Ecds];

/// Ended streams of a client whose names are compared.
const MAX_ENDED_STREAMS: usize = 4;

/// Names that a client has requested and requests no longer, with the request of its stream that
/// gave them up, and its time. `None` for names that it has not requested again on the stream.
pub(crate) type UnsubscribedNames = BTreeMap<(Kind, Sym), Option<(Seq, Time)>>;

/// A resource to which a cluster, a listener or a route in force refers, and that the client
/// requests no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnsubscribedNeed {
    pub(crate) key: ResourceKey,
    /// The cluster, the listener or the routes.
    pub(crate) user: ResourceKey,
    /// Since when the client owes the request.
    pub(crate) since: Time,
    /// The request that gave the resource up. `None` if the client has not requested the resource
    /// again on a new stream.
    pub(crate) given_up: Option<Seq>,
}

impl ClientNeeds<'_> {
    /// Returns the names that the client of an aggregated stream has requested on the stream or
    /// before, and that no open stream of its node requests. Empty if a request may be unknown.
    pub(crate) fn unsubscribed_names(&self) -> UnsubscribedNames {
        let (stream, streams) = (self.stream, self.open_streams());
        let is_unknown = |stream: &&Stream| stream.open.partial || stream.losses.lost.is_some();
        let mut names = UnsubscribedNames::new();
        if !stream.is_aggregated() || streams.iter().any(is_unknown) {
            return names;
        }
        let is_left = |before: &Stream, track: &Track, kind: Kind, name: Sym| {
            !self.is_requested_on(&streams, kind, name)
                && !self.is_replaced_on(&streams, track, (kind, name))
                && (kind != Kind::Cds || self.needs_routed_cluster(&streams, before, name))
        };
        let ended =
            self.store.engine.ended_before(stream).filter(|before| !stream.may_need_less_than(before));
        for before in ended.take(MAX_ENDED_STREAMS) {
            for track in before.known_tracks().filter(|track| track.completeness.names_known) {
                let Some(kind) = named_kind(stream, track) else { continue };
                let released = track.subscription.released.iter().map(|(name, ..)| name);
                for name in track.subscribed.names.iter().chain(released) {
                    if is_left(before, track, kind, name) {
                        names.insert((kind, name), None);
                    }
                }
            }
        }
        for track in stream.known_tracks() {
            let Some(kind) = named_kind(stream, track) else { continue };
            for (name, n, at) in track.subscription.released.iter() {
                if is_left(stream, track, kind, name) {
                    names.insert((kind, name), Some((n, at)));
                }
            }
        }
        for track in stream.known_tracks().filter(|track| track.kind == Some(Kind::Cds)) {
            let Some(released) = track.subscription.wildcard_released else { continue };
            for name in self.members_given_up(track, released.0) {
                let key = (Kind::Cds, name);
                if !self.is_requested_on(&streams, key.0, name) && !self.is_replaced_on(&streams, track, key)
                {
                    names.insert(key, Some(released));
                }
            }
        }
        names
    }

    /// Returns the resources that the client had with a wildcard which it gave up with message
    /// `n`. A server that keeps the wildcard continues to send them (docs/protocol.md#l-06).
    fn members_given_up(&self, track: &Track, n: Seq) -> Vec<Sym> {
        let came_before =
            |entry: &ResourceEntry| track.responses.get(entry.order).is_none_or(|response| response.seq < n);
        let mut held = Vec::new();
        for (name, entry) in track.sent.entries(&self.store.catalog) {
            let is_released = entry.state == Presence::Released;
            if is_released || (entry.is_present() && came_before(&entry)) {
                held.push(name);
            }
        }
        held
    }

    /// Whether the client requests another resource in place of a structured name: an alternative,
    /// or the target of a redirect.
    fn is_replaced_on(&self, streams: &[&Stream], track: &Track, (kind, name): (Kind, Sym)) -> bool {
        let text = self.store.catalog.text(name);
        if !is_structured(text) {
            return false;
        }
        let catalog = &self.store.catalog;
        if let Some(content) = track.sent.get(catalog, name).and_then(|entry| entry.blob)
            && catalog.text(catalog.entry(content).type_url) == LOCATOR
        {
            return true;
        }
        for stream in streams {
            for alternative in self.store.engine.needs().alternatives_of(&stream.client(), text) {
                if let Some(alternative) = named(catalog, &alternative)
                    && self.is_requested_on(streams, kind, alternative)
                {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a client of gRPC needs a cluster of a stream for its routes: the cluster has come
    /// under the newest listeners and routes of the stream, and the client has given up none of its
    /// channels since (docs/protocol.md#a-16).
    fn needs_routed_cluster(&self, open: &[&Stream], stream: &Stream, cluster: Sym) -> bool {
        let of_kind = |kind: Kind| stream.known_tracks().filter(move |track| track.kind == Some(kind));
        let came = of_kind(Kind::Cds).filter_map(|track| {
            let entry = track.sent.get(&self.store.catalog, cluster)?;
            track.responses.get(entry.order)
        });
        let Some(came) = came.map(|response| response.seq).max() else { return false };
        let mut routes = of_kind(Kind::Lds).chain(of_kind(Kind::Rds)).peekable();
        let has_routes = routes.peek().is_some();
        let is_older = |track: &Track| track.responses.last().is_none_or(|newest| newest.seq < came);
        let keeps_channels = |track: &Track| {
            let released = &track.subscription.released;
            let mut names = track.subscribed.names.iter();
            !released.has_forgotten(came)
                && released.iter().all(|(_, n, _)| n < came)
                && names.all(|name| self.is_requested_on(open, Kind::Lds, name))
        };
        has_routes && routes.all(is_older) && of_kind(Kind::Lds).all(keeps_channels)
    }

    /// Returns those of the names that clusters, listeners, scopes and routes in force on a stream
    /// refer to. A resource that several of them use occurs several times.
    ///
    /// Clusters and listeners that warm wait for what they refer to: they are left out.
    pub(crate) fn unsubscribed(&self, names: &UnsubscribedNames) -> Vec<UnsubscribedNeed> {
        let (stream, mut found) = (self.stream, Vec::new());
        if names.is_empty() {
            return found;
        }
        let has_clusters = names.keys().any(|(kind, _)| *kind == Kind::Cds);
        let has_scope_routes = self.has_scope_routes_on_ads();
        let is_user = |kind: &Kind| match kind {
            Kind::Rds => has_clusters,
            Kind::Srds => has_scope_routes,
            kind => can_warm(Some(*kind)),
        };
        for track in stream.known_tracks() {
            let Some(kind) = track.kind.filter(is_user) else { continue };
            let warming = track.warming.batches.iter().flat_map(|batch| batch.names().iter().copied());
            let warming: SymSet = warming.collect();
            for (name, entry) in track.sent.entries(&self.store.catalog) {
                // Clients differ in what they do with scopes that a SotW response leaves out.
                let is_left_out = kind == Kind::Srds
                    && track.subscription.last_names.is_some()
                    && track.responses.newest() != Some(entry.order);
                if warming.contains(&name) || is_left_out || !self.is_used_as_sent(track, name, &entry) {
                    continue;
                }
                let needs = self.keys_used(kind, &entry, has_clusters);
                for key in needs {
                    let Some(given_up) = names.get(&(key.kind, key.name)) else { continue };
                    // A client without versions may have restarted: its resources warm again.
                    // Other routes may need other clusters.
                    let is_other = || key.kind == Kind::Cds && self.has_changed(track, name, &entry);
                    if given_up.is_none() && (!track.states_versions() || is_other()) {
                        continue;
                    }
                    let since = given_up.map_or(stream.opened.max(track.traffic.began), |(_, at)| at);
                    let given_up = given_up.map(|(n, _)| n);
                    let user = ResourceKey { kind, name };
                    found.push(UnsubscribedNeed { key, user, since, given_up });
                }
            }
        }
        found
    }

    /// Whether a resource has other content than on the stream before.
    fn has_changed(&self, track: &Track, name: Sym, entry: &ResourceEntry) -> bool {
        let before = track.lifetime.predecessor.and_then(|stream| self.store.engine.stream(stream));
        let before = before.and_then(|before| before.find(&track.type_url));
        let known = before.and_then(|before| before.sent.get(&self.store.catalog, name));
        known.is_none_or(|known| known.blob != entry.blob)
    }

    /// Whether a listener of the stream gets the routes of its scopes from the stream.
    fn has_scope_routes_on_ads(&self) -> bool {
        let listeners = self.stream.known_tracks().filter(|track| track.kind == Some(Kind::Lds));
        let mut entries = listeners.flat_map(|track| track.sent.entries(&self.store.catalog));
        entries.any(|(_, entry)| {
            entry.is_present() && self.store.engine.needs().on_ads(&self.store.catalog, entry.blob).1
        })
    }

    /// Returns what a resource of a type waits for on its own stream, under the names of messages,
    /// and the clusters to which it routes. A listener states the source of the routes of scopes.
    fn keys_used(&self, kind: Kind, entry: &ResourceEntry, has_clusters: bool) -> Vec<ResourceKey> {
        let needs = match kind {
            Kind::Srds => self.store.engine.needs().of_content(&self.store.catalog, entry.blob),
            _ => self.store.engine.needs().on_ads(&self.store.catalog, entry.blob).0,
        };
        let reads_routes = has_clusters && matches!(kind, Kind::Lds | Kind::Rds);
        let known = |name: Sym| named(&self.store.catalog, self.store.catalog.text(name)).unwrap_or(name);
        let mut keys: Vec<_> =
            needs.iter().map(|key| ResourceKey { name: known(key.name), ..*key }).collect();
        let payload = entry.blob.and_then(|blob| self.store.catalog.entry(blob).payload);
        if reads_routes
            && let Some(semantics) = self.store.engine.semantics()
            && let Some(content) = payload.and_then(|payload| self.store.catalog.bytes(payload))
        {
            let clusters =
                semantics.references(&content).into_iter().filter(|reference| reference.kind == Kind::Cds);
            let names = clusters.filter_map(|cluster| named(&self.store.catalog, &cluster.name));
            keys.extend(names.map(|name| ResourceKey { kind: Kind::Cds, name }));
            keys.dedup();
        }
        keys
    }

    /// Returns those of the named resources of a type that clusters and listeners in force on a
    /// stream still refer to, and that the client still does not request; none once it has closed.
    pub(crate) fn still_owed(store: &Store, stream: usize, kind: Kind, names: &SymSet) -> SymSet {
        let open = store.engine.streams().get(stream).filter(|stream| stream.closed.is_none());
        let Some(stream) = open else { return SymSet::default() };
        let needs = ClientNeeds::new(store, stream);
        let mut known = needs.unsubscribed_names();
        known.retain(|(of_kind, name), _| *of_kind == kind && names.contains(name));
        needs.unsubscribed(&known).iter().map(|need| need.key.name).collect()
    }

    /// Returns the names of a type to which the clusters or listeners of a client refer. `None` if
    /// another resource may refer to the type, or their references are unknown.
    pub(crate) fn names_referred_to(&self, kind: Kind) -> Option<SymSet> {
        let stream = self.stream;
        let (parent, users): (Kind, &[Kind]) = match kind {
            Kind::Eds => (Kind::Cds, &[Kind::Cds]),
            Kind::Rds => (Kind::Lds, &[Kind::Lds, Kind::Srds]),
            _ => return None,
        };
        let mut own = stream.known_tracks().filter(|track| track.kind == Some(parent));
        let is_known = own.any(|track| track.traffic.requests > 0 && stream.knows_in_force(track));
        if !is_known || !stream.is_aggregated() || !self.store.engine.reads_needs() {
            return None;
        }
        let streams = self.open_streams();
        let tracks = streams.iter().flat_map(|stream| stream.known_tracks());
        let mut names = SymSet::default();
        for track in tracks.filter(|track| track.kind.is_some_and(|kind| users.contains(&kind))) {
            let sent = track.sent.entries(&self.store.catalog).into_iter();
            let all = sent.chain(track.accepted.entries(&self.store.catalog));
            for (_, entry) in all.filter(|(_, entry)| entry.is_present()) {
                let needs = self.store.engine.needs().of_content(&self.store.catalog, entry.blob);
                names.extend(needs.iter().filter(|need| need.kind == kind).map(|need| need.name));
            }
        }
        Some(names)
    }

    /// Returns the stream and the other open streams of its node.
    pub(super) fn open_streams(&self) -> Vec<&Stream> {
        std::iter::once(self.stream).chain(self.store.engine.open_of_node(self.stream)).collect()
    }

    fn is_requested_on(&self, streams: &[&Stream], kind: Kind, name: Sym) -> bool {
        let mut tracks = streams.iter().flat_map(|stream| stream.known_tracks());
        tracks.any(|track| {
            let entry = track.sent.get(&self.store.catalog, name);
            let is_requested = track.covers(&self.store.catalog, name, entry.as_ref());
            track.kind == Some(kind) && (is_requested || track.aliases.contains_key(&name))
        })
    }

    /// Whether the client certainly uses a resource of its subscription as it was sent last.
    fn is_used_as_sent(&self, track: &Track, name: Sym, entry: &ResourceEntry) -> bool {
        let is_expired = track.ttl.is_over(name, track.lifetime.ttl_clock(self.store.now));
        let in_force = track.in_force(&self.store.catalog, name);
        let is_refused = track.refuses(name);
        entry.is_present()
            && !is_expired
            && !is_refused
            && in_force.is_some_and(|used| used.blob == entry.blob)
            && track.covers(&self.store.catalog, name, Some(entry))
    }
}

/// The type of a track, if the client of a stream requests its resources by name. A client of gRPC
/// requests the clusters of its routes.
fn named_kind(stream: &Stream, track: &Track) -> Option<Kind> {
    let is_named = |kind: &Kind| NAMED_KINDS.contains(kind) || (*kind == Kind::Cds && is_grpc(stream));
    track.kind.filter(is_named)
}
