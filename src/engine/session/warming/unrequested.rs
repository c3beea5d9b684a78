//! Clusters and listeners that need resources which the client has never requested
//! (docs/protocol.md#h-02, docs/protocol.md#h-03).
//!
//! A client that follows references requests the endpoints of each cluster that it accepts. A
//! client that watches clusters only requests no endpoints at all, and owes none. Only Envoy
//! requests secrets, scopes and filters.

use std::time::Duration;

use xdscope_wire::event::{Kind, Seq, Sym, Time};

use super::needs::{ResourceKey, is_needed};
use crate::session::content::names::SymSet;
use crate::session::content::resource_set::ResourceEntry;
use crate::session::stream::Stream;
use crate::session::stream::siblings::has_authority_of;
use crate::session::track::Track;
use crate::session::warming::batches::WarmingBatch;
use crate::session::warming::needed::MissingNeed;
use crate::session::warming::{BatchState, WarmingName, WarmingView, delivered_since};
use xdscope_wire::xdstp::named;

/// Parts of the `user_agent_name` of clients that request the endpoints of their clusters.
const FOLLOWING_AGENTS: [&str; 2] = ["envoy", "grpc"];

impl WarmingView<'_> {
    /// Returns the clusters and listeners of a track that need resources which the client has not
    /// requested within a limit, oldest first.
    ///
    /// Leaves out resources that the client has not accepted, references to a file or another
    /// server, and streams with missing messages.
    pub(crate) fn unrequested<'t>(
        &self,
        stream: &Stream,
        track: &'t Track,
        within: (Time, Duration),
    ) -> Vec<WarmingName<'t>> {
        if !self.follows_references() {
            return Vec::new();
        }
        let mut unrequested = self.not_yet_requested(stream, track, within);
        unrequested.retain(|warming| {
            track.has_accepted_sent(self.catalog, warming.name) || self.has_begun(track, warming.batch)
        });
        unrequested
    }

    /// Whether the client has requested what another resource of a batch waits for: it uses the
    /// response, and withholds its verdict.
    fn has_begun(&self, track: &Track, batch: &WarmingBatch) -> bool {
        let is_asked = |need: &MissingNeed| need.asked > Some(batch.seq);
        batch.names().iter().any(|name| match self.state(track, batch, *name) {
            BatchState::Warming(needs) => needs.iter().any(is_asked),
            _ => false,
        })
    }

    /// Returns the clusters and listeners of a track that warm until the client requests what they
    /// refer to (docs/protocol.md#h-01), oldest first: those that came at least `limit` ago.
    ///
    /// Resources warm from their delivery on, whether or not the client has acknowledged them. A
    /// client whose implementation is unknown may follow references.
    pub(crate) fn not_yet_requested<'t>(
        &self,
        stream: &Stream,
        track: &'t Track,
        (now, limit): (Time, Duration),
    ) -> Vec<WarmingName<'t>> {
        let may_follow = self.agent().is_empty() || self.follows_references();
        if track.warming.is_empty() || !may_follow || !self.knows_requests(stream, track) {
            return Vec::new();
        }
        let mut seen = SymSet::default();
        let mut found = Vec::new();
        // A client requests again on each stream.
        let is_due = |since: Time| now.since(since.max(stream.opened)) >= limit;
        for batch in track.warming.batches.iter().filter(|batch| is_due(batch.at)) {
            for name in batch.names() {
                let needs = self.unrequested_needs(track, batch, *name);
                let is_due = needs.iter().any(|need| is_due(need.since));
                if is_due && seen.insert(*name) {
                    found.push(WarmingName { name: *name, batch, needs });
                }
            }
        }
        found
    }

    /// Whether all requests are known that the client makes for resources of one stream.
    fn knows_requests(&self, stream: &Stream, track: &Track) -> bool {
        let kinds = [Kind::Eds, Kind::Rds, Kind::Srds, Kind::Sds, Kind::Ecds];
        let mut needed = kinds.into_iter().flat_map(|kind| self.tracks_of(kind));
        stream.is_aggregated()
            && !track.completeness.has_lost
            && self.streams.iter().all(|stream| !stream.open.partial)
            && needed.all(|needed| !needed.completeness.has_lost && needed.completeness.names_known)
    }

    /// Returns the name under which the client introduces itself, in lower case.
    fn agent(&self) -> String {
        let agent = self.streams.iter().find_map(|stream| stream.peers.node.as_ref());
        agent.map(|node| node.user_agent.to_ascii_lowercase()).unwrap_or_default()
    }

    /// Whether the client requests what its resources refer to: it is known to do so, or has
    /// requested such a type.
    pub(crate) fn follows_references(&self) -> bool {
        let agent = self.agent();
        let is = |part: &&str| agent.contains(*part);
        let mut tracks = self.streams.iter().flat_map(|stream| &stream.tracks);
        !self.streams.iter().any(|stream| stream.is_of_xdscope())
            && (FOLLOWING_AGENTS.iter().any(is)
                || tracks.any(|track| is_needed(track.kind) && track.traffic.requests > 0))
    }

    /// Returns what a resource needs and the client has never requested.
    fn unrequested_needs(&self, track: &Track, batch: &WarmingBatch, name: Sym) -> Vec<MissingNeed> {
        let catalog = self.catalog;
        let entry = track.sent.get(catalog, name).filter(ResourceEntry::is_present);
        let Some(entry) = entry else { return Vec::new() };
        let has_verdict = track.has_accepted_sent(catalog, name);
        if (!has_verdict && track.withheld_since(batch.seq).is_none())
            || track.refused.contains(name)
            || !track.covers(catalog, name, Some(&entry))
            || !matches!(self.state(track, batch, name), BatchState::Unasked)
        {
            return Vec::new();
        }
        let (own, has_scope_routes) = self.needs.on_ads(catalog, entry.blob);
        let has_scope_routes = has_scope_routes && own.iter().any(|need| need.kind == Kind::Srds);
        let mut references = own.to_vec();
        if has_scope_routes {
            references.extend(self.new_scope_routes(batch));
        }
        let is_followed = |kind: Kind| matches!(kind, Kind::Eds | Kind::Rds) || self.may_be_envoy();
        let unrequested = references.into_iter().filter(|reference| is_followed(reference.kind));
        let unrequested = unrequested.filter_map(|reference| self.unrequested_need(reference, batch));
        unrequested.collect()
    }

    /// Returns the need for what a reference leads to, unless the client has requested it.
    fn unrequested_need(&self, reference: ResourceKey, batch: &WarmingBatch) -> Option<MissingNeed> {
        let key = self.resolve(reference);
        // A redirect is requested under another name than its target.
        let names = if key.kind == reference.kind && self.is_same_name(key.name, reference.name) {
            self.names_of(reference.name)
        } else {
            vec![key.name]
        };
        let is_known = match key.kind {
            Kind::Srds => self.tracks_of(key.kind).any(|track| track.traffic.requests > 0),
            _ => names.iter().any(|name| self.may_have_requested(key.kind, *name, batch)),
        };
        if is_known {
            return None;
        }
        let given_up = names.iter().filter_map(|name| self.given_up(key.kind, *name, batch)).max();
        let since = given_up.map_or(batch.at, |(_, at)| at);
        let since = self.reopened(key.name).map_or(since, |reopened| since.max(reopened));
        let given_up = given_up.map(|(n, _)| n);
        let is_resend = self.needs_resend(key.kind, batch)
            && self.tracks_of(key.kind).any(|track| track.sent.is_present(self.catalog, key.name));
        let need = MissingNeed::new(key.kind, key.name, since);
        Some(MissingNeed { is_unrequested: true, given_up, is_resend, ..need })
    }

    /// Returns when the newest other ADS stream of the authority of a name opened: a client
    /// requests again on each stream (docs/protocol.md#k-25).
    fn reopened(&self, name: Sym) -> Option<Time> {
        let name = self.catalog.text(name);
        let others = self.streams.iter().skip(1).filter(|stream| stream.is_aggregated());
        others.filter(|stream| has_authority_of(stream, name)).map(|stream| stream.opened).max()
    }

    /// Whether two names are spellings of one name.
    fn is_same_name(&self, name: Sym, other: Sym) -> bool {
        let first = |name: Sym| named(self.catalog, self.catalog.text(name)).unwrap_or(name);
        name == other || first(name) == first(other)
    }

    /// Returns the names under which a client may request a referenced name: in the spelling of the
    /// messages, and those of its alternatives (docs/protocol.md#k-29).
    fn names_of(&self, reference: Sym) -> Vec<Sym> {
        let text = self.catalog.text(reference);
        let client = self.streams.first().map(|stream| stream.client());
        let alternatives = client.map(|client| self.needs.alternatives_of(&client, text));
        let alternatives = alternatives.unwrap_or_default();
        let names = std::iter::once(text).chain(alternatives.iter().map(String::as_str));
        names.filter_map(|name| named(self.catalog, name)).collect()
    }

    /// Whether the client requests the resource, or may have done so since a batch.
    fn may_have_requested(&self, kind: Kind, name: Sym, batch: &WarmingBatch) -> bool {
        let needs_resend = self.needs_resend(kind, batch);
        self.tracks_of(kind).any(|track| {
            let entry = track.sent.get(self.catalog, name);
            let is_used = |entry: &ResourceEntry| {
                !track.is_ignored(self.catalog, name, entry)
                    && !self.gave_up_before(track, name, batch.seq)
                    && (!needs_resend || delivered_since(track, entry, batch.seq))
            };
            track.covers(self.catalog, name, entry.as_ref())
                || entry.as_ref().is_some_and(is_used)
                || track.aliases.contains_key(&name)
                || (!needs_resend && may_have_released(track, name, entry.is_some(), batch.seq))
        })
    }

    /// Whether the client gave up a resource that it had before message `n`, and has not requested
    /// it since.
    pub(crate) fn gave_up_before(&self, track: &Track, name: Sym, n: Seq) -> bool {
        let entry = track.sent.get(self.catalog, name);
        let released = &track.subscription.released;
        !track.covers(self.catalog, name, entry.as_ref())
            && released.has(name)
            && released.after(name, n).is_none()
    }

    /// Returns the newest request since a batch with which the client gave up a resource that it
    /// never had.
    fn given_up(&self, kind: Kind, name: Sym, batch: &WarmingBatch) -> Option<(Seq, Time)> {
        let never_had = |track: &&Track| track.sent.get(self.catalog, name).is_none();
        let tracks = self.tracks_of(kind).filter(never_had);
        tracks.filter_map(|track| track.subscription.released.after(name, batch.seq)).max()
    }
}

/// Whether the client may have given up a resource since message `n`, after it had it.
fn may_have_released(track: &Track, name: Sym, has_come: bool, n: Seq) -> bool {
    let released = &track.subscription.released;
    if has_come { released.may_have(name, n) } else { released.has_forgotten(n) }
}
