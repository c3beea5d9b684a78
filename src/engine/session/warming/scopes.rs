//! Scopes, the routes of scopes, and the virtual hosts of routes: listeners wait for them, too.

use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Kind, Seq, Sym};

use super::batches::WarmingBatch;
use super::needed::MissingNeed;
use super::needs::ResourceKey;
use super::{NeedState, WarmingView, delivered_since};
use crate::session::content::resource_set::ResourceEntry;
use crate::session::subscription::NameRequest;
use crate::session::track::Track;
use xdscope_wire::xdstp::named;

/// Routes of scopes that a listener waits for, as far as they are listed.
const MAX_SCOPE_ROUTES: usize = 16;
/// Virtual hosts of a client up to which their names are compared with those of routes.
const MAX_COMPARED_HOSTS: usize = 1024;

impl WarmingView<'_> {
    /// Returns the first routes of scopes that the client has (docs/protocol.md#h-03).
    fn scope_routes(&self) -> &[(ResourceKey, Seq)] {
        self.scope_routes.get_or_init(|| {
            let mut routes: Vec<(ResourceKey, Seq)> = Vec::new();
            let is_done = |route: &ResourceKey| {
                let mut tracks = self.tracks_of(route.kind);
                let entry = tracks.find_map(|track| track.sent.get(self.catalog, route.name));
                // The virtual hosts of routes that are present may be missing.
                let is_complete =
                    |entry: &ResourceEntry| self.needs.of_content(self.catalog, entry.blob).is_empty();
                entry.is_some_and(|entry| entry.is_present() && is_complete(&entry))
            };
            for track in self.tracks_of(Kind::Srds) {
                let scopes = track.sent.slots(self.catalog).into_iter();
                for (_, scope) in scopes.filter(|(_, scope)| scope.is_present()) {
                    let sent = track.responses.get(scope.order).or_else(|| track.responses.oldest());
                    let sent = sent.map_or(Seq(0), |response| response.seq);
                    let missing = self.needs.of_content(self.catalog, scope.blob);
                    let is_listed = |route: &ResourceKey| routes.iter().any(|(known, _)| known == route);
                    let missing = missing.iter().filter(|route| !is_done(route) && !is_listed(route));
                    let missing: Vec<_> = missing.map(|route| (*route, sent)).collect();
                    routes.extend(missing);
                    if routes.len() >= MAX_SCOPE_ROUTES {
                        return routes;
                    }
                }
            }
            routes
        })
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
            let hosts = track.sent.slots(self.catalog);
            let mut names = hosts.iter().map(|(name, _)| self.catalog.text(*name));
            let is_empty = hosts.is_empty() && track.traffic.pushes > 0;
            is_empty || hosts.len() > MAX_COMPARED_HOSTS || names.any(|name| name.starts_with(prefix))
        };
        if self.tracks_of(key.kind).any(is_met) {
            return NeedState::Met;
        }
        let in_use = self.in_use_since(prefix, batch);
        let is_later = |asked: Seq| in_use.is_some_and(|in_use| in_use < asked);
        let of_routes = |(name, request): &(Sym, &NameRequest)| {
            let name = self.catalog.text(*name);
            let is_lookup = !name.ends_with('*') && is_later(request.first);
            request.is_owed() && name.starts_with(prefix) && !is_lookup
        };
        let request = |track: &Track| {
            let mut waiting = track.waiting.iter().take(MAX_COMPARED_HOSTS);
            let (name, asked, at, is_owed) = match waiting.find(of_routes) {
                Some((name, request)) => (name, request.first, request.since, true),
                None => {
                    let wildcard = track.wildcard_owed();
                    let asked = wildcard.map(|owed| owed.message).or(track.traffic.unanswered);
                    let asked = asked.or(track.traffic.last_request)?;
                    let looks_up = !track.subscribed.is_wildcard();
                    if looks_up && is_later(track.traffic.first_request.unwrap_or(asked)) {
                        return None;
                    }
                    let at = wildcard.map_or(track.traffic.began, |owed| owed.since);
                    (key.name, asked, at, wildcard.is_some())
                }
            };
            let need = MissingNeed::new(key.kind, name, batch.at.max(at));
            let is_elsewhere = self.is_elsewhere(track);
            Some(MissingNeed { asked: Some(asked), is_owed, is_elsewhere, ..need })
        };
        self.tracks_of(key.kind).find_map(request).map_or(NeedState::Unasked, NeedState::Missing)
    }

    /// Returns the message with which the client had accepted a listener of a batch and its routes.
    /// An Envoy requests the first virtual hosts of routes before that, and looks up others for
    /// requests to a listener in use (docs/protocol.md#h-03). `prefix`: that of the virtual hosts.
    fn in_use_since(&self, prefix: &str, batch: &WarmingBatch) -> Option<Seq> {
        let mut listeners = self.tracks_of(Kind::Lds);
        let listener = listeners.find(|track| track.warming.seqs().any(|seq| seq == batch.seq))?;
        let routes = named(self.catalog, prefix.strip_suffix('/')?)?;
        let routes = self.tracks_of(Kind::Rds).find_map(|track| {
            let entry = track.sent.get(self.catalog, routes).filter(ResourceEntry::is_present)?;
            let sent = track.responses.get(entry.order).map_or(Seq(0), |response| response.seq);
            if track.has_accepted_sent(self.catalog, routes) {
                track.responses.accepted_in(sent)
            } else {
                None
            }
        })?;
        Some(listener.responses.accepted_in(batch.seq)?.max(routes))
    }

    /// Returns the state of the need for scopes, which any response of their type meets.
    pub(super) fn scopes_state(&self, key: ResourceKey, batch: &WarmingBatch) -> NeedState {
        if self.tracks_of(key.kind).any(|track| track.traffic.pushes > 0) {
            return NeedState::Met;
        }
        let request = |track: &Track| {
            let owed = track.wildcard_owed();
            let is_owed = owed.is_some() || !track.waiting.is_empty();
            let at = owed.map_or(track.traffic.began, |owed| owed.since);
            let asked = owed.map(|owed| owed.message).or(track.traffic.last_request)?;
            Some((asked, at, is_owed, self.is_elsewhere(track)))
        };
        match self.tracks_of(key.kind).find_map(request) {
            Some((asked, at, is_owed, is_elsewhere)) => {
                let (since, asked) = (batch.at.max(at), Some(asked));
                let need = MissingNeed::new(key.kind, key.name, since);
                NeedState::Missing(MissingNeed { asked, is_owed, is_elsewhere, ..need })
            }
            None => NeedState::Unasked,
        }
    }
}
