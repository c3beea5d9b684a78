//! An xDS client as a state machine, for the four streaming variants and REST polls.
//!
//! Pure: no clock, no sockets, no async. The owner reports events (`handle_*`, with the time),
//! carries out each [`Effect`], and calls [`handle_timeout`](Client::handle_timeout) at
//! [`due`](Client::due).
//!
//! ```text
//!   commands ─▶ ┌────────┐ ─▶ Open  a stream (a Lane)
//!   opened   ─▶ │ Client │ ─▶ Send  a DiscoveryRequest or DeltaDiscoveryRequest
//!   response ─▶ │        │ ─▶ Close
//!   ended    ─▶ └────────┘    due(): wait until
//! ```
//!
//! The state is what the next request needs: per type the wanted names, the accepted version, the
//! nonce answered last, and the versions of the resources. Recording and judging the traffic is
//! left to the store and the rules, which see frames as from any other client.
//!
//! - A [`Lane`] is one stream at a time of one server: the aggregated stream, or the stream of one
//!   type. It ends, backs off and is reopened. Nonces and the requested names end with the stream;
//!   versions and subscriptions do not (docs/protocol.md#e-02, docs/protocol.md#f-15).
//! - A track is one type on its lane. In SotW each request has all wanted names; in delta only the
//!   changes.
//! - Responses wait for their verdict in a queue and are answered in order, once
//!   (docs/protocol.md#e-04). While one waits, SotW subscription changes are merged into its answer
//!   (docs/protocol.md#e-27).
//! - A response that a [`Preview`] finds [`Trivial`] may be accepted before its content is stored
//!   ([`Client::accept`]).
//! - Over REST a lane has no stream: its type is polled, one request at a time, and verdicts and
//!   subscription changes are part of the next poll. It follows at once if it has news, else after
//!   a delay.
//! - With [`Config::links`], accepted resources are searched for references, and the referenced
//!   resources are subscribed to while something refers to them (docs/protocol.md#a-15).
//! - With [`Config::structured`], redirects and list members are followed too, and the authority of
//!   a name selects its server (docs/protocol.md#k-24). Each server gets its own [`ServerProfile`].

mod backoff;
mod check;
mod config;
mod encode;
mod memory;
mod poll;
mod preview;
mod raw;
mod references;
mod resource_places;
mod structured;
#[cfg(test)]
mod tests;
mod track;

pub use check::{Ruling, check, validated};
pub use config::{Config, NoStream, Refused, ServerProfile, Unrequested};
pub use preview::{Preview, Trivial};
pub use raw::RawRequest;
pub use xdscope_engine::lint::Links;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use xdscope_schema::bootstrap::FallbackServer;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Kind, Method, Nonce, Sym, Time, TypeUrl, Variant, is_asked_once};
use xdscope_wire::{Message, Open};

use backoff::Backoff;
use encode::Request;
use poll::Poll;
use references::{Finder, References, is_pattern};
use track::{Changes, Pending, Track};
pub use xdscope_wire::xdstp::BadName;
use xdscope_wire::xdstp::StructuredName;

/// A stream that is reopened when it ends. Lanes are numbered from 0 in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub u32);

/// Consecutive failed attempts after which a server counts as unreachable (docs/protocol.md#k-29).
const UNREACHABLE_ATTEMPTS: u32 = 2;

/// An action for the owner of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Connect to a server, one of [`Config::authorities`] or 0, and open a stream at this gRPC
    /// path.
    ///
    /// Over REST: get ready to post to the path. Then call [`Client::handle_opened`] or
    /// [`Client::handle_ended`].
    Open {
        /// The lane.
        lane: Lane,
        /// Number of the server.
        server: u32,
        /// The gRPC path.
        path: String,
    },
    /// Send a message on the lane's stream; over REST as the lane's only outstanding poll.
    Send {
        /// The lane.
        lane: Lane,
        /// The encoded message.
        bytes: Vec<u8>,
    },
    /// End the lane's stream.
    Close {
        /// The lane.
        lane: Lane,
    },
}

/// A type at a server. Versions of different servers are unrelated (docs/protocol.md#e-17).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TrackKey {
    url: TypeUrl,
    server: u32,
}

/// The state of a lane's stream.
#[derive(Clone, Debug)]
enum Life {
    /// To be opened at this time.
    Waiting(Time),
    Opening,
    /// Open; the node was sent or not (docs/protocol.md#e-05).
    Open {
        greeted: bool,
    },
}

#[derive(Debug)]
struct LaneState {
    server: u32,
    path: String,
    life: Life,
    backoff: Backoff,
}

/// An xDS client, see the [module](self).
pub struct Client {
    config: Config,
    lanes: Vec<LaneState>,
    tracks: BTreeMap<TrackKey, Track>,
    references: References,
    /// Names to use in place of a name while its source is unreachable (docs/protocol.md#k-29).
    alternatives: BTreeMap<(TypeUrl, Sym), Vec<StructuredName>>,
    /// Referenced names that are not requested.
    unmapped: BTreeMap<(TypeUrl, Sym), Unrequested>,
    effects: VecDeque<Effect>,
}

impl Client {
    /// Creates a client without subscriptions.
    pub fn new(config: Config) -> Client {
        Client {
            config,
            lanes: Vec::new(),
            tracks: BTreeMap::new(),
            references: References::default(),
            alternatives: BTreeMap::new(),
            unmapped: BTreeMap::new(),
            effects: VecDeque::new(),
        }
    }

    /// Removes and returns the pending actions, in order.
    pub fn effects(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.effects.drain(..)
    }

    /// Returns the time of the next [`handle_timeout`](Client::handle_timeout).
    pub fn due(&self) -> Option<Time> {
        let lanes = self.lanes.iter().filter_map(|lane| match lane.life {
            Life::Waiting(until) => Some(until),
            _ => None,
        });
        lanes.chain(self.tracks.values().filter_map(Track::due)).min()
    }

    /// Returns the failed attempts of a lane since its last response, and the time of the next
    /// attempt.
    pub fn retry(&self, lane: Lane) -> Option<(u32, Time)> {
        let lane = self.lanes.get(lane.0 as usize)?;
        match lane.life {
            Life::Waiting(until) => Some((lane.backoff.attempts(), until)),
            _ => None,
        }
    }

    /// Subscribes to names of a type.
    ///
    /// # Errors
    ///
    /// If the variant has no stream for the type, or a structured name is malformed or has no
    /// source. The other names are subscribed to.
    pub fn subscribe(
        &mut self,
        now: Time,
        url: &TypeUrl,
        names: &[Sym],
        catalog: &mut Catalog,
    ) -> Result<(), Refused> {
        let (mut result, mut keys) = (Ok(()), BTreeSet::new());
        if names.is_empty() {
            let key = TrackKey { url: url.clone(), server: self.config.plain(url) };
            self.track(now, &key)?;
            keys.insert(key);
        }
        for name in names {
            match self.place(url, *name, catalog) {
                Ok((server, name)) => {
                    let key = TrackKey { url: url.clone(), server };
                    self.track(now, &key)?.asked.insert(name);
                    keys.insert(key);
                }
                Err(refused) => result = Err(refused),
            }
        }
        keys.iter().for_each(|key| self.settle(key, catalog));
        result
    }

    /// Unsubscribes from names of a type. Unknown names are ignored (docs/protocol.md#f-24).
    pub fn unsubscribe(&mut self, now: Time, url: &TypeUrl, names: &[Sym], catalog: &mut Catalog) {
        let placed: Vec<_> = names.iter().filter_map(|name| self.place(url, *name, catalog).ok()).collect();
        for key in self.keys_of(url) {
            let Some(track) = self.tracks.get_mut(&key) else { continue };
            for (_, name) in placed.iter().filter(|(server, _)| *server == key.server) {
                track.asked.remove(name);
            }
            let gone = track.unwanted();
            self.settle(&key, catalog);
            self.follow(now, url, Changes { gone, ..Changes::default() }, catalog);
        }
    }

    /// Starts or ends the wildcard subscription of a type (docs/protocol.md#e-38,
    /// docs/protocol.md#f-20).
    ///
    /// # Errors
    ///
    /// If the variant has no stream for the type.
    pub fn wildcard(
        &mut self,
        now: Time,
        url: &TypeUrl,
        wanted: bool,
        catalog: &mut Catalog,
    ) -> Result<(), Refused> {
        let key = TrackKey { url: url.clone(), server: self.config.plain(url) };
        let track = self.track(now, &key)?;
        track.wildcard = wanted;
        let gone = track.unwanted();
        self.settle(&key, catalog);
        self.follow(now, url, Changes { gone, ..Changes::default() }, catalog);
        Ok(())
    }

    /// Returns the tracks of a type, one for each of its servers.
    fn keys_of(&self, url: &TypeUrl) -> Vec<TrackKey> {
        let from = TrackKey { url: url.clone(), server: 0 };
        self.tracks.range(from..).map(|(key, _)| key).take_while(|key| key.url == *url).cloned().collect()
    }

    /// Reports that the lane's stream is open. Every type on it subscribes again.
    pub fn handle_opened(&mut self, lane: Lane, catalog: &Catalog) {
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.life = Life::Open { greeted: false };
        }
        for key in self.keys_on(lane) {
            self.settle(&key, catalog);
        }
    }

    /// Reports that the lane's stream ended or failed to open. It is reopened after a back-off.
    ///
    /// Names with alternatives switch to these once the next attempt has failed too
    /// (docs/protocol.md#k-29).
    pub fn handle_ended(&mut self, now: Time, lane: Lane, catalog: &mut Catalog) {
        for key in self.keys_on(lane) {
            match self.tracks.get_mut(&key) {
                Some(track) if track.profile.variant == Variant::Rest => track.poll = Poll::Idle,
                Some(track) => track.stream_ended(),
                None => {}
            }
        }
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        state.life = Life::Waiting(now.after(state.backoff.next()));
        if state.backoff.attempts() >= UNREACHABLE_ATTEMPTS {
            self.stand_in(now, lane, true, catalog);
        }
    }

    /// Ends all streams and reopens them at once.
    pub fn reconnect(&mut self, now: Time, catalog: &mut Catalog) {
        for index in 0..self.lanes.len() {
            let lane = Lane(index as u32);
            if matches!(self.lanes[index].life, Life::Open { .. } | Life::Opening) {
                self.effects.push_back(Effect::Close { lane });
            }
            self.handle_ended(now, lane, catalog);
            self.lanes[index].backoff.reset();
            self.lanes[index].life = Life::Waiting(now);
        }
        self.open_due(now);
    }

    /// Whether [`accept`](Client::accept) may have an effect.
    ///
    /// Not if references are followed, because new subscriptions precede the ACK, and not if ACKs
    /// are delayed.
    pub fn may_accept(&self) -> bool {
        self.config.links.is_none() && !self.config.structured && self.config.ack_delay.is_zero()
    }

    /// Accepts a trivial response: the ACK is sent before the content is stored.
    ///
    /// The owner must call [`handle_response`](Client::handle_response) for the response next.
    /// Returns false if the ACK has to wait until then.
    pub fn accept(&mut self, lane: Lane, plain: &Trivial, catalog: &Catalog) -> bool {
        let Some(server) = self.lanes.get(lane.0 as usize).map(|lane| lane.server) else { return false };
        let key = TrackKey { url: plain.type_url.clone(), server };
        let of_lane = |track: &&mut Track| track.lane == lane && track.profile.variant != Variant::Rest;
        let Some(track) = self.tracks.get_mut(&key).filter(of_lane) else { return false };
        if !track.pending.is_empty() || is_asked_once(&key.url) {
            return false;
        }
        let request = track.accept(plain);
        self.send(lane, &key.url, request, catalog);
        true
    }

    /// Reports a response on the lane's stream.
    ///
    /// An undecodable response, or one of a type without a subscription, is not answered
    /// (docs/protocol.md#i-01).
    pub fn handle_response(
        &mut self,
        now: Time,
        lane: Lane,
        message: Arc<Message>,
        ruling: Ruling,
        catalog: &mut Catalog,
    ) {
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        let was_away = state.backoff.attempts() > 0;
        state.backoff.reset();
        if was_away {
            self.stand_in(now, lane, false, catalog);
        }
        self.polled(now, lane, false);
        let Some(response) = message.response() else { return };
        let (version, nonce) = (response.version.clone(), response.nonce.clone());
        let Some(key) = self.key_of(lane, &message) else { return };
        let Some(track) = self.tracks.get_mut(&key) else { return };
        let wait = self.config.ack_delay.max(track.extra_delay(&message, &ruling));
        track.pending.push_back(Pending { message, version, nonce, ruling, due: now.after(wait) });
        self.answer(now, &key, catalog);
    }

    /// Decides on a held response ([`Ruling::Hold`]): the one with this nonce, or the newest of the
    /// type.
    pub fn rule(
        &mut self,
        now: Time,
        url: &TypeUrl,
        nonce: Option<&Nonce>,
        ruling: Ruling,
        catalog: &mut Catalog,
    ) {
        for key in self.keys_of(url) {
            let Some(track) = self.tracks.get_mut(&key) else { continue };
            let held = track.pending.iter_mut().rev().find(|pending| {
                matches!(pending.ruling, Ruling::Hold) && nonce.is_none_or(|nonce| *nonce == pending.nonce)
            });
            if let Some(held) = held {
                held.ruling = ruling.clone();
            }
            self.answer(now, &key, catalog);
        }
    }

    /// Does everything that is due: ACKs and NACKs, expired resources (docs/protocol.md#g-02),
    /// streams to reopen.
    pub fn handle_timeout(&mut self, now: Time, catalog: &mut Catalog) {
        let keys: Vec<TrackKey> = self.tracks.keys().cloned().collect();
        for key in keys {
            if let Some(track) = self.tracks.get_mut(&key) {
                track.expire(now);
            }
            self.answer(now, &key, catalog);
            self.poll_due(now, &key, catalog);
        }
        self.open_due(now);
    }

    /// Returns the types without a response, and the names that are still missing.
    ///
    /// A resource that a server reported as not existing is not missing.
    pub fn unanswered(&self) -> Vec<(TypeUrl, Option<Sym>)> {
        let mut out = Vec::new();
        for (TrackKey { url, .. }, track) in &self.tracks {
            // The first response answers a query, and waits for a verdict that never comes.
            if is_asked_once(url) && !track.pending.is_empty() {
                continue;
            }
            if (track.is_wildcard() && !track.answered) || !track.pending.is_empty() {
                out.push((url.clone(), None));
            }
            out.extend(track.missing().into_iter().map(|name| (url.clone(), Some(name))));
        }
        out
    }

    /// Returns referenced names that are not requested, with the reason.
    pub fn unmapped(&self) -> impl Iterator<Item = (Sym, &Unrequested)> + '_ {
        self.unmapped.iter().map(|((_, name), cause)| (*name, cause))
    }

    /// Returns facts of the client as metadata for its streams, which rules read
    /// (docs/protocol.md#k-24).
    pub fn facts(&self) -> Vec<(String, String)> {
        let Config { structured, authorities, others, links, .. } = &self.config;
        if !structured || *others != FallbackServer::Nobody {
            return Vec::new();
        }
        let mapped = authorities.keys().cloned().collect::<Vec<_>>().join(",");
        let mut facts = vec![(Open::AUTHORITIES.to_owned(), mapped)];
        if links.is_some() {
            facts.push((Open::FOLLOWS.to_owned(), "references".to_owned()));
        }
        facts
    }

    /// Whether every lane has an open stream.
    pub fn is_open(&self) -> bool {
        self.lanes.iter().all(|lane| matches!(lane.life, Life::Open { .. }))
    }

    /// Returns the tracks on a lane.
    fn keys_on(&self, lane: Lane) -> Vec<TrackKey> {
        let tracks = self.tracks.iter().filter(|(_, track)| track.lane == lane);
        // Root types first, in Envoy's order: clusters, then listeners.
        let mut keys: Vec<TrackKey> = tracks.map(|(key, _)| key.clone()).collect();
        keys.sort_by_key(|key| match Kind::of_type_url(key.url.as_str()) {
            Some((Kind::Cds, _)) => 0,
            Some((Kind::Eds, _)) => 1,
            Some((Kind::Lds, _)) => 2,
            _ => 3,
        });
        keys
    }

    /// Returns the track of a response. A message without a type has the stream's type
    /// (docs/protocol.md#i-02).
    fn key_of(&self, lane: Lane, message: &Message) -> Option<TrackKey> {
        let url = message.type_url();
        let server = self.lanes.get(lane.0 as usize)?.server;
        if !url.is_empty() {
            let key = TrackKey { url, server };
            return if self.tracks.get(&key)?.lane == lane { Some(key) } else { None };
        }
        let aggregated = self.config.profile_of(server).variant.is_aggregated();
        if aggregated { None } else { self.keys_on(lane).into_iter().next() }
    }

    /// Returns the track of a type, and creates its lane if necessary.
    fn track(&mut self, now: Time, key: &TrackKey) -> Result<&mut Track, NoStream> {
        let TrackKey { url, server } = key;
        if !self.tracks.contains_key(key) {
            let (transport, profile) = (self.config.transport, self.config.profile_of(*server));
            let variant = profile.variant;
            let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
            let delta_only = matches!(kind, Some(Kind::Vhds | Kind::Leds)) && !variant.is_delta();
            let path = if delta_only { None } else { Method::path(variant, kind, transport) };
            let path = path.ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })?;
            let known = self.lanes.iter().position(|lane| lane.path == path && lane.server == *server);
            let index = known.unwrap_or_else(|| {
                let seed = self.config.seed.wrapping_add(self.lanes.len() as u64);
                let backoff = Backoff::new(seed);
                self.lanes.push(LaneState { server: *server, path, life: Life::Waiting(now), backoff });
                self.lanes.len() - 1
            });
            let full_state = kind.is_some_and(Kind::full_state);
            let mut track = Track::new(Lane(index as u32), profile, full_state && !variant.is_delta());
            track.on_demand = kind == Some(Kind::Vhds);
            self.tracks.insert(key.clone(), track);
            self.open_due(now);
        }
        let (variant, transport) = (self.config.profile_of(*server).variant, self.config.transport);
        self.tracks.get_mut(key).ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })
    }

    /// Opens the lanes whose waiting time has passed.
    fn open_due(&mut self, now: Time) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if matches!(lane.life, Life::Waiting(until) if until <= now) {
                lane.life = Life::Opening;
                let (server, path) = (lane.server, lane.path.clone());
                self.effects.push_back(Effect::Open { lane: Lane(index as u32), server, path });
            }
        }
    }

    /// Answers the responses of a type that are due, in order.
    fn answer(&mut self, now: Time, key: &TrackKey, catalog: &mut Catalog) {
        while let Some(track) = self.tracks.get_mut(key) {
            let Some(pending) = track.take_due(now) else { return };
            let error = match &pending.ruling {
                Ruling::Refuse(error) => Some(error.clone()),
                _ => None,
            };
            let accepted = error.is_none();
            let lane = track.lane;
            let changes = track.settle_response(now, &pending, catalog);
            if accepted {
                self.follow(now, &key.url, changes, catalog);
            }
            let Some(track) = self.tracks.get_mut(key) else { return };
            if track.ahead.take_if(|nonce| *nonce == pending.nonce).is_some() {
                continue;
            }
            if track.profile.variant == Variant::Rest {
                track.note_verdict(pending.nonce, error);
                self.poll_after_verdict(now, key, &pending.message, catalog);
                continue;
            }
            // Without a nonce, a server could not match the NACK to its response
            // (docs/protocol.md#e-21).
            if error.is_some() && pending.nonce.is_empty() {
                self.settle(key, catalog);
                continue;
            }
            let request = track.verdict(pending.nonce, error);
            self.send(lane, &key.url, request, catalog);
        }
    }

    /// Subscribes to resources that accepted resources refer to, before the ACK as Envoy does.
    ///
    /// Unsubscribes from resources that nothing refers to any more, and from the resources that
    /// they refer to.
    fn follow(&mut self, now: Time, url: &TypeUrl, changes: Changes, catalog: &mut Catalog) {
        let finder = Finder { links: self.config.links.clone(), structured: self.config.structured };
        if finder.links.is_none() && !finder.structured {
            return;
        }
        let Some((kind, version)) = Kind::of_type_url(url.as_str()) else { return };
        let mut open = vec![(kind, changes)];
        while let Some((kind, changes)) = open.pop() {
            let updated = self.references.update(kind, changes, &finder, catalog);
            for wish in updated.structured_names {
                let (url, name) = (wish.type_url.clone(), catalog.intern(&wish.name));
                self.keep_alternatives(&url, name, wish);
            }
            for (child, wanted) in updated.names {
                let Some(child_url) = child.type_url(version) else { continue };
                for (server, mut wanted) in self.by_server(&child_url, wanted, catalog) {
                    let key = TrackKey { url: child_url.clone(), server };
                    // The variant has no stream for the type.
                    let Ok(track) = self.track(now, &key) else { continue };
                    // The server selects the members of a wildcard, which has no structured names.
                    let named =
                        |name: &Sym| finder.structured && structured::is_structured_name(catalog.text(*name));
                    let names = wanted.len();
                    wanted.retain(|name| !is_pattern(child, catalog.text(*name)));
                    track.referred_wildcard = wanted.len() < names;
                    let wildcard = track.is_wildcard();
                    track.referred = wanted.into_iter().filter(|name| !wildcard || named(name)).collect();
                    let gone = track.unwanted();
                    open.push((child, Changes { gone, ..Changes::default() }));
                    self.settle(&key, catalog);
                }
            }
        }
    }

    /// Sends the subscription changes of a type, unless a later message will carry them.
    fn settle(&mut self, key: &TrackKey, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        let lane = track.lane;
        let open = self.lanes.get(lane.0 as usize).is_some_and(|lane| matches!(lane.life, Life::Open { .. }));
        if !open {
            return;
        }
        if track.profile.variant == Variant::Rest {
            return self.settle_poll(key, catalog);
        }
        for request in track.changes() {
            self.send(lane, &key.url, request, catalog);
        }
    }

    /// Sends a request; the first one of a stream has the node.
    fn send(&mut self, lane: Lane, url: &TypeUrl, request: Request, catalog: &Catalog) {
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        let Life::Open { greeted } = &mut state.life else { return };
        // Each poll is complete in itself.
        let variant = self.config.profile_of(state.server).variant;
        let tells = variant == Variant::Rest || !std::mem::replace(greeted, true);
        let node = tells.then_some(&self.config.node[..]);
        let bytes = request.encode(variant.is_delta(), url, node, catalog);
        self.effects.push_back(Effect::Send { lane, bytes });
    }
}
