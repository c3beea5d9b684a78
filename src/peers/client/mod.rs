//! An xDS client as a state machine: what is sent when, in the four streaming variants and in REST polls.
//!
//! Pure: no clock, no sockets, no async. Whoever owns it tells it what happened (`handle_*`, with the time), does
//! what its [`Effect`]s say, and calls [`handle_timeout`](Client::handle_timeout) at [`due`](Client::due).
//!
//! ```text
//!   commands ─▶ ┌────────┐ ─▶ Open  a stream (a Lane)
//!   opened   ─▶ │ Client │ ─▶ Send  a DiscoveryRequest or DeltaDiscoveryRequest
//!   response ─▶ │        │ ─▶ Close
//!   ended    ─▶ └────────┘    due(): wait until
//! ```
//!
//! It holds only what the next request is made of: per type the names wanted, the version accepted, the nonce
//! last answered, the versions of the resources held. What the peers said to each other, and whether it was right,
//! is not its business: what it sends and gets passes as frames through the store and the rules like the traffic
//! of any other client.
//!
//! * A [`Lane`] is one stream at a time: the aggregated one, or one for each type, of one server. It ends, backs off
//!   and is opened again; nonces and what was sent die with the stream, versions and wishes do not (rows E-02, E-11, F-15, F-18).
//! * A track is one type on its lane. In SotW each request names all that is wanted; in delta only what changed.
//! * A response waits for its ruling in a queue and is answered in order, once (rows E-04, F-36). While one waits,
//!   SotW changes of interest are folded into its answer (row E-27).
//! * A response that a [`Preview`] finds [`Plain`] may be accepted before its content is taken in ([`Client::accept`]).
//! * Over REST (group D) a lane has no stream: its type is polled, one request at a time, and verdict and changes of
//!   interest ride on the next poll. That comes at once where it has something new to say, else after a delay.
//! * With [`Config::links`] accepted resources are searched for references, and what they refer to is subscribed to
//!   for as long as something refers to it (row A-15).
//! * With [`Config::structured`] so are redirects and members of lists, and a name's authority picks its server
//!   (rows K-13, K-24, K-27). Each server is asked in its own [`Manner`] (row K-25).

mod backoff;
mod check;
mod config;
mod encode;
mod poll;
mod preview;
mod references;
mod resource_places;
mod structured;
#[cfg(test)]
mod tests;
mod track;

pub use crate::engine::lint::Links;
pub use check::{Ruling, check, validated};
pub use config::{Config, FallbackServer, NoStream, Refused, ServerProfile};
pub use preview::{Preview, Trivial};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::wire::content::Catalog;
use crate::wire::event::{Kind, Method, Nonce, Sym, Time, TypeUrl, Variant};
use crate::wire::{Message, Open};

use backoff::Backoff;
use encode::Request;
use poll::Poll;
use references::{Finder, References};
use structured::StructuredName;
pub use structured::{BadName, asked};
use track::{Changes, Pending, Track};

/// One stream at a time, reopened when it ends. Numbered from 0 in the order in which they were needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub u32);

/// Tries in vain in a row that make a server unreachable (row K-29).
const UNREACHABLE: u32 = 2;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Connect to this server, one of [`Config::authorities`] or 0, and open a stream at this gRPC path (over REST: be
    /// ready to post to it); then [`Client::handle_opened`] or [`Client::handle_ended`].
    Open { lane: Lane, server: u32, path: String },
    /// Send this message on the lane's open stream; over REST, as the lane's one outstanding poll.
    Send { lane: Lane, bytes: Vec<u8> },
    /// End the lane's stream.
    Close { lane: Lane },
}

/// A type at a server: versions of two servers have nothing to do with each other (row E-17).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    url: TypeUrl,
    server: u32,
}

/// A stream's life.
#[derive(Clone, Debug)]
enum Life {
    /// To be opened then.
    Waiting(Time),
    Opening,
    /// The node has been sent (row E-05).
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

/// The client.
pub struct Client {
    config: Config,
    lanes: Vec<LaneState>,
    tracks: BTreeMap<Key, Track>,
    references: References,
    /// What stands in for a name while its source is unreachable (row K-29).
    alternatives: BTreeMap<(TypeUrl, Sym), Vec<StructuredName>>,
    /// Names that resources refer to and no server answers for (row K-24).
    unmapped: BTreeSet<(TypeUrl, Sym)>,
    effects: VecDeque<Effect>,
}

impl Client {
    pub fn new(config: Config) -> Client {
        Client {
            config,
            lanes: Vec::new(),
            tracks: BTreeMap::new(),
            references: References::default(),
            alternatives: BTreeMap::new(),
            unmapped: BTreeSet::new(),
            effects: VecDeque::new(),
        }
    }

    /// What is to be done, in order.
    pub fn effects(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.effects.drain(..)
    }

    /// When [`handle_timeout`](Client::handle_timeout) has something to do.
    pub fn due(&self) -> Option<Time> {
        let lanes = self.lanes.iter().filter_map(|lane| match lane.life {
            Life::Waiting(until) => Some(until),
            _ => None,
        });
        lanes.chain(self.tracks.values().filter_map(Track::due)).min()
    }

    /// How often a lane was tried in vain since the last response on it, and when it is tried again.
    pub fn retry(&self, lane: Lane) -> Option<(u32, Time)> {
        let lane = self.lanes.get(lane.0 as usize)?;
        match lane.life {
            Life::Waiting(until) => Some((lane.backoff.attempts(), until)),
            _ => None,
        }
    }

    /// Wants these names of a type too.
    ///
    /// # Errors
    /// The variant has no stream for the type; a structured name is none, or has no source. The others are asked for.
    pub fn subscribe(
        &mut self,
        now: Time,
        url: &TypeUrl,
        names: &[Sym],
        catalog: &mut Catalog,
    ) -> Result<(), Refused> {
        let (mut result, mut keys) = (Ok(()), BTreeSet::new());
        if names.is_empty() {
            let key = Key { url: url.clone(), server: self.config.plain(url) };
            self.track(now, &key)?;
            keys.insert(key);
        }
        for name in names {
            match self.place(url, *name, catalog) {
                Ok((server, name)) => {
                    let key = Key { url: url.clone(), server };
                    self.track(now, &key)?.asked.insert(name);
                    keys.insert(key);
                }
                Err(refused) => result = Err(refused),
            }
        }
        keys.iter().for_each(|key| self.settle(key, catalog));
        result
    }

    /// Wants these names no more. Unknown ones are no harm (row F-24).
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

    /// Begins or ends the wildcard of a type (rows E-38, E-41, F-20, F-23).
    ///
    /// # Errors
    /// The variant has no stream for the type.
    pub fn wildcard(
        &mut self,
        now: Time,
        url: &TypeUrl,
        wanted: bool,
        catalog: &mut Catalog,
    ) -> Result<(), Refused> {
        let key = Key { url: url.clone(), server: self.config.plain(url) };
        let track = self.track(now, &key)?;
        track.wildcard = wanted;
        let gone = track.unwanted();
        self.settle(&key, catalog);
        self.follow(now, url, Changes { gone, ..Changes::default() }, catalog);
        Ok(())
    }

    /// The tracks of a type, one for each server that is asked for it.
    fn keys_of(&self, url: &TypeUrl) -> Vec<Key> {
        let from = Key { url: url.clone(), server: 0 };
        self.tracks.range(from..).map(|(key, _)| key).take_while(|key| key.url == *url).cloned().collect()
    }

    /// The lane's stream is open: every type of it starts anew.
    pub fn handle_opened(&mut self, lane: Lane, catalog: &Catalog) {
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.life = Life::Open { greeted: false };
        }
        for key in self.on(lane) {
            self.settle(&key, catalog);
        }
    }

    /// The lane's stream has ended, or never was; it is opened again after a back-off. What has an alternative is
    /// had from there once the next try has failed too (row K-29).
    pub fn handle_ended(&mut self, now: Time, lane: Lane, catalog: &mut Catalog) {
        for key in self.on(lane) {
            match self.tracks.get_mut(&key) {
                Some(track) if track.manner.variant == Variant::Rest => track.poll = Poll::Idle,
                Some(track) => track.stream_ended(),
                None => {}
            }
        }
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        state.life = Life::Waiting(now.after(state.backoff.next()));
        if state.backoff.attempts() >= UNREACHABLE {
            self.stand_in(now, lane, true, catalog);
        }
    }

    /// Ends the lane's stream and opens another at once.
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

    /// Whether [`accept`](Client::accept) may do anything: where references are followed, what is subscribed to goes
    /// before the verdict, and who delays verdicts wants to see them wait.
    pub fn may_accept(&self) -> bool {
        self.config.links.is_none() && !self.config.structured && self.config.ack_delay.is_zero()
    }

    /// Accepts a response in which nothing is to be refused: its ACK goes out before its content is taken in, which
    /// [`handle_response`](Client::handle_response) must do next. False: the verdict has to wait for that.
    pub fn accept(&mut self, lane: Lane, plain: &Trivial, catalog: &Catalog) -> bool {
        let Some(server) = self.lanes.get(lane.0 as usize).map(|lane| lane.server) else { return false };
        let key = Key { url: plain.type_url.clone(), server };
        let of_lane = |track: &&mut Track| track.lane == lane && track.manner.variant != Variant::Rest;
        let Some(track) = self.tracks.get_mut(&key).filter(of_lane) else { return false };
        if !track.pending.is_empty() {
            return false;
        }
        let request = track.accept(plain);
        self.send(lane, &key.url, request, catalog);
        true
    }

    /// A response came on the lane's stream. One that can't be read, or of a type that was not asked for (row
    /// I-01), has no verdict.
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
        let wait = self.config.ack_delay.max(track.patience(&message, &ruling));
        track.pending.push_back(Pending { message, version, nonce, ruling, due: now.after(wait) });
        self.answer(now, &key, catalog);
    }

    /// Rules on a response that is held ([`Ruling::Hold`]); the newest of the type where `nonce` is `None`.
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

    /// Does what is due: verdicts, resources whose TTL has run out (row G-02), streams to be opened again.
    pub fn handle_timeout(&mut self, now: Time, catalog: &mut Catalog) {
        let keys: Vec<Key> = self.tracks.keys().cloned().collect();
        for key in keys {
            if let Some(track) = self.tracks.get_mut(&key) {
                track.expire(now);
            }
            self.answer(now, &key, catalog);
            self.poll_due(now, &key, catalog);
        }
        self.open_due(now);
    }

    /// What was asked for and not answered: types, with a name where one is missing. Resources that a server said
    /// do not exist are answered.
    pub fn unanswered(&self) -> Vec<(TypeUrl, Option<Sym>)> {
        let mut out = Vec::new();
        for (Key { url, .. }, track) in &self.tracks {
            if (track.wildcard && !track.answered) || !track.pending.is_empty() {
                out.push((url.clone(), None));
            }
            out.extend(track.missing().into_iter().map(|name| (url.clone(), Some(name))));
        }
        out
    }

    /// Names that resources refer to, and that no server answers for (row K-24).
    pub fn unmapped(&self) -> impl Iterator<Item = Sym> + '_ {
        self.unmapped.iter().map(|(_, name)| *name)
    }

    /// What streams say of their client, beside their own metadata: rules look at it (row K-24).
    pub fn facts(&self) -> Vec<(String, String)> {
        let Config { structured, authorities, others, links, .. } = &self.config;
        let mapped = (*structured && *others == FallbackServer::Nobody)
            .then(|| (Open::AUTHORITIES, authorities.keys().cloned().collect::<Vec<_>>().join(",")));
        let follows = links.as_ref().map(|_| (Open::FOLLOWS, "references".to_owned()));
        let facts = mapped.map(|mapped| [Some(mapped), follows]).into_iter().flatten().flatten();
        facts.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Whether every lane has a stream.
    pub fn is_open(&self) -> bool {
        self.lanes.iter().all(|lane| matches!(lane.life, Life::Open { .. }))
    }

    /// Types with a track on this lane.
    fn on(&self, lane: Lane) -> Vec<Key> {
        let on = |(key, track): (&Key, &Track)| (track.lane == lane).then(|| key.clone());
        // The roots first, as Envoy asks: clusters, then listeners.
        let mut keys: Vec<Key> = self.tracks.iter().filter_map(on).collect();
        keys.sort_by_key(|key| match Kind::of_type_url(key.url.as_str()) {
            Some((Kind::Cds, _)) => 0,
            Some((Kind::Eds, _)) => 1,
            Some((Kind::Lds, _)) => 2,
            _ => 3,
        });
        keys
    }

    /// The track of a response: the stream's own type where the message leaves it out (row I-02).
    fn key_of(&self, lane: Lane, message: &Message) -> Option<Key> {
        let url = message.type_url();
        let server = self.lanes.get(lane.0 as usize)?.server;
        if !url.is_empty() {
            let key = Key { url, server };
            return self.tracks.get(&key).filter(|track| track.lane == lane).map(|_| key);
        }
        let aggregated = self.config.manner_of(server).variant.is_aggregated();
        if aggregated { None } else { self.on(lane).into_iter().next() }
    }

    /// The track of a type, with the lane that it needs.
    fn track(&mut self, now: Time, key: &Key) -> Result<&mut Track, NoStream> {
        let Key { url, server } = key;
        if !self.tracks.contains_key(key) {
            let (transport, manner) = (self.config.transport, self.config.manner_of(*server));
            let variant = manner.variant;
            let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
            let delta_only = matches!(kind, Some(Kind::Vhds | Kind::Leds)) && !variant.is_delta();
            let path = Method::path(variant, kind, transport).filter(|_| !delta_only);
            let path = path.ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })?;
            let known = self.lanes.iter().position(|lane| lane.path == path && lane.server == *server);
            let index = known.unwrap_or_else(|| {
                let seed = self.config.seed.wrapping_add(self.lanes.len() as u64);
                let backoff = Backoff::new(seed);
                self.lanes.push(LaneState { server: *server, path, life: Life::Waiting(now), backoff });
                self.lanes.len() - 1
            });
            let full_state = kind.is_some_and(Kind::full_state);
            let track = Track::new(Lane(index as u32), manner, full_state && !variant.is_delta());
            self.tracks.insert(key.clone(), track);
            self.open_due(now);
        }
        let (variant, transport) = (self.config.manner_of(*server).variant, self.config.transport);
        self.tracks.get_mut(key).ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })
    }

    fn open_due(&mut self, now: Time) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if matches!(lane.life, Life::Waiting(until) if until <= now) {
                lane.life = Life::Opening;
                let (server, path) = (lane.server, lane.path.clone());
                self.effects.push_back(Effect::Open { lane: Lane(index as u32), server, path });
            }
        }
    }

    /// Answers the responses of a type whose time has come, in order.
    fn answer(&mut self, now: Time, key: &Key, catalog: &mut Catalog) {
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
            if track.manner.variant == Variant::Rest {
                track.note_verdict(pending.nonce, error);
                self.poll_after_verdict(now, key, &pending.message, catalog);
                continue;
            }
            // A refusal that nothing pairs with its response would be none (rows E-21, F-05).
            if error.is_some() && pending.nonce.is_empty() {
                self.settle(key, catalog);
                continue;
            }
            let request = track.verdict(pending.nonce, error);
            self.send(lane, &key.url, request, catalog);
        }
    }

    /// Subscribes to what accepted resources refer to, before their verdict as Envoy does; gives up what nothing
    /// refers to any more, and what that referred to.
    fn follow(&mut self, now: Time, url: &TypeUrl, changes: Changes, catalog: &mut Catalog) {
        let finder = Finder { links: self.config.links.clone(), structured: self.config.structured };
        if finder.links.is_none() && !finder.structured {
            return;
        }
        let Some((kind, version)) = Kind::of_type_url(url.as_str()) else { return };
        let mut open = vec![(kind, changes)];
        while let Some((kind, changes)) = open.pop() {
            let updated = self.references.update(kind, changes, &finder, catalog);
            for wish in updated.wishes {
                let (url, name) = (wish.type_url.clone(), catalog.intern(&wish.name));
                self.keep_alternatives(&url, name, wish);
            }
            for (child, wanted) in updated.names {
                let Some(child_url) = child.type_url(version) else { continue };
                for (server, wanted) in self.by_server(&child_url, wanted, catalog) {
                    let key = Key { url: child_url.clone(), server };
                    // What has no stream in this variant can't be followed.
                    let Ok(track) = self.track(now, &key) else { continue };
                    // The server picks the members of a wildcard, which has no structured names.
                    let named = |name: &Sym| finder.structured && structured::is_one(catalog.text(*name));
                    let wildcard = track.wildcard;
                    track.referred = wanted.into_iter().filter(|name| !wildcard || named(name)).collect();
                    let gone = track.unwanted();
                    open.push((child, Changes { gone, ..Changes::default() }));
                    self.settle(&key, catalog);
                }
            }
        }
    }

    /// Brings the server's view of a type's subscription to what is wanted, if it is time for that.
    fn settle(&mut self, key: &Key, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        let lane = track.lane;
        let open = self.lanes.get(lane.0 as usize).is_some_and(|lane| matches!(lane.life, Life::Open { .. }));
        if !open {
            return;
        }
        if track.manner.variant == Variant::Rest {
            return self.settle_poll(key, catalog);
        }
        for request in track.changes() {
            self.send(lane, &key.url, request, catalog);
        }
    }

    fn send(&mut self, lane: Lane, url: &TypeUrl, request: Request, catalog: &Catalog) {
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        let Life::Open { greeted } = &mut state.life else { return };
        // Each poll stands for itself.
        let variant = self.config.manner_of(state.server).variant;
        let tells = variant == Variant::Rest || !std::mem::replace(greeted, true);
        let node = tells.then_some(&self.config.node[..]);
        let bytes = request.encode(variant.is_delta(), url, node, catalog);
        self.effects.push_back(Effect::Send { lane, bytes });
    }
}
