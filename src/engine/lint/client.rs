//! The client of a stream: its tracks, and the references between its resources.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::alarm::Alarm;
use super::context::RuleContext;
use super::exchange::{RequestContext, ResponseContext};
use crate::applied::other_clusters;
use crate::lint::memory::references::{ROUTE_KINDS, ResourceRef, ResourceRefs, has_references};
use crate::nack::ClientKind;
use crate::session::{ResourceEntry, SymSet, Track, key};
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Sym, Variant};

/// Time from the first clusters to a late request for listeners.
///
/// Envoy waits for endpoints and secrets for 15 s, unless `initial_fetch_timeout` says otherwise.
pub(super) const LISTENERS_LATE: Duration = Duration::from_secs(30);

/// The moment at which routes are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteUse {
    /// The server has sent them.
    Sent,
    /// The client uses them.
    InUse,
}

/// Clusters that the resources of a client refer to and that the client does not have.
#[derive(Debug, Default)]
pub(super) struct UnknownClusters {
    /// The names of the clusters, sorted.
    pub(super) names: Vec<Sym>,
    /// The resources that refer to them.
    pub(super) users: Vec<Sym>,
    /// The streams that carry clusters.
    pub(super) streams: Vec<usize>,
}

/// The clusters of a client.
struct KnownClusters<'a> {
    catalog: &'a Catalog,
    /// The tracks of clusters, with the indexes of their streams.
    tracks: Vec<(usize, &'a Track)>,
    /// Whether a cluster that the client refuses, and does not have, is missing.
    is_in_use: bool,
    /// Clusters of a dump that no server has sent.
    others: Option<HashSet<String>>,
}

impl KnownClusters<'_> {
    fn has_wildcard(&self) -> bool {
        self.tracks.iter().any(|(_, track)| track.subscribed.is_wildcard())
    }

    /// Whether the client has a cluster.
    fn has(&self, name: Sym) -> bool {
        let has = |track: &Track| {
            let name = track.canonical(self.catalog, name);
            track.sent.is_present(self.catalog, name) && !self.is_unused_in(track, name)
        };
        self.tracks.iter().any(|(_, track)| has(track))
            || self.others.as_ref().is_some_and(|others| others.contains(self.catalog.text(name)))
    }

    /// Whether a server has sent a cluster.
    fn is_sent(&self, name: Sym) -> bool {
        let is_sent =
            |track: &Track| track.sent.is_present(self.catalog, track.canonical(self.catalog, name));
        self.tracks.iter().any(|(_, track)| is_sent(track))
    }

    /// Whether the client refuses a cluster on any stream, and does not use it there.
    fn is_unused(&self, name: Sym) -> bool {
        self.tracks.iter().any(|(_, track)| self.is_unused_in(track, name))
    }

    fn is_unused_in(&self, track: &Track, name: Sym) -> bool {
        let is_refused = track.refused.get(name).is_some_and(|refusal| refusal.is_named);
        self.is_in_use && is_refused && track.in_force(self.catalog, name).is_none()
    }
}

impl<'a> RuleContext<'a> {
    /// Whether the client is known to be an Envoy.
    pub(super) fn is_envoy(&self) -> bool {
        self.stream.client_kind() == Some(ClientKind::Envoy)
    }

    /// Returns the node id of the client. A stream without a node is a client of its own.
    pub(super) fn client(&self) -> Arc<str> {
        self.stream.client()
    }

    /// Returns the tracks of a type on the open streams of the client, with the indexes of the
    /// streams. Empty if there are very many.
    pub(super) fn tracks_of(&self, kind: Kind) -> Vec<(usize, &'a Track)> {
        let (stream, store) = (self.stream, self.store);
        let streams = store.engine().open_of_kind(stream, kind);
        let tracks =
            streams.flat_map(|(index, stream)| stream.known_tracks().map(move |track| (index, track)));
        tracks.filter(|(_, track)| track.kind == Some(kind) && track.traffic.requests > 0).collect()
    }

    /// Returns the references of the named resources, as last sent.
    pub(super) fn references_of(&self, track: &Track, names: &[Sym]) -> Vec<(Sym, ResourceRefs)> {
        let catalog = self.catalog();
        let refs = names.iter().filter_map(|name| {
            let blob = track.sent.get(catalog, *name)?.blob?;
            Some((*name, self.source_state.graphs.refs(catalog, blob)?))
        });
        refs.collect()
    }

    /// Whether a resource of the client refers to a resource of the track, by its name or by an
    /// alias (docs/protocol.md#f-30); `None` while that is unknown.
    pub(super) fn is_referenced(&self, track: &Track, name: Sym) -> Option<bool> {
        let (catalog, client, kind) = (self.catalog(), self.client(), track.kind?);
        let blob = track.sent.get(catalog, name).and_then(|entry| entry.blob);
        let aliases = blob.map_or(&[][..], |blob| catalog.entry(blob).aliases);
        let names = std::iter::once(name).chain(aliases.iter().copied());
        let is_used = |name| self.source_state.graphs.is_used(catalog, &client, (kind, name));
        names.map(is_used).reduce(|known, used| Some(known? || used?)).flatten()
    }

    /// Whether all resources of these types that the client was sent are known.
    pub(super) fn knows_all_of(&self, kinds: &[Kind]) -> bool {
        let is_delta = |stream: usize| {
            let variant = self.store.engine().streams().get(stream).and_then(|stream| stream.variant());
            variant.is_some_and(Variant::is_delta)
        };
        kinds.iter().all(|kind| {
            let tracks = self.tracks_of(*kind);
            // The client may have requested the type before the recording.
            let is_seen = !tracks.is_empty() || self.has_full_history();
            is_seen && tracks.iter().all(|(stream, track)| track.knows_all_resources(is_delta(*stream)))
        })
    }

    /// Returns the clusters that the resources refer to and that the client does not have.
    ///
    /// Only for clients with a wildcard subscription to clusters: others learn the name of a
    /// cluster from the route, so the route comes first. One that is out of use because the client
    /// refuses its response for another cluster is part of that refusal. An Envoy refuses inline
    /// routes to a cluster that it does not have, so one that no server has sent is in its
    /// bootstrap, or the verdict on the routes says that it is missing. The dump of a client says
    /// itself which clusters it has.
    pub(super) fn unknown_clusters(
        &self,
        track: &Track,
        names: &[Sym],
        route_use: RouteUse,
    ) -> UnknownClusters {
        let known = KnownClusters {
            catalog: self.catalog(),
            tracks: self.tracks_of(Kind::Cds),
            is_in_use: route_use == RouteUse::InUse,
            others: other_clusters(&self.stream.open),
        };
        let is_dump = self.stream.is_dump();
        let knows_all = match is_dump {
            true => known.is_in_use && known.others.is_some(),
            false => self.knows_all_of(&[Kind::Cds]) && known.has_wildcard(),
        };
        if !knows_all {
            return UnknownClusters::default();
        }
        let (is_envoy, is_listener) = (self.is_envoy() && !is_dump, track.kind == Some(Kind::Lds));
        let is_missing = |to: &ResourceRef, name: Sym| {
            let is_checked_by_envoy = is_envoy && to.is_validated && !known.is_unused(name);
            // `order-lds-before-cds` covers clusters that were not sent before their listener.
            let is_told = known.is_in_use && !is_dump && is_listener && !known.is_sent(name);
            !is_checked_by_envoy && !is_told && !known.has(name)
        };
        let (mut unknown, mut on_demand) = (UnknownClusters::default(), None);
        for (user, refs) in self.references_of(track, names) {
            let clusters = refs.iter().filter(|to| to.kind == Kind::Cds);
            let clusters = clusters.map(|to| (to, known.catalog.first_spelling(to.name)));
            let missing = clusters.filter(|(to, name)| is_missing(to, *name)).map(|(_, name)| name);
            let missing: Vec<Sym> = missing.collect();
            if missing.is_empty() {
                continue;
            }
            let on_demand = on_demand.get_or_insert_with(|| self.on_demand_routes());
            if !on_demand.has(known.catalog, track, user) {
                unknown.names.extend(missing);
                unknown.users.push(user);
            }
        }
        unknown.names.sort_unstable();
        unknown.names.dedup();
        unknown.streams = known.tracks.into_iter().map(|(stream, _)| stream).collect();
        unknown
    }

    /// Whether the client has refused each of the clusters.
    pub(super) fn has_refused_clusters(&self, names: &[Sym]) -> bool {
        let tracks = self.tracks_of(Kind::Cds);
        let is_refused = |name: &Sym| {
            tracks.iter().any(|(_, track)| track.refused.contains(track.canonical(self.catalog(), *name)))
        };
        names.iter().all(is_refused)
    }

    /// Returns the clusters of a refused response that the client does not have, although routes
    /// that it has accepted point to them.
    pub(super) fn refused_clusters_of_routes(&self, request: &RequestContext<'_>) -> Vec<Sym> {
        let answered = request.outcome.answers.and_then(|seq| self.state.pending(seq));
        let Some(list) = answered.map(|sent| sent.list.clone()) else { return Vec::new() };
        let catalog = self.catalog();
        let names = list.blobs().iter().map(|id| key(catalog, *id));
        let tracks = self.tracks_of(Kind::Cds);
        let is_missing = |name: &Sym| {
            request.track.refused.contains(*name)
                && tracks.iter().all(|(_, track)| track.in_force(catalog, *name).is_none())
        };
        let missing: SymSet = names.filter(is_missing).collect();
        let mut found = Vec::new();
        if missing.is_empty() {
            return found;
        }
        for (_, track) in ROUTE_KINDS.iter().flat_map(|kind| self.tracks_of(*kind)) {
            let is_used = |(name, entry): &(Sym, ResourceEntry)| {
                entry.is_present() && track.covers(catalog, *name, Some(entry))
            };
            for (_, entry) in track.accepted.entries(catalog).into_iter().filter(is_used) {
                let refs = entry.blob.and_then(|id| self.source_state.graphs.refs(catalog, id));
                let clusters = refs.iter().flat_map(|refs| ResourceRef::clusters(refs, catalog));
                found.extend(clusters.filter(|name| missing.contains(name)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the type of a track whose references rules use, if they are read at all.
    fn kind_with_references(&self, track: &Track) -> Option<Kind> {
        if self.options.links.is_none() || !has_references(track.kind) {
            return None;
        }
        track.kind
    }

    /// Remembers the references of a response.
    pub(super) fn note_references(&mut self, response: &ResponseContext<'_>) {
        self.arm_warming(response);
        self.arm_listeners(response);
        let Some(kind) = self.kind_with_references(response.track) else { return };
        if self.seq.is_none() {
            return;
        }
        let client = self.client();
        let again = self.refused_names_sent_again(response);
        for names in [&response.outcome.added, &response.outcome.changed, &again] {
            for (name, refs) in self.references_of(response.track, names) {
                self.source_state.graphs.set(&client, (kind, name), Some(refs), self.at);
            }
        }
        for name in &response.outcome.removed {
            self.source_state.graphs.set(&client, (kind, *name), None, self.at);
        }
    }

    /// Returns the names in a response whose unchanged content the client has refused before.
    pub(super) fn refused_names_sent_again(&self, response: &ResponseContext<'_>) -> Vec<Sym> {
        let (catalog, track, outcome) = (self.catalog(), response.track, response.outcome);
        let is_sent_unchanged = |name: &Sym| {
            let Some(entry) = track.sent.get(catalog, *name) else { return false };
            entry.is_present()
                && entry.order == outcome.order
                && !outcome.added.contains(name)
                && !outcome.changed.contains(name)
        };
        let mut names: Vec<Sym> = track.refused.names().filter(is_sent_unchanged).collect();
        names.sort_unstable();
        names
    }

    /// Restores the references in force of the resources of a refused response.
    ///
    /// A refusal by version alone may be taken back, so references stay as sent.
    pub(super) fn restore_references(&mut self, request: &RequestContext<'_>) {
        let track = request.track;
        let Some(kind) = self.kind_with_references(track) else { return };
        if !request.is_nack() || request.outcome.implied {
            return;
        }
        let answered = request.outcome.answers.and_then(|seq| self.state.pending(seq));
        let Some(list) = answered.map(|sent| sent.list.clone()) else { return };
        let (catalog, client) = (self.catalog(), self.client());
        let is_newest = |name: Sym, id: BlobId| {
            let entry = track.sent.get(catalog, name);
            entry.is_some_and(|entry| entry.blob == Some(id))
        };
        let sent = list.blobs().iter().map(|id| (key(catalog, *id), *id));
        let sent = sent.filter(|(name, id)| track.refused.contains(*name) && is_newest(*name, *id));
        let names: Vec<Sym> = sent.map(|(name, _)| name).chain(track.refused.removed_names()).collect();
        for name in names {
            let content = track.in_force(catalog, name).map(|entry| entry.blob);
            let refs = match content {
                Some(content) => content.and_then(|id| self.source_state.graphs.refs(catalog, id)).map(Some),
                None => Some(None),
            };
            if let Some(refs) = refs {
                self.source_state.graphs.set(&client, (kind, name), refs, self.at);
            }
        }
    }

    /// Forgets the references of resources that the client no longer requests.
    pub(super) fn drop_references(&mut self, request: &RequestContext<'_>) {
        let track = request.track;
        let Some(kind) = self.kind_with_references(track) else { return };
        if request.outcome.removed.is_empty() {
            return;
        }
        let (catalog, client) = (self.catalog(), self.client());
        let is_wanted = |name: Sym| track.covers(catalog, name, track.sent.get(catalog, name).as_ref());
        for name in request.outcome.removed.iter().filter(|name| !is_wanted(**name)) {
            self.source_state.graphs.set(&client, (kind, *name), None, self.at);
        }
    }

    /// Sets the timer for resources that begin to warm with a response.
    fn arm_warming(&mut self, response: &ResponseContext<'_>) {
        if self.seq.is_some() && response.track.warming.newest() == self.seq {
            self.arm(Alarm::Warming, self.at.after(self.options.timers.warm));
        }
    }

    /// Sets the timer for the first request for listeners after the first clusters.
    fn arm_listeners(&mut self, response: &ResponseContext<'_>) {
        let track = response.track;
        if track.kind == Some(Kind::Cds) && track.traffic.pushes == 1 && self.is_aggregated() {
            self.state.references.clusters_since = Some(self.at);
            self.arm(Alarm::Listeners, self.at.after(LISTENERS_LATE));
        }
    }
}
