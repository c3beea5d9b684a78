//! Clusters to which the routes of a client of gRPC point, and that the client has never requested.

use bytes::Bytes;

use super::ClientNeeds;
use crate::nack::ClientKind;
use crate::session::{ResourceEntry, ResourceKey, Stream, SymSet, Track};
use xdscope_schema::links::{clusters_of_api_listener, clusters_of_routes, is_api_listener};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Sym, Time};
use xdscope_wire::xdstp::{is_structured, named};

/// A cluster to which routes in force point, and that the client has never requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnrequestedCluster {
    pub(crate) cluster: Sym,
    /// The route configuration, or the listener with inline routes.
    pub(crate) user: ResourceKey,
    /// When the server has sent the routes.
    pub(crate) since: Time,
}

impl ClientNeeds<'_> {
    /// Returns the clusters to which routes in force on an aggregated stream point, and that the
    /// client has never requested.
    ///
    /// Only for clients like those of gRPC: these get the listeners of their channels by name, and
    /// request each cluster of the routes by name. Of several virtual hosts the client uses one,
    /// which may be any: then it owes a request for at least one of their clusters. Empty if a
    /// request may be unknown.
    pub(crate) fn unrequested_clusters(&self) -> Vec<UnrequestedCluster> {
        let mut found = Vec::new();
        let stream = self.stream;
        let of_kind = |kind: Kind| stream.known_tracks().filter(move |track| track.kind == Some(kind));
        let may_have_all = of_kind(Kind::Cds)
            .any(|track| track.subscribed.may_be_wildcard() || !track.completeness.names_known);
        if !is_like_grpc(stream) || may_have_all {
            return found;
        }
        let (mut routes, mut users) = (SymSet::default(), Vec::new());
        for track in of_kind(Kind::Lds) {
            for (name, entry) in self.in_force(track) {
                let Some(any) = self.content(entry.blob).filter(|any| is_api_listener(any)) else { continue };
                let needs = self.store.engine.needs().of_content(&self.store.catalog, entry.blob);
                routes.extend(needs.iter().filter(|need| need.kind == Kind::Rds).map(|need| need.name));
                let user = ResourceKey { kind: Kind::Lds, name };
                users.push((track, user, entry, clusters_of_api_listener(&any)));
            }
        }
        for track in of_kind(Kind::Rds) {
            let entries = self.in_force(track).into_iter().filter(|(name, _)| routes.contains(name));
            for (name, entry) in entries {
                let Some(any) = self.content(entry.blob) else { continue };
                users.push((track, ResourceKey { kind: Kind::Rds, name }, entry, clusters_of_routes(&any)));
            }
        }
        let earlier = self.unsubscribed_names();
        for (track, user, entry, clusters) in users {
            let names = clusters.names.iter().filter(|name| !is_structured(name));
            let known = |name: &String| named(&self.store.catalog, name);
            let names: Vec<Sym> = names.filter_map(known).collect();
            let is_missing =
                |name: &Sym| !self.has_requested(*name) && !earlier.contains_key(&(Kind::Cds, *name));
            let missing: Vec<Sym> = names.iter().copied().filter(is_missing).collect();
            if !clusters.are_all_needed && missing.len() < clusters.names.len() {
                continue;
            }
            let since = track.responses.get(entry.order).map_or(track.traffic.began, |response| response.at);
            found.extend(missing.into_iter().map(|cluster| UnrequestedCluster { cluster, user, since }));
        }
        found
    }

    /// Returns the resources of a track that the client requests and uses.
    fn in_force(&self, track: &Track) -> Vec<(Sym, ResourceEntry)> {
        let catalog = &self.store.catalog;
        let entries = track.sent.entries(catalog).into_iter();
        let entries = entries.filter(|(name, entry)| track.covers(catalog, *name, Some(entry)));
        entries.filter_map(|(name, _)| Some((name, track.in_force(catalog, name)?))).collect()
    }

    fn content(&self, entry: Option<BlobId>) -> Option<Bytes> {
        let catalog = &self.store.catalog;
        catalog.bytes(catalog.entry(entry?).payload?)
    }

    /// Whether the client has requested a cluster on the stream, or the server has sent it.
    fn has_requested(&self, cluster: Sym) -> bool {
        let mut tracks = self.stream.known_tracks().filter(|track| track.kind == Some(Kind::Cds));
        tracks.any(|track| {
            track.subscribed.names.contains(cluster)
                || track.subscription.released.has(cluster)
                || track.sent.get(&self.store.catalog, cluster).is_some()
        })
    }
}

/// Whether the client of an aggregated stream may be one of gRPC, and all its requests are known.
fn is_like_grpc(stream: &Stream) -> bool {
    let is_known = stream.is_aggregated() && !stream.open.partial && stream.losses.lost.is_none();
    // The client of xdscope may watch routes only.
    is_known
        && !stream.is_of_xdscope()
        && !stream.is_dump()
        && stream.client_kind() != Some(ClientKind::Envoy)
}
