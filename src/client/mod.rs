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
//! * A [`Lane`] is one stream at a time: the aggregated one, or one for each type. It ends, backs off and is opened
//!   again; nonces and what was sent die with the stream, versions and wishes do not (rows E-02, E-11, F-15, F-18).
//! * A track is one type on its lane. In SotW each request names all that is wanted; in delta only what changed.
//! * A response waits for its ruling in a queue and is answered in order, once (rows E-04, F-36). While one waits,
//!   SotW changes of interest are folded into its answer (row E-27).
//! * Over REST (group D) a lane has no stream: its type is polled, one request at a time, and verdict and changes of
//!   interest ride on the next poll. That comes at once where it has something new to say, else after a delay.
//! * With [`Config::links`] accepted resources are searched for references, and what they refer to is subscribed to
//!   for as long as something refers to it (row A-15).

mod backoff;
mod check;
mod encode;
mod poll;
mod references;
#[cfg(test)]
mod tests;
mod track;

pub use crate::lint::Links;
pub use check::{Ruling, check, validated};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::content::Catalog;
use crate::event::{ApiVersion, Kind, Method, Nonce, Sym, Time, TypeUrl, Variant};
use crate::wire::{Body, Message};

use backoff::Backoff;
use encode::Request;
use poll::Poll;
use references::References;
use track::{Changes, Pending, Track};

/// One stream at a time, reopened when it ends. Numbered from 0 in the order in which they were needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub u32);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Connect, and open a stream at this gRPC path (over REST: be ready to post to it); then
    /// [`Client::handle_opened`] or [`Client::handle_ended`].
    Open { lane: Lane, path: String },
    /// Send this message on the lane's open stream; over REST, as the lane's one outstanding poll.
    Send { lane: Lane, bytes: Vec<u8> },
    /// End the lane's stream.
    Close { lane: Lane },
}

/// Who the client is and how it behaves.
#[derive(Clone)]
pub struct Config {
    pub variant: Variant,
    /// Of the services; the types that are asked for have a version of their own (row A-14).
    pub transport: ApiVersion,
    /// Between REST polls that have nothing new to say.
    pub poll_delay: Duration,
    /// The `Node`, in binary protobuf.
    pub node: Vec<u8>,
    /// Ask for a wildcard by an empty list, as long as that means one (rows E-39, F-21).
    pub legacy_wildcard: bool,
    /// How long each verdict waits.
    pub ack_delay: Duration,
    /// Finds references; `None`: nothing is followed.
    pub links: Option<Links>,
    /// Of the jitter.
    pub seed: u64,
}

/// What a type has no stream in this variant for (rows A-05, A-12, D-05, D-06).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{type_url} {}", why(*variant, type_url, *transport))]
pub struct NoStream {
    pub type_url: TypeUrl,
    pub variant: Variant,
    pub transport: ApiVersion,
}

fn why(variant: Variant, url: &TypeUrl, transport: ApiVersion) -> String {
    let known = Kind::of_type_url(url.as_str()).is_some();
    let version = transport.word();
    match variant {
        Variant::Rest if known => {
            format!(
                "can't be polled: it has a delta method only, and there is no delta over REST ({version})"
            )
        }
        Variant::Rest => {
            "can't be polled: it has no path of its own, and there is no ADS over REST".to_owned()
        }
        variant => format!("has no stream of its own in variant {} ({version})", variant.word()),
    }
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
    path: String,
    life: Life,
    backoff: Backoff,
}

/// The client.
pub struct Client {
    config: Config,
    lanes: Vec<LaneState>,
    tracks: BTreeMap<TypeUrl, Track>,
    references: References,
    effects: VecDeque<Effect>,
}

impl Client {
    pub fn new(config: Config) -> Client {
        Client {
            config,
            lanes: Vec::new(),
            tracks: BTreeMap::new(),
            references: References::default(),
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
    /// The variant has no stream for the type.
    pub fn subscribe(
        &mut self,
        now: Time,
        url: &TypeUrl,
        names: &[Sym],
        catalog: &Catalog,
    ) -> Result<(), NoStream> {
        self.track(now, url)?.asked.extend(names);
        self.settle(url, catalog);
        Ok(())
    }

    /// Wants these names no more. Unknown ones are no harm (row F-24).
    pub fn unsubscribe(&mut self, now: Time, url: &TypeUrl, names: &[Sym], catalog: &mut Catalog) {
        let Some(track) = self.tracks.get_mut(url) else { return };
        names.iter().for_each(|name| {
            track.asked.remove(name);
        });
        let gone = names.iter().copied().filter(|name| !track.wants(*name)).collect();
        self.settle(url, catalog);
        self.follow(now, url, Changes { gone, ..Changes::default() }, catalog);
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
    ) -> Result<(), NoStream> {
        let track = self.track(now, url)?;
        track.wildcard = wanted;
        let gone = track.unwanted();
        self.settle(url, catalog);
        self.follow(now, url, Changes { gone, ..Changes::default() }, catalog);
        Ok(())
    }

    /// The lane's stream is open: every type of it starts anew.
    pub fn handle_opened(&mut self, lane: Lane, catalog: &Catalog) {
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.life = Life::Open { greeted: false };
        }
        for url in self.on(lane) {
            self.settle(&url, catalog);
        }
    }

    /// The lane's stream has ended, or never was; it is opened again after a back-off.
    pub fn handle_ended(&mut self, now: Time, lane: Lane) {
        for url in self.on(lane) {
            match self.tracks.get_mut(&url) {
                Some(track) if self.config.variant == Variant::Rest => track.poll = Poll::Idle,
                Some(track) => track.stream_ended(),
                None => {}
            }
        }
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.life = Life::Waiting(now.after(state.backoff.next()));
        }
    }

    /// Ends the lane's stream and opens another at once.
    pub fn reconnect(&mut self, now: Time) {
        for index in 0..self.lanes.len() {
            let lane = Lane(index as u32);
            if matches!(self.lanes[index].life, Life::Open { .. } | Life::Opening) {
                self.effects.push_back(Effect::Close { lane });
            }
            self.handle_ended(now, lane);
            self.lanes[index].backoff.reset();
            self.lanes[index].life = Life::Waiting(now);
        }
        self.open_due(now);
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
        state.backoff.reset();
        self.polled(now, lane, false);
        let (version, nonce) = match &message.body {
            Body::SotwResponse(response) => (response.version_info.clone(), response.nonce.clone()),
            Body::DeltaResponse(response) => (response.system_version_info.clone(), response.nonce.clone()),
            _ => return,
        };
        let Some(url) = self.url_of(lane, &message) else { return };
        let Some(track) = self.tracks.get_mut(&url) else { return };
        let wait = self.config.ack_delay.max(track.patience(&message, &ruling));
        track.pending.push_back(Pending { message, version, nonce, ruling, due: now.after(wait) });
        self.answer(now, &url, catalog);
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
        if let Some(track) = self.tracks.get_mut(url) {
            let held = track.pending.iter_mut().rev().find(|pending| {
                matches!(pending.ruling, Ruling::Hold) && nonce.is_none_or(|nonce| *nonce == pending.nonce)
            });
            if let Some(held) = held {
                held.ruling = ruling;
            }
            self.answer(now, url, catalog);
        }
    }

    /// Does what is due: verdicts, resources whose TTL has run out (row G-02), streams to be opened again.
    pub fn handle_timeout(&mut self, now: Time, catalog: &mut Catalog) {
        let urls: Vec<TypeUrl> = self.tracks.keys().cloned().collect();
        for url in urls {
            if let Some(track) = self.tracks.get_mut(&url) {
                track.expire(now);
            }
            self.answer(now, &url, catalog);
            self.poll_due(now, &url, catalog);
        }
        self.open_due(now);
    }

    /// What was asked for and not answered: types, with a name where one is missing. Resources that a server said
    /// do not exist are answered.
    pub fn unanswered(&self) -> Vec<(TypeUrl, Option<Sym>)> {
        let mut out = Vec::new();
        for (url, track) in &self.tracks {
            if (track.wildcard && !track.answered) || !track.pending.is_empty() {
                out.push((url.clone(), None));
            }
            out.extend(track.missing().map(|name| (url.clone(), Some(name))));
        }
        out
    }

    /// Whether every lane has a stream.
    pub fn is_open(&self) -> bool {
        self.lanes.iter().all(|lane| matches!(lane.life, Life::Open { .. }))
    }

    /// Types with a track on this lane.
    fn on(&self, lane: Lane) -> Vec<TypeUrl> {
        let on = |(url, track): (&TypeUrl, &Track)| (track.lane == lane).then(|| url.clone());
        // The roots first, as Envoy asks: clusters, then listeners.
        let mut urls: Vec<TypeUrl> = self.tracks.iter().filter_map(on).collect();
        urls.sort_by_key(|url| match Kind::of_type_url(url.as_str()) {
            Some((Kind::Cds, _)) => 0,
            Some((Kind::Eds, _)) => 1,
            Some((Kind::Lds, _)) => 2,
            _ => 3,
        });
        urls
    }

    /// The type of a response: the stream's own where the message leaves it out (row I-02).
    fn url_of(&self, lane: Lane, message: &Message) -> Option<TypeUrl> {
        let stated = message.type_url();
        if !stated.is_empty() {
            return self.tracks.get(&stated).filter(|track| track.lane == lane).map(|_| stated);
        }
        let aggregated = self.config.variant.is_aggregated();
        if aggregated { None } else { self.on(lane).into_iter().next() }
    }

    /// The track of a type, with the lane that it needs.
    fn track(&mut self, now: Time, url: &TypeUrl) -> Result<&mut Track, NoStream> {
        if !self.tracks.contains_key(url) {
            let variant = self.config.variant;
            let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind);
            let delta_only = matches!(kind, Some(Kind::Vhds | Kind::Leds)) && !variant.is_delta();
            let transport = self.config.transport;
            let path = Method::path(variant, kind, transport).filter(|_| !delta_only);
            let path = path.ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })?;
            let known = self.lanes.iter().position(|lane| lane.path == path);
            let index = known.unwrap_or_else(|| {
                let seed = self.config.seed.wrapping_add(self.lanes.len() as u64);
                let backoff = Backoff::new(seed);
                self.lanes.push(LaneState { path, life: Life::Waiting(now), backoff });
                self.lanes.len() - 1
            });
            let full_state = kind.is_some_and(Kind::full_state);
            let track = Track::new(Lane(index as u32), full_state && !variant.is_delta());
            self.tracks.insert(url.clone(), track);
            self.open_due(now);
        }
        let Config { variant, transport, .. } = self.config;
        self.tracks.get_mut(url).ok_or_else(|| NoStream { type_url: url.clone(), variant, transport })
    }

    fn open_due(&mut self, now: Time) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if matches!(lane.life, Life::Waiting(until) if until <= now) {
                lane.life = Life::Opening;
                let (lane, path) = (Lane(index as u32), lane.path.clone());
                self.effects.push_back(Effect::Open { lane, path });
            }
        }
    }

    /// Answers the responses of a type whose time has come, in order.
    fn answer(&mut self, now: Time, url: &TypeUrl, catalog: &mut Catalog) {
        while let Some(track) = self.tracks.get_mut(url) {
            let Some(pending) = track.take_due(now) else { return };
            let error = match &pending.ruling {
                Ruling::Refuse(error) => Some(error.clone()),
                _ => None,
            };
            let accepted = error.is_none();
            let lane = track.lane;
            let changes = track.settle_response(now, &pending, catalog);
            if accepted {
                self.follow(now, url, changes, catalog);
            }
            let Some(track) = self.tracks.get_mut(url) else { return };
            if self.config.variant == Variant::Rest {
                track.note_verdict(pending.nonce, error);
                self.poll_after_verdict(now, url, &pending.message, catalog);
                continue;
            }
            let request = track.verdict(pending.nonce, error, &self.config);
            self.send(lane, url, request, catalog);
        }
    }

    /// Subscribes to what accepted resources refer to, before their verdict as Envoy does; gives up what nothing
    /// refers to any more, and what that referred to.
    fn follow(&mut self, now: Time, url: &TypeUrl, changes: Changes, catalog: &mut Catalog) {
        let Some(links) = self.config.links.clone() else { return };
        let Some((kind, version)) = Kind::of_type_url(url.as_str()) else { return };
        let mut open = vec![(kind, changes)];
        while let Some((kind, changes)) = open.pop() {
            for (child, wanted) in self.references.update(kind, changes, &links, catalog) {
                let Some(child_url) = child.type_url(version) else { continue };
                // What has no stream in this variant can't be followed.
                let Ok(track) = self.track(now, &child_url) else { continue };
                // The server picks the members of a wildcard.
                if track.wildcard {
                    continue;
                }
                let before = std::mem::replace(&mut track.referred, wanted);
                let gone = before.into_iter().filter(|name| !track.wants(*name)).collect();
                open.push((child, Changes { gone, ..Changes::default() }));
                self.settle(&child_url, catalog);
            }
        }
    }

    /// Brings the server's view of a type's subscription to what is wanted, if it is time for that.
    fn settle(&mut self, url: &TypeUrl, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(url) else { return };
        let lane = track.lane;
        let open = self.lanes.get(lane.0 as usize).is_some_and(|lane| matches!(lane.life, Life::Open { .. }));
        if !open {
            return;
        }
        if self.config.variant == Variant::Rest {
            return self.settle_poll(url, catalog);
        }
        for request in track.changes(&self.config) {
            self.send(lane, url, request, catalog);
        }
    }

    fn send(&mut self, lane: Lane, url: &TypeUrl, request: Request, catalog: &Catalog) {
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        let Life::Open { greeted } = &mut state.life else { return };
        // Each poll stands for itself.
        let tells = self.config.variant == Variant::Rest || !std::mem::replace(greeted, true);
        let node = tells.then_some(&self.config.node[..]);
        let bytes = request.encode(self.config.variant.is_delta(), url, node, catalog);
        self.effects.push_back(Effect::Send { lane, bytes });
    }
}
