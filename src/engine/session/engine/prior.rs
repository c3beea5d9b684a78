//! Streams that continue where an earlier stream of the client ended.

use std::time::Duration;

use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Nonce, Seq, StreamId, Sym, Time, TypeUrl, Variant, VersionInfo};
use xdscope_wire::{Message, MessageBody};

use super::visits;
use crate::session::Context;
use crate::session::content::compare::key;
use crate::session::content::names::{SymMap, SymSet};
use crate::session::content::resource_set::{Presence, ResourceEntry};
use crate::session::content::responses::Response;
use crate::session::engine::{Engine, MAX_EARLIER_STREAMS};
use crate::session::failing::StreamKey;
use crate::session::interventions::divergence::Divergence;
use crate::session::stream::Stream;
use crate::session::subscription::NameRequest;
use crate::session::track::EarlierRefusals;
use crate::session::track::Track;
use crate::session::track::prior::Prior;
use crate::session::warming::batches::WarmingBatch;
use xdscope_wire::xdstp::is_malformed;

/// Longest time between the ends of streams that end for one reason.
const MAX_JOINT_END: Duration = Duration::from_secs(1);

/// Whether a stream is open, or closed together with another one or later.
pub(crate) fn is_beside(stream: &Stream, other: &Stream) -> bool {
    let (Some((at, _)), Some((end, _))) = (&stream.closed, &other.closed) else {
        return stream.closed.is_none();
    };
    end.since(*at) <= MAX_JOINT_END
}

impl Engine {
    /// Returns the tracks of a type on streams of the session after a stream, the oldest first.
    pub(crate) fn later_tracks<'a>(
        &'a self,
        stream: &Stream,
        type_url: &'a TypeUrl,
    ) -> impl Iterator<Item = (&'a Stream, &'a Track)> {
        let index = self.index(stream.id).unwrap_or_default();
        let all = self.session_of(stream).map_or(&[][..], |session| &session.all);
        let place = all.partition_point(|other| *other <= index);
        let later = all.get(place..).unwrap_or_default().iter().inspect(|_| visits::count());
        let later = later.filter_map(|other| self.streams().get(*other));
        later.filter_map(|stream| Some((stream, stream.find(type_url)?)))
    }

    /// Returns the response of a type with a nonce on the newest earlier stream of the client, and
    /// the stream. A response without a type may be of any type.
    pub(crate) fn issued_before(
        &self,
        stream: &Stream,
        type_url: &TypeUrl,
        nonce: &Nonce,
    ) -> Option<(StreamId, Seq)> {
        let untyped = TypeUrl::default();
        let response = |earlier: &Stream| {
            [type_url, &untyped].into_iter().find_map(|of_type| {
                let responses = &earlier.find(of_type)?.responses;
                Some(responses.get(responses.find(nonce)?)?.seq)
            })
        };
        self.before(stream).find_map(|earlier| Some((earlier.id, response(earlier)?)))
    }

    /// Returns what the client had of a type at the end of its newest earlier stream with the type,
    /// and records that this stream takes over. `message` is the first request for the type.
    pub(crate) fn take_prior(
        &mut self,
        catalog: &Catalog,
        index: usize,
        type_url: &TypeUrl,
        message: &Message,
        at: Time,
    ) -> Option<Prior> {
        let stream = self.streams().get(index)?;
        let own = self.predecessor(catalog, stream, type_url, message);
        let predecessor = own.map(|(before, _)| before.id);
        let stated = match &message.body {
            MessageBody::SotwRequest(request) => request.version_info.clone(),
            _ => VersionInfo::default(),
        };
        let prior = if let Some((before, found)) = own {
            Some(self.prior(catalog, before, found, &stated))
        } else if let Some((before, found)) = self.at_other_server(stream, type_url, &stated) {
            let prior = self.prior(catalog, before, found, &stated);
            // Refusals at one server say nothing about another one.
            Some(Prior { nacks: None, diverged: None, refusals: EarlierRefusals::default(), ..prior })
        } else {
            None
        };
        self.take_over(index, type_url, predecessor, at);
        prior
    }

    /// Returns the earlier stream of the session, with its track of a type, that a stream
    /// continues with: a closed one that no other stream continues with, and that shares most
    /// names with the first request for the type; of several the newest.
    ///
    /// A client may have one stream for each resource (docs/protocol.md#e-49). A stream that
    /// opens while another with other names is open continues with none.
    fn predecessor(
        &self,
        catalog: &Catalog,
        stream: &Stream,
        type_url: &TypeUrl,
        message: &Message,
    ) -> Option<(&Stream, &Track)> {
        let names = RequestedNames::from_message(catalog, message);
        let mut newest = None;
        let mut best: Option<(usize, &Stream, &Track)> = None;
        for before in self.before(stream) {
            let Some(found) = before.find(type_url) else { continue };
            newest = newest.or(Some((before, found)));
            if before.closed.is_none() || found.lifetime.replaced.is_some() {
                continue;
            }
            let shared = names.shared_with(catalog, found);
            if best.is_none_or(|(most, ..)| shared > most) {
                best = Some((shared, before, found));
            }
            if shared == names.count() {
                break;
            }
        }
        let best = best.filter(|(shared, ..)| *shared > 0).map(|(_, before, found)| (before, found));
        best.or(
            newest.filter(|(before, found)| before.closed.is_some() || names.shared_with(catalog, found) > 0)
        )
    }

    /// Whether the client has, or had, streams of the method to another server.
    pub(crate) fn has_other_server(&self, stream: &Stream) -> bool {
        let sessions = self.by_any_server.get(&StreamKey::from_stream(stream).of_any_server());
        sessions.is_some_and(|sessions| sessions.len() > 1)
    }

    /// Returns the newest closed stream of the client to another server, with its track of a
    /// type, if the client states the version that it had there: it continues with those
    /// resources.
    fn at_other_server(
        &self,
        stream: &Stream,
        type_url: &TypeUrl,
        version: &VersionInfo,
    ) -> Option<(&Stream, &Track)> {
        if version.is_empty() {
            return None;
        }
        let sessions = self.by_any_server.get(&StreamKey::from_stream(stream).of_any_server())?;
        let others = sessions.iter().filter(|session| stream.chain.session != Some(**session));
        let newest = others.filter_map(|session| {
            let ended = self.sessions.get(session)?.ended.iter().rev().take(MAX_EARLIER_STREAMS);
            let mut ended = ended.inspect(|_| visits::count());
            ended.find_map(|index| Some((index, self.streams.get(*index)?.find(type_url)?)))
        });
        let (newest, found) = newest.max_by_key(|(index, _)| **index)?;
        let other = self.streams.get(*newest)?;
        let newest = found.responses.last().map(|response| &response.version);
        let is_known = [found.version_in_force(), newest].into_iter().flatten().any(|known| known == version);
        is_known.then_some((other, found))
    }

    /// Returns what the client had of a type at the end of a stream. `stated`: the version that the
    /// first SotW request of the next stream states.
    fn prior(&self, catalog: &Catalog, before: &Stream, found: &Track, stated: &VersionInfo) -> Prior {
        let is_delta = before.variant().is_some_and(Variant::is_delta);
        // A first delta request says all that the client has.
        let is_unknown = found.completeness.has_unseen_nonces && (!is_delta || found.completeness.has_lost);
        let accepted_version = if is_unknown { None } else { found.version_in_force().cloned() };
        let claims_refused = found.is_refused_version(catalog, stated);
        let nacks = before.closed.as_ref().and_then(|_| found.verdicts.at_end());
        let has_unseen = found.verdicts.has_unseen || found.carried.may_have_unseen();
        if has_unseen && found.accepted.count() == 0 {
            return Prior { has_unseen, claims_refused, accepted_version, nacks, ..Prior::default() };
        }
        let newest = found.responses.last();
        let (owed, owes_all) = found.owed_at_other_versions(catalog, is_delta);
        let still_warms = before.closed.is_some() && !found.warming.is_empty();
        let before = self.index(before.id).filter(|_| still_warms);
        Prior {
            has_unseen: false,
            claims_refused,
            accepted: found.accepted.clone(),
            applied: if is_delta { Vec::new() } else { found.refused.all_applied().collect() },
            sent: found.sent.clone(),
            ttl: found.ttl.clone(),
            unrequested: if is_delta { SymSet::default() } else { found.unrequested_resources(catalog) },
            refused: if is_delta { found.refused.names().collect() } else { SymSet::default() },
            refused_versions: if is_delta { found.refused_versions(catalog) } else { SymMap::default() },
            refusals: found.refusals_at_end(catalog),
            accepted_version,
            newest_version: newest
                .filter(|response| !response.is_refused())
                .map(|response| response.version.clone()),
            has_all: found.subscribed.is_wildcard() && found.subscription.wildcard_asked.is_none(),
            owed,
            claims: found.carried.claims.clone(),
            owes_all,
            nacks,
            waiting: found.missing_since(catalog),
            diverged: found.interventions.diverged.clone().filter(Divergence::has_lost_resources),
            ended: found.lifetime.ended,
            batches: found.warming.clone(),
            warming: before.map_or_else(Vec::new, |at| self.warming_view(catalog, at).unfinished(found)),
        }
    }

    /// Records that a stream takes over a type from an earlier one, if that has ended.
    fn take_over(&mut self, index: usize, type_url: &TypeUrl, before: Option<StreamId>, at: Time) {
        if let Some(stream) = self.streams.get_mut(index)
            && let Some(track) = stream.find_mut(type_url)
        {
            track.lifetime.predecessor = before;
        }
        if let Some(before) = before
            && let Some(index) = self.index(before)
            && let Some(stream) = self.streams.get_mut(index)
            && stream.closed.is_some()
            && let Some(track) = stream.find_mut(type_url)
        {
            track.lifetime.replaced.get_or_insert(at);
        }
    }
}

/// The names in the first request for a type.
struct RequestedNames<'a> {
    names: &'a [Sym],
    is_wildcard: bool,
}

impl RequestedNames<'_> {
    /// Reads the names of a SotW request, or those that a delta request subscribes to.
    fn from_message<'a>(catalog: &Catalog, message: &'a Message) -> RequestedNames<'a> {
        let names = match &message.body {
            MessageBody::SotwRequest(request) => &*request.resource_names,
            MessageBody::DeltaRequest(request) => &*request.subscribe,
            _ => &[],
        };
        let is_wildcard = names.is_empty() || names.iter().any(|name| catalog.text(*name) == "*");
        RequestedNames { names, is_wildcard }
    }

    fn count(&self) -> usize {
        self.names.len().max(1)
    }

    /// Returns how many of the names the client requested on a track; a wildcard counts as one.
    fn shared_with(&self, catalog: &Catalog, track: &Track) -> usize {
        let subscribed = &track.subscribed;
        let is_shared = |name: &&Sym| subscribed.names.contains(catalog.first_spelling(**name));
        let wildcard = usize::from(self.is_wildcard && subscribed.may_be_wildcard());
        self.names.iter().filter(is_shared).count() + wildcard
    }
}

impl Track {
    /// Whether the client has refused a version, and has not accepted it on this stream or before.
    fn is_refused_version(&self, catalog: &Catalog, version: &VersionInfo) -> bool {
        if version.is_empty() || self.version_in_force() == Some(version) {
            return false;
        }
        let was_refused =
            self.carried.refused.is_some_and(|refused| catalog.text(refused) == version.as_str())
                || self.carried.refusals.has_version(version.as_str());
        match self.responses.newest_with_version(version.as_str()) {
            Some(newest) => newest.is_refused(),
            None => was_refused,
        }
    }

    /// Delta: returns the versions of resources that the client has refused and does not use.
    fn refused_versions(&self, catalog: &Catalog) -> SymMap<Sym> {
        let mut versions = SymMap::default();
        for name in self.refused.names() {
            if let Some(refusal) = self.refused.get(name)
                && refusal.is_unused()
            {
                versions.insert(name, refusal.version);
            }
        }
        for name in self.carried.refusals.names() {
            if let Some(earlier) = self.refused_before(name) {
                versions.insert(name, earlier.refusal.version);
            }
        }
        if self.carried.has_refused_claims {
            for (name, entry) in self.sent.entries(catalog) {
                let accepted = self.accepted.get(catalog, name).filter(ResourceEntry::is_present);
                let is_used = accepted.is_some_and(|accepted| accepted.version == entry.version);
                if entry.state == Presence::Kept && !is_used {
                    versions.insert(name, entry.version);
                }
            }
        }
        versions
    }

    /// Returns the resources of which the server owes another version than the client has, and
    /// whether it owes all resources of the type: SotW responses that the client has refused or not
    /// answered, whose version is not in force, and what an earlier stream owed already.
    fn owed_at_other_versions(&self, catalog: &Catalog, is_delta: bool) -> (SymSet, bool) {
        let owes_newer_version =
            |name: &Sym| self.owes_newer_version(*name, self.sent.get(catalog, *name).as_ref());
        let mut owed: SymSet = match self.carried.owes_newer {
            true => self.waiting.iter().map(|(name, _)| name).filter(owes_newer_version).collect(),
            false => SymSet::default(),
        };
        let mut owes_all = self.owes_all_newer();
        let in_force = self.version_in_force();
        let is_open = |response: &&Response| !is_delta && Some(&response.version) != in_force;
        for response in self.responses.pending().filter(is_open) {
            let Some(body) = &response.body else { continue };
            owes_all |= body.full;
            owed.extend(body.list.blobs().iter().map(|id| key(catalog, *id)));
        }
        if !is_delta {
            let refused = self.refused_since_ack();
            owes_all |= !refused.is_empty() && self.is_of_full_state();
            owed.extend(refused);
        }
        (owed, owes_all)
    }

    /// Returns the resources that the client may have, and that it does not request.
    fn unrequested_resources(&self, catalog: &Catalog) -> SymSet {
        if self.subscribed.may_be_wildcard() || !self.completeness.names_known {
            return SymSet::default();
        }
        let entries = self.accepted.entries(catalog).into_iter().chain(self.sent.entries(catalog));
        let is_unrequested = |(name, entry): &(Sym, ResourceEntry)| !self.covers(catalog, *name, Some(entry));
        entries.filter(is_unrequested).map(|(name, _)| name).collect()
    }

    /// Continues the warming of the resources that the client has kept from the stream before.
    pub(crate) fn bring_warming(&mut self, ctx: &Context<'_>, prior: &Prior) {
        for batch in &prior.warming {
            let is_kept = |entry: ResourceEntry| entry.state == Presence::Kept && entry.blob.is_some();
            let names = batch.names().iter().copied();
            let names = names.filter(|name| self.sent.get(ctx.catalog, *name).is_some_and(is_kept)).collect();
            let at = if prior.is_continued(ctx) { batch.at } else { ctx.at };
            self.warming.continue_batch(WarmingBatch { at, names, from: 0, ..*batch }, &prior.batches);
        }
    }

    /// Returns the names that the server owes and that the client does not have in another version,
    /// with the times and requests with which the client began to wait.
    fn missing_since(&self, catalog: &Catalog) -> SymMap<(Time, Seq)> {
        let owed = self.waiting.owed();
        let owed = owed.filter(|(name, _)| !self.sent.is_present(catalog, *name));
        owed.map(|(name, request)| (name, (request.since, request.began_with()))).collect()
    }

    /// Waits for the names of a first request. The wait for a name continues from the stream
    /// before (docs/protocol.md#e-34).
    pub(crate) fn wait_for_first(
        &mut self,
        ctx: &mut Context<'_>,
        names: Vec<Sym>,
        request: NameRequest,
        earlier: &SymMap<(Time, Seq)>,
    ) {
        let request_for = |name: &Sym| match earlier.get(name) {
            Some((since, n)) if *since < request.since => {
                NameRequest { since: *since, earlier: Some(*n), ..request }
            }
            _ => request,
        };
        let since = |name: &Sym| (request_for(name).since, request_for(name).began_with());
        let mut names = names;
        let mut malformed = Vec::new();
        if ctx.specials.structured {
            (malformed, names) = names.into_iter().partition(|name| is_malformed(ctx.catalog.text(*name)));
        }
        names.sort_by_key(since);
        match (names.first(), names.last()) {
            (Some(first), Some(last)) if since(first) == since(last) => {
                let request = request_for(first);
                self.waiting.add_all(names, request, ctx.runs);
            }
            _ => names.iter().for_each(|name| self.waiting.add(*name, request_for(name))),
        }
        malformed.iter().for_each(|name| self.wait_for(ctx, *name, request_for(name)));
    }
}
