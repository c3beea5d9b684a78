//! Streams that go on where an earlier stream of the client ended.

use std::time::Duration;

use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Seq, Sym, Time, TypeUrl, Variant, VersionInfo};
use crate::wire::{Message, MessageBody};

use super::compare::key;
use super::divergence::Divergence;
use super::engine::{ClientHistory, Engine, MAX_EARLIER_STREAMS};
use super::names::{SymMap, SymSet};
use super::prior::Prior;
use super::resource_set::{Presence, ResourceEntry};
use super::responses::{Response, Status};
use super::stream::Stream;
use super::subscription::NameRequest;
use super::track::Track;
use super::visits;
use super::{Context, is_malformed};

/// Longest time between the ends of streams that end for one reason.
const MAX_JOINT_END: Duration = Duration::from_secs(1);

/// Whether a stream is open, or closed together with another one or later.
pub(super) fn is_beside(stream: &Stream, other: &Stream) -> bool {
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

    /// Returns what the client had of a type at the end of its newest earlier stream with the type,
    /// and records that this stream takes over. `message` is the first request for the type.
    pub(super) fn take_prior(
        &mut self,
        catalog: &Catalog,
        index: usize,
        (type_url, message): (&TypeUrl, &Message),
        at: Time,
    ) -> Option<Prior> {
        let stream = self.streams().get(index)?;
        let own = self.before(stream).find_map(|of| Some((of, of.find(type_url)?)));
        let prior = match (own, &message.body) {
            (Some((before, found)), _) => self.prior(catalog, before, found),
            (None, MessageBody::SotwRequest(request)) => {
                let other = self.at_other_server(stream, type_url, &request.version_info);
                // Refusals at one server say nothing about another one.
                other.and_then(|(before, found)| self.prior(catalog, before, found)).map(|prior| Prior {
                    nacks: None,
                    diverged: None,
                    ..prior
                })
            }
            _ => None,
        };
        self.take_over(index, type_url, at);
        prior
    }

    /// Whether the client has, or had, streams of the method to another server.
    pub(crate) fn has_other_server(&self, stream: &Stream) -> bool {
        let sessions = self.by_any_server.get(&ClientHistory::of(stream).of_any_server());
        sessions.is_some_and(|sessions| sessions.len() > 1)
    }

    /// Returns the newest closed stream of the client to another server, with its track of a type,
    /// if the client states the version that it had there: it goes on with those resources.
    fn at_other_server(
        &self,
        stream: &Stream,
        type_url: &TypeUrl,
        version: &VersionInfo,
    ) -> Option<(&Stream, &Track)> {
        if version.is_empty() {
            return None;
        }
        let sessions = self.by_any_server.get(&ClientHistory::of(stream).of_any_server())?;
        let others = sessions.iter().filter(|session| stream.session != Some(**session));
        let newest = others.filter_map(|session| {
            let ended = self.sessions.get(session)?.ended.iter().rev().take(MAX_EARLIER_STREAMS);
            let mut ended = ended.inspect(|_| visits::count());
            ended.find_map(|index| Some((index, self.streams.get(*index)?.find(type_url)?)))
        });
        let (newest, found) = newest.max_by_key(|(index, _)| **index)?;
        let other = self.streams.get(*newest)?;
        let newest = found.responses.last().map(|response| &response.version);
        let is_known = [found.stated_version(), newest].into_iter().flatten().any(|known| known == version);
        is_known.then_some((other, found))
    }

    /// Returns what the client had of a type at the end of a stream.
    fn prior(&self, catalog: &Catalog, before: &Stream, found: &Track) -> Option<Prior> {
        if found.accepted.count() == 0
            && (found.verdicts.has_unseen || found.carried.claimed_version.is_some())
        {
            // The client has resources from before the recording.
            return None;
        }
        let newest = found.responses.last();
        let is_delta = before.variant().is_some_and(Variant::is_delta);
        let (owed, owes_all) = found.owed_at_other_versions(catalog, is_delta);
        let nacks = before.closed.as_ref().and_then(|_| found.verdicts.at_end());
        let still_warms = before.closed.is_some() && !found.warming.is_empty();
        let before = self.index(before.id).filter(|_| still_warms);
        let is_accepted = |status| !matches!(status, Status::Nacked | Status::NackedByVersion);
        Some(Prior {
            accepted: found.accepted.clone(),
            sent: found.sent.clone(),
            deadlines: found.deadlines.clone(),
            ttls: found.ttls.clone(),
            accepted_version: found.stated_version().filter(|_| !found.partial).cloned(),
            newest_version: newest.filter(|of| is_accepted(of.status)).map(|of| of.version.clone()),
            has_all: found.subscribed.is_wildcard() && found.subscription.wildcard_owed.is_none(),
            owed,
            owes_all,
            nacks,
            waiting: found.missing_since(catalog),
            diverged: found.diverged.clone().filter(Divergence::has_lost_resources),
            ended: found.ended,
            batches: found.warming.clone(),
            warming: before.map_or_else(Vec::new, |at| self.warming_view(catalog, at).unfinished(found)),
        })
    }

    /// Records that a stream takes over a type from the newest earlier stream with the type, if
    /// that has ended.
    fn take_over(&mut self, index: usize, type_url: &TypeUrl, at: Time) {
        let Some(stream) = self.streams.get(index) else { return };
        let before = self.before(stream).find(|before| before.find(type_url).is_some());
        let before = before.filter(|before| before.closed.is_some()).map(|before| before.id);
        let Some(before) = before.and_then(|id| self.index(id)) else { return };
        let track = self.streams.get_mut(before).and_then(|before| before.find_mut(type_url));
        if let Some(track) = track {
            track.replaced.get_or_insert(at);
        }
    }
}

impl Track {
    /// Returns the resources of which the server owes another version than the client has, and
    /// whether it owes all resources of the type: SotW responses that the client has refused or not
    /// answered, whose version is not in force, and what an earlier stream owed already.
    fn owed_at_other_versions(&self, catalog: &Catalog, is_delta: bool) -> (SymSet, bool) {
        let is_owed_anew = |name: &Sym| self.is_owed_anew(*name, self.sent.get(catalog, *name).as_ref());
        let mut owed: SymSet = match self.carried.owes_newer {
            true => self.waiting.iter().map(|(name, _)| name).filter(is_owed_anew).collect(),
            false => SymSet::default(),
        };
        let mut owes_all = self.owes_all_anew();
        let in_force = self.version_in_force();
        let is_open = |of: &&Response| !is_delta && Some(&of.version) != in_force;
        for response in self.responses.pending().filter(is_open) {
            let Some(body) = &response.body else { continue };
            owes_all |= body.full;
            owed.extend(body.list.blobs().iter().map(|id| key(catalog, *id)));
        }
        if !is_delta {
            let refused = self.refused_since_ack();
            owes_all |= !refused.is_empty() && self.kind.is_some_and(Kind::full_state);
            owed.extend(refused);
        }
        (owed, owes_all)
    }

    /// Goes on with the warming of the resources that the client has kept from the stream before.
    pub(super) fn bring_warming(&mut self, ctx: &Context<'_>, prior: &Prior) {
        for batch in &prior.warming {
            let is_kept = |slot: ResourceEntry| slot.state == Presence::Kept && slot.blob.is_some();
            let names = batch.names().iter().copied();
            let names = names.filter(|name| self.sent.get(ctx.catalog, *name).is_some_and(is_kept)).collect();
            let since = if prior.is_continued(ctx) { batch.at } else { ctx.at };
            self.warming.go_on(batch, names, (&prior.batches, since));
        }
    }

    /// Returns the names that the server owes and that the client does not have in another version,
    /// with the times and requests with which the client began to wait.
    fn missing_since(&self, catalog: &Catalog) -> SymMap<(Time, Seq)> {
        let owed = self.waiting.iter().filter(|(_, request)| request.is_owed());
        let owed = owed.filter(|(name, _)| !self.sent.is_present(catalog, *name));
        owed.map(|(name, request)| (name, (request.since, request.began_with()))).collect()
    }

    /// Waits for the names of a first request. The wait for a name goes on from the stream before
    /// (docs/protocol.md#e-34).
    pub(super) fn wait_for_first(
        &mut self,
        ctx: &mut Context<'_>,
        names: Vec<Sym>,
        request: NameRequest,
        earlier: &SymMap<(Time, Seq)>,
    ) {
        let of = |name: &Sym| match earlier.get(name) {
            Some((since, n)) if *since < request.since => {
                NameRequest { since: *since, earlier: Some(*n), ..request }
            }
            _ => request,
        };
        let since = |name: &Sym| (of(name).since, of(name).began_with());
        let mut names = names;
        let mut malformed = Vec::new();
        if ctx.specials.structured {
            (malformed, names) = names.into_iter().partition(|name| is_malformed(ctx.catalog.text(*name)));
        }
        names.sort_by_key(since);
        match (names.first(), names.last()) {
            (Some(first), Some(last)) if since(first) == since(last) => {
                let request = of(first);
                self.waiting.add_all(names, request, ctx.runs);
            }
            _ => names.iter().for_each(|name| self.waiting.add(*name, of(name))),
        }
        malformed.iter().for_each(|name| self.wait_for(ctx, *name, of(name)));
    }
}
