//! Clusters whose endpoints the client has never requested (docs/protocol.md#h-02).
//!
//! A client that follows references requests the endpoints of each cluster that it accepts. A
//! client that watches clusters only requests no endpoints at all, and owes none.

use std::time::Duration;

use crate::wire::event::{Kind, Sym, Time};

use super::names::SymSet;
use super::stream::Stream;
use super::track::Track;
use super::warming::{BatchState, MissingNeed, ResourceKey, WarmingName, WarmingView, is_needed};
use super::warming_batches::WarmingBatch;
use super::{Presence, named};

/// Parts of the `user_agent_name` of clients that request the endpoints of their clusters.
const FOLLOWING_AGENTS: [&str; 2] = ["envoy", "grpc"];

/// The name under which the client of xdscope introduces itself: it may watch clusters only.
const OWN_AGENT: &str = "xdscope";

impl WarmingView<'_> {
    /// Returns the clusters of a track whose endpoints the client has not requested within a limit,
    /// oldest first.
    ///
    /// Says nothing about clusters that the client has not accepted, whose endpoints come from a
    /// file or another server, or of which messages may be missing.
    pub(crate) fn unrequested<'t>(
        &self,
        stream: &Stream,
        track: &'t Track,
        (now, limit): (Time, Duration),
    ) -> Vec<WarmingName<'t>> {
        if track.warming.is_empty() || !self.owes_requests(stream, track) {
            return Vec::new();
        }
        let mut seen = SymSet::default();
        let mut found = Vec::new();
        for batch in track.warming.batches.iter().filter(|batch| now.since(batch.at) >= limit) {
            for name in batch.names() {
                let is_expired = track.deadlines.get(name).is_some_and(|deadline| *deadline <= now);
                if !is_expired
                    && let Some(need) = self.unrequested_need(track, batch, *name)
                    && seen.insert(*name)
                {
                    found.push(WarmingName { name: *name, batch, needs: vec![need] });
                }
            }
        }
        found
    }

    /// Whether the client has to request the endpoints of its clusters, and all its requests are
    /// known.
    fn owes_requests(&self, stream: &Stream, track: &Track) -> bool {
        track.kind == Some(Kind::Cds)
            && stream.is_aggregated()
            && !track.has_lost
            && self.streams.iter().all(|stream| !stream.open.partial)
            && self.tracks_of(Kind::Eds).all(|endpoints| !endpoints.has_lost && endpoints.names_known)
            && self.follows_references()
    }

    /// Whether the client requests what its resources refer to: it is known to do so, or has
    /// requested such a type.
    fn follows_references(&self) -> bool {
        let agent = self.streams.iter().find_map(|stream| stream.node.as_ref());
        let agent = agent.map(|node| node.user_agent.to_ascii_lowercase()).unwrap_or_default();
        let is = |part: &&str| agent.contains(*part);
        let mut tracks = self.streams.iter().flat_map(|stream| &stream.tracks);
        !is(&OWN_AGENT)
            && (FOLLOWING_AGENTS.iter().any(is)
                || tracks.any(|track| is_needed(track.kind) && track.traffic.requests > 0))
    }

    fn unrequested_need(&self, track: &Track, batch: &WarmingBatch, name: Sym) -> Option<MissingNeed> {
        let catalog = self.catalog;
        let slot = track.sent.get(catalog, name).filter(|slot| slot.state == Presence::Present)?;
        let accepted = track.accepted.get(catalog, name)?;
        if accepted.blob != slot.blob
            || track.refused.contains(name)
            || !track.covers(catalog, name, Some(&slot))
            || !matches!(self.state(track, batch, name), BatchState::Unasked)
        {
            return None;
        }
        let endpoints = self.needs.endpoints_on_ads(catalog, slot.blob)?;
        let is_known = self.names_of(endpoints).into_iter().any(|name| self.may_have_requested(name, batch));
        let key = ResourceKey { kind: Kind::Eds, name: endpoints };
        (!is_known).then(|| MissingNeed { is_unrequested: true, ..MissingNeed::new(key, batch.at) })
    }

    /// Returns the names under which a client may request a referenced name: without its
    /// directives, and those of its alternatives (docs/protocol.md#k-29).
    fn names_of(&self, reference: Sym) -> Vec<Sym> {
        let text = self.catalog.text(reference);
        let bare = text.split('#').next().unwrap_or_default();
        let alternatives = self.needs.alternatives_of(bare);
        let names = [text, bare].into_iter().chain(alternatives.iter().map(String::as_str));
        names.filter_map(|name| named(self.catalog, name)).collect()
    }

    /// Whether the client requests the endpoints, or may have done so since a batch.
    fn may_have_requested(&self, name: Sym, batch: &WarmingBatch) -> bool {
        self.tracks_of(Kind::Eds).any(|track| {
            track.covers(self.catalog, name, None)
                || track.sent.get(self.catalog, name).is_some()
                || track.aliases.contains_key(&name)
                || track.subscription.released.may_have(name, batch.seq)
        })
    }
}
