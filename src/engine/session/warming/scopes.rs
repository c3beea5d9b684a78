//! Scopes, the routes of scopes, and the virtual hosts of routes: listeners wait for them, too.

use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Seq};

use super::batches::WarmingBatch;
use super::needed::MissingNeed;
use super::needs::ResourceKey;
use super::{NeedState, WarmingView, delivered_since};
use crate::session::content::resource_set::ResourceEntry;

use crate::session::track::Track;
use xdscope_wire::xdstp::named;

/// Routes of scopes to list, for which a listener waits.
const MAX_SCOPE_ROUTES: usize = 16;
/// Virtual hosts of a client up to which their names are compared with those of routes.
const MAX_COMPARED_HOSTS: usize = 1024;

impl WarmingView<'_> {
    /// Returns the first routes of scopes that the client has (docs/protocol.md#h-03).
    fn scope_routes(&self) -> &[(ResourceKey, Seq)] {
        self.scope_routes.get_or_init(|| {
            let mut routes: Vec<(ResourceKey, Seq)> = Vec::new();
            for track in self.tracks_of(Kind::Srds) {
                for (_, scope) in track.sent.present_entries(self.catalog) {
                    let sent = track.responses.get(scope.order).or_else(|| track.responses.oldest());
                    let sent = sent.map_or(Seq(0), |response| response.seq);
                    for route in self.needs.of_content(self.catalog, scope.blob).iter() {
                        let is_listed = routes.iter().any(|(known, _)| known == route);
                        if !is_listed && !self.is_complete(*route) {
                            routes.push((*route, sent));
                        }
                    }
                    if routes.len() >= MAX_SCOPE_ROUTES {
                        return routes;
                    }
                }
            }
            routes
        })
    }

    /// Whether the client has a route, and waits for no virtual hosts of the route.
    fn is_complete(&self, route: ResourceKey) -> bool {
        let mut tracks = self.tracks_of(route.kind);
        let Some(entry) = tracks.find_map(|track| track.sent.get(self.catalog, route.name)) else {
            return false;
        };
        entry.is_present() && self.needs.of_content(self.catalog, entry.blob).is_empty()
    }

    /// Returns the routes of scopes that came after a batch.
    pub(super) fn new_scope_routes(&self, batch: &WarmingBatch) -> impl Iterator<Item = ResourceKey> {
        let new = self.scope_routes().iter().filter(|(_, sent)| *sent > batch.seq);
        new.map(|(route, _)| *route)
    }

    /// Returns the need for the virtual hosts of routes that came with or after a batch, and the
    /// content of the routes: an Envoy waits for the first ones of new routes only
    /// (docs/protocol.md#h-03).
    pub(super) fn hosts_of(
        &self,
        route: ResourceKey,
        batch: &WarmingBatch,
    ) -> Option<(ResourceKey, Option<BlobId>)> {
        if route.kind != Kind::Rds || !self.may_be_envoy() {
            return None;
        }
        self.tracks_of(Kind::Rds).find_map(|track| {
            let entry = track.sent.get(self.catalog, route.name).filter(ResourceEntry::is_present)?;
            if !delivered_since(track, &entry, batch.seq) {
                return None;
            }
            let hosts = self.needs.of_content(self.catalog, entry.blob).first().copied()?;
            Some((hosts, entry.blob))
        })
    }

    /// Returns the state of the need for virtual hosts: any of the route configuration meets it,
    /// and so does a response without any.
    pub(super) fn hosts_state(&self, key: ResourceKey, batch: &WarmingBatch) -> NeedState {
        let prefix = self.catalog.text(key.name).trim_end_matches('*');
        let is_met = |track: &Track| {
            let hosts = track.sent.entries(self.catalog);
            let mut names = hosts.iter().map(|(name, _)| self.catalog.text(*name));
            let is_empty = hosts.is_empty() && track.traffic.pushes > 0;
            is_empty || hosts.len() > MAX_COMPARED_HOSTS || names.any(|name| name.starts_with(prefix))
        };
        if self.tracks_of(key.kind).any(is_met) {
            return NeedState::Met;
        }
        let in_use = self.in_use_since(prefix, batch);
        for track in self.tracks_of(key.kind) {
            if let Some(need) = self.missing_hosts(track, key, in_use, batch) {
                return NeedState::Missing(need);
            }
        }
        NeedState::Unasked
    }

    /// Returns the request for virtual hosts that a batch waits for on a track. `in_use`: the
    /// message with which the listener came into use; requests after that are lookups.
    fn missing_hosts(
        &self,
        track: &Track,
        key: ResourceKey,
        in_use: Option<Seq>,
        batch: &WarmingBatch,
    ) -> Option<MissingNeed> {
        let prefix = self.catalog.text(key.name).trim_end_matches('*');
        let is_later = |asked: Seq| in_use.is_some_and(|in_use| in_use < asked);
        let is_elsewhere = self.is_elsewhere(track);
        for (host, request) in track.waiting.iter().take(MAX_COMPARED_HOSTS) {
            let text = self.catalog.text(host);
            let is_lookup = !text.ends_with('*') && is_later(request.first);
            if request.is_owed() && text.starts_with(prefix) && !is_lookup {
                let need = MissingNeed::new(key.kind, host, batch.at.max(request.since));
                return Some(MissingNeed { asked: Some(request.first), is_owed: true, is_elsewhere, ..need });
            }
        }
        let wildcard = track.wildcard_owed();
        let asked = wildcard.map(|owed| owed.message).or(track.traffic.unanswered);
        let asked = asked.or(track.traffic.last_request)?;
        let looks_up = !track.subscribed.is_wildcard();
        if looks_up && is_later(track.traffic.first_request.unwrap_or(asked)) {
            return None;
        }
        let since = wildcard.map_or(track.traffic.began, |owed| owed.since);
        let need = MissingNeed::new(key.kind, key.name, batch.at.max(since));
        Some(MissingNeed { asked: Some(asked), is_owed: wildcard.is_some(), is_elsewhere, ..need })
    }

    /// Returns the message with which the client had accepted a listener of a batch and its routes.
    /// An Envoy requests the first virtual hosts of routes before that, and looks up others for
    /// requests to a listener in use (docs/protocol.md#h-03). `prefix`: that of the virtual hosts.
    fn in_use_since(&self, prefix: &str, batch: &WarmingBatch) -> Option<Seq> {
        let mut listeners = self.tracks_of(Kind::Lds);
        let listener = listeners.find(|track| track.warming.seqs().any(|seq| seq == batch.seq))?;
        let routes = named(self.catalog, prefix.strip_suffix('/')?)?;
        let accepted = self.tracks_of(Kind::Rds).find_map(|track| {
            let entry = track.sent.get(self.catalog, routes).filter(ResourceEntry::is_present)?;
            if !track.has_accepted_sent(self.catalog, routes) {
                return None;
            }
            let sent = track.responses.get(entry.order).map_or(Seq(0), |response| response.seq);
            track.responses.accepted_in(sent)
        })?;
        Some(listener.responses.accepted_in(batch.seq)?.max(accepted))
    }

    /// Returns the state of the need for scopes, which any response of their type meets.
    pub(super) fn scopes_state(&self, key: ResourceKey, batch: &WarmingBatch) -> NeedState {
        if self.tracks_of(key.kind).any(|track| track.traffic.pushes > 0) {
            return NeedState::Met;
        }
        for track in self.tracks_of(key.kind) {
            let owed = track.wildcard_owed();
            let asked = owed.map(|owed| owed.message).or(track.traffic.last_request);
            if asked.is_some() {
                let since = owed.map_or(track.traffic.began, |owed| owed.since);
                let need = MissingNeed::new(key.kind, key.name, batch.at.max(since));
                let is_owed = owed.is_some() || !track.waiting.is_empty();
                let is_elsewhere = self.is_elsewhere(track);
                return NeedState::Missing(MissingNeed { asked, is_owed, is_elsewhere, ..need });
            }
        }
        NeedState::Unasked
    }
}
