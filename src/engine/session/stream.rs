pub(super) mod index;
pub(super) mod keepalive;
pub(super) mod node;
pub(super) mod not_kept;
pub(super) mod siblings;
pub(super) mod table;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::content::BlobId;
use xdscope_wire::event::{
    ApiVersion, Dir, Kind, Method, Seq, Side, StreamId, Sym, TYPE_PREFIX, Time, TypeUrl, Variant,
};
use xdscope_wire::{End, GapCause, InterventionFacts, Message, MessageBody, MessageShape, NodeInfo, Open};

use super::Wildcard;
use super::condition::Limits;
use super::outcome::{GapFact, RequestOutcome, SessionEvent};
use super::shared::Shared;
use super::track::Track;
use super::words::PlaneFact;
use super::{MessageKind, RequestClass};
use crate::nack::ClientKind;
use crate::session::content::responses::Status;
use crate::session::engine::visits;
use keepalive::{Keepalive, Pings};
use not_kept::{NotKept, NotKeptPart};
use xdscope_wire::limits::MAX_TYPES;
use xdscope_wire::xdstp;

/// The time in which a client states its subscriptions on a new stream.
pub(crate) const SETTLE_TIME: Duration = Duration::from_secs(5);

/// Types of a stream up to which they are searched one by one.
const MAX_SEARCHED_TYPES: usize = 16;

/// Changes of the control plane of a stream that are kept.
const MAX_PLANES: usize = 16;

/// One stream, of xDS or another protocol.
#[derive(Clone, Debug)]
pub struct Stream {
    pub id: StreamId,
    pub(crate) open: Open,
    pub(crate) opened: Time,
    /// The method, if the stream is of xDS.
    pub(crate) method: Option<Method>,
    /// When and how the stream ended.
    pub(crate) closed: Option<(Time, End)>,
    /// The types of the stream, in order of their first messages.
    pub(crate) tracks: Vec<Shared<Track>>,
    /// The index of each type, if there are many.
    by_type: HashMap<TypeUrl, usize>,
    /// Indices of the tracks of known kinds, at most two of each: v3 and v2.
    known_tracks: Vec<usize>,
    /// Interventions of xdscope in messages of the stream, in order.
    pub(crate) interventions: Vec<Arc<InterventionFacts>>,
    pub(crate) peers: StreamPeers,
    pub(crate) chain: StreamChain,
    pub(crate) traffic: StreamTraffic,
    pub(crate) losses: StreamLosses,
}

/// Client and control plane of a stream, as they call themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamPeers {
    /// The node of the first request that has one (docs/protocol.md#e-05).
    pub(crate) node: Option<Arc<NodeInfo>>,
    pub(crate) node_id: Option<Arc<str>>,
    /// The node of the newest request that has one.
    pub(super) newest_node: Option<Arc<NodeInfo>>,
    /// The request that stated the node.
    pub(crate) node_from: Option<Seq>,
    pub(crate) control_plane: Option<Arc<str>>,
    /// The first control planes of the stream, with their first responses.
    pub(crate) planes: Vec<PlaneFact>,
    /// Changes of the control plane.
    pub(crate) plane_changes: u64,
}

/// The place of a stream among those of its client.
#[derive(Clone, Debug)]
pub(crate) struct StreamChain {
    /// Index of the session in the engine, once the client is known.
    pub(crate) session: Option<usize>,
    /// The previous stream of the session.
    pub(crate) reconnect_of: Option<StreamId>,
    /// The first stream with which the stream continues, over all reconnects; else the stream
    /// itself.
    pub(crate) first: StreamId,
    /// Number of reconnects since the first stream.
    pub(crate) reconnects: usize,
}

/// Messages of a stream: numbers, bytes and times.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamTraffic {
    pub(crate) messages: u64,
    pub(crate) requests: u64,
    /// Bytes of the client, and of the server.
    pub(crate) bytes: [u64; 2],
    pub(crate) first_request: Option<Seq>,
    pub(crate) last_request: Option<Seq>,
    /// Whether the server has sent a response.
    pub(crate) has_response: bool,
    pub(crate) last_message: Option<Time>,
    /// PINGs of the client, and of the server.
    pub(crate) pings: [Pings; 2],
}

/// Messages of a stream that are missing or cannot be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamLosses {
    /// Messages lost in the copy.
    pub(crate) gaps: u64,
    /// Whether a part of the copy was lost, with or without a whole message.
    pub(crate) has_gaps: bool,
    /// Messages and bytes that exceed a limit and are not kept.
    pub(crate) not_kept: NotKept,
    /// Messages that could not be decoded.
    pub(crate) undecodable: u64,
    /// The newest response that cannot be decoded, or whose type is unknown.
    pub(crate) unreadable: Option<Seq>,
    /// The newest message before the last loss of messages, and the time of the loss. A message
    /// that cannot be decoded is lost.
    pub(crate) lost: Option<(Seq, Time)>,
}

impl Stream {
    pub(crate) fn new(id: StreamId, open: Open, at: Time) -> Stream {
        let mut stream = Stream {
            id,
            method: Method::of_path(&open.method),
            opened: at,
            closed: None,
            tracks: Vec::new(),
            by_type: HashMap::new(),
            known_tracks: Vec::new(),
            interventions: Vec::new(),
            peers: StreamPeers::default(),
            chain: StreamChain { session: None, reconnect_of: None, first: id, reconnects: 0 },
            traffic: StreamTraffic::default(),
            losses: StreamLosses::default(),
            open,
        };
        if let Some(hint) = stream.open.node_hint.take() {
            stream.bind(&Arc::new(NodeInfo::parse(&hint)));
            stream.open.node_hint = Some(hint);
        }
        stream
    }

    /// Sets the node, if it is not set: servers may read the first one only
    /// (docs/protocol.md#e-06).
    pub(crate) fn bind(&mut self, node: &Arc<NodeInfo>) {
        if self.peers.node.is_none() {
            self.peers.node_id = Some(Arc::from(node.id.as_str())).filter(|id: &Arc<str>| !id.is_empty());
            self.peers.node = Some(node.clone());
        }
    }

    /// Records the node of a request, and returns the one before, if it has another encoding.
    pub(super) fn note_node(&mut self, node: &Arc<NodeInfo>) -> Option<Arc<NodeInfo>> {
        let before = self.peers.newest_node.replace(node.clone()).or_else(|| self.peers.node.clone());
        before.filter(|before| before.blob.is_none() || before.blob != node.blob)
    }

    /// The contents of the nodes.
    pub(super) fn node_blobs(&self) -> impl Iterator<Item = BlobId> {
        self.peers.node.iter().chain(&self.peers.newest_node).filter_map(|node| node.blob)
    }

    /// Records the control plane of a response, and returns the one before, if it was another.
    pub(crate) fn note_plane(&mut self, plane: PlaneFact) -> Option<Arc<str>> {
        if self.peers.control_plane.as_ref() == Some(&plane.identifier) {
            return None;
        }
        let before = self.peers.control_plane.replace(plane.identifier.clone());
        if self.peers.planes.len() < MAX_PLANES {
            self.peers.planes.push(plane);
        }
        self.peers.plane_changes += u64::from(before.is_some());
        before
    }

    /// Derives the variant from a message if the method path is unknown.
    pub(crate) fn adopt(&mut self, shape: MessageShape) {
        let variant = match shape {
            MessageShape::SotwRequest | MessageShape::SotwResponse => Variant::Sotw,
            MessageShape::DeltaRequest | MessageShape::DeltaResponse => Variant::Delta,
        };
        let method = Method { variant, kind: None, transport: ApiVersion::V3 };
        self.method.get_or_insert(method);
    }

    pub(crate) fn variant(&self) -> Option<Variant> {
        self.method.as_ref().map(|method| method.variant)
    }

    /// Whether the stream is an xDS stream over gRPC.
    pub(crate) fn is_grpc(&self) -> bool {
        !matches!(self.variant(), Some(Variant::Rest | Variant::File) | None)
    }

    /// Whether the server has sent a response, or may have sent one before the recording.
    pub(crate) fn is_answered(&self) -> bool {
        self.traffic.has_response || self.open.partial
    }

    /// Whether it is known what the client uses of a type: it had nothing before the first message
    /// that is known, or has accepted all resources of the type since (docs/protocol.md#e-32).
    pub(crate) fn knows_in_force(&self, track: &Track) -> bool {
        let is_delta = self.variant().is_some_and(Variant::is_delta);
        let is_replaced =
            !is_delta && track.kind.is_some_and(Kind::full_state) && track.verdicts.in_force.is_some();
        is_replaced || !(self.open.partial || track.carried.may_have_unseen())
    }

    /// Whether the server owes a resource that the client requests.
    pub(crate) fn is_owed(&self) -> bool {
        self.tracks_shown().any(Track::is_owed)
    }

    /// Whether the server has owed an answer for too long at a time.
    pub(crate) fn is_overdue(&self, at: Time, limits: Limits) -> bool {
        let mut owed = self.tracks_shown().filter(|track| track.is_owed()).filter_map(Track::answer_owed);
        owed.any(|condition| limits.is_late(condition.since, at))
    }

    /// Whether the client continues with resources of an earlier stream that the server need not
    /// send (docs/protocol.md#e-19).
    pub(crate) fn has_kept(&self) -> bool {
        self.tracks_shown().any(|track| track.carried.counts().kept() > 0)
    }

    /// Whether the client has not answered a response.
    pub(crate) fn owes_verdict(&self) -> bool {
        self.tracks_shown().any(|track| track.responses.pending().next().is_some())
    }

    /// Whether the client has answered a response, or may have before the recording.
    pub(crate) fn has_verdict(&self) -> bool {
        self.open.partial || self.tracks_shown().any(|track| track.verdicts.last_at.is_some())
    }

    /// Whether the client ended the stream without an error: it may need nothing of it any more.
    pub(crate) fn is_ended_by_client(&self) -> bool {
        let Some((_, end)) = &self.closed else { return false };
        let is_ok = end.status.as_ref().is_none_or(|(code, _)| code.0 == 0);
        end.by == Some(Side::Client) && end.reset.is_none() && is_ok
    }

    /// Whether the client may need less on the stream than on an earlier one, which it ended
    /// without an error. A client that continues states the versions that it has, or has
    /// answered on the earlier stream and requests one of the types again.
    pub(crate) fn may_need_less_than(&self, before: &Stream) -> bool {
        if !before.is_ended_by_client() || self.all_tracks().any(Track::states_versions) {
            return false;
        }
        let is_requested = |track: &Track| track.traffic.requests > 0;
        let is_requested_again =
            |track: &Track| is_requested(track) && before.find(&track.type_url).is_some_and(is_requested);
        self.is_of_xdscope() || !before.has_verdict() || !self.all_tracks().any(is_requested_again)
    }

    /// The host of the client.
    pub(crate) fn host(&self) -> Option<&str> {
        let peer = self.open.peer.as_deref()?;
        Some(peer.rsplit_once(':').map_or(peer, |(host, _)| host))
    }

    pub(crate) fn is_aggregated(&self) -> bool {
        self.variant().is_some_and(Variant::is_aggregated)
    }

    /// Whether the stream is the dump of a client, which has no messages.
    pub(crate) fn is_dump(&self) -> bool {
        self.variant() == Some(Variant::Dump)
    }

    /// Whether the type of a message is stated, or implied by the method.
    pub(crate) fn states_type(&self, message: &Message) -> bool {
        !self.is_aggregated() || !message.type_url().is_empty()
    }

    /// Counts a message that cannot be decoded. Returns whether its type is known: that of a file.
    pub(crate) fn count_undecodable(&mut self, seq: Seq, at: Time) -> bool {
        self.losses.undecodable += 1;
        let is_file = self.variant() == Some(Variant::File);
        if !is_file {
            self.lose_messages(seq, at);
        }
        is_file
    }

    /// Records the NACK of a response without a type URL, which the client has taken for one of the
    /// type of its request.
    pub(crate) fn refuse_untyped(&mut self, request: &mut RequestOutcome, message: &Message, seq: Seq) {
        if matches!(request.class, Some(RequestClass::UnknownNonce | RequestClass::Initial))
            && message.error_detail().is_some()
            && let Some(view) = message.request()
            && let Some(untyped) = self.find_mut(&TypeUrl::default())
            && let Some(order) = untyped.responses.find(view.response_nonce)
        {
            request.kind = MessageKind::Nack;
            if let Some(response) = untyped.responses.get(order) {
                (request.answers, request.answered_at) = (Some(response.seq), response.at);
            }
            untyped.responses.settle(order, Status::Nacked, seq);
        }
    }

    /// Returns the type of a message: that of the method, else as stated, else by the earlier
    /// messages of a stream of one type, else by the names (docs/protocol.md#i-02).
    pub(crate) fn type_of(&self, message: &Message, texts: impl Fn(Sym) -> Option<TypeUrl>) -> TypeUrl {
        let stated = message.type_url();
        if let Some(fixed) = self.type_of_method(message, &stated) {
            return fixed;
        }
        if !stated.is_empty() {
            return stated;
        }
        if let Some(first) = self.tracks.first()
            && !self.is_aggregated()
        {
            return first.type_url.clone();
        }
        let names = match &message.body {
            MessageBody::DeltaRequest(m) => m.subscribe.iter().chain(m.unsubscribe.iter()).next(),
            _ => None,
        };
        names.and_then(|name| texts(*name)).unwrap_or_default()
    }

    /// Returns the type of a message on a method of one type: both sides may state the v2 or the v3
    /// form (docs/protocol.md#a-14), and a response with another type answers the requests of the
    /// method, as do the verdicts on the response.
    fn type_of_method(&self, message: &Message, stated: &TypeUrl) -> Option<TypeUrl> {
        let method = self.method.as_ref()?;
        let kind = method.kind?;
        let is_of_kind = |url: &str| Kind::of_type_url(url).is_some_and(|(known, _)| known == kind);
        // A collection uses the method of its members (docs/protocol.md#a-13); a file has none.
        let is_collection = stated.as_str().strip_suffix("Collection").is_some_and(is_of_kind);
        let is_in_file = method.variant == Variant::File && !stated.is_empty();
        if is_collection || is_in_file {
            return Some(stated.clone());
        }
        let known = self.known_tracks().find(|track| track.kind == Some(kind));
        let states_other = !stated.is_empty() && !is_of_kind(stated.as_str());
        if states_other && self.is_of_stated(message, stated, known) {
            return Some(stated.clone());
        }
        match known {
            Some(track) => Some(track.type_url.clone()),
            None if is_of_kind(stated.as_str()) => Some(stated.clone()),
            None => method.implied_type(),
        }
    }

    /// Whether a message on a method of another type is of the type that it states: the client asks
    /// for that type, or has asked for it. `known`: the track of the method.
    fn is_of_stated(&self, message: &Message, stated: &TypeUrl, known: Option<&Track>) -> bool {
        match message.request() {
            Some(request) => known.is_none_or(|track| track.responses.find(request.response_nonce).is_none()),
            None => self.find(stated).is_some_and(|track| track.traffic.requests > 0),
        }
    }

    /// Whether a type has a track, or gets one. Otherwise counts the message: a source that is not
    /// an observed connection may have any number of types.
    pub(crate) fn makes_room_for(&mut self, type_url: &TypeUrl, message: &Message) -> bool {
        let has_room = self.tracks.len() < MAX_TYPES || self.variant() == Some(Variant::File);
        if has_room || self.position(type_url).is_some() {
            return true;
        }
        self.losses.not_kept.add(GapCause::Types, 1, message.size);
        self.losses.gaps = self.losses.gaps.saturating_add(1);
        self.losses.has_gaps = true;
        false
    }

    /// Returns the index of the track of a type, and creates the track if there is none.
    pub(crate) fn track(&mut self, type_url: &TypeUrl, at: Time) -> usize {
        if let Some(index) = self.position(type_url) {
            return index;
        }
        let mut track = Track::new(type_url.clone(), self.losses.lost.is_some(), at);
        track.polled = self.variant() == Some(Variant::Rest);
        if self.variant() == Some(Variant::File) {
            // The client subscribes to everything in the file (docs/protocol.md#c-01).
            track.subscribed.wildcard = Wildcard::Legacy;
        }
        let index = self.tracks.len();
        if track.kind.is_some() {
            self.known_tracks.push(index);
        }
        self.tracks.push(Shared::new(track));
        if index == MAX_SEARCHED_TYPES {
            let types = self.tracks.iter().enumerate();
            self.by_type = types.map(|(index, track)| (track.type_url.clone(), index)).collect();
        } else if index > MAX_SEARCHED_TYPES {
            self.by_type.insert(type_url.clone(), index);
        }
        index
    }

    /// Returns the index of the track of a type.
    pub(crate) fn position(&self, type_url: &TypeUrl) -> Option<usize> {
        if !self.by_type.is_empty() {
            return self.by_type.get(type_url).copied();
        }
        let mut tracks = self.tracks.iter().inspect(|_| visits::count());
        tracks.position(|track| track.type_url == *type_url)
    }

    /// Returns the track of a type.
    pub(crate) fn find(&self, type_url: &TypeUrl) -> Option<&Track> {
        self.position(type_url).and_then(|index| self.track_at(index))
    }

    /// Returns the track of a type, to change it.
    pub(super) fn find_mut(&mut self, type_url: &TypeUrl) -> Option<&mut Track> {
        let index = self.position(type_url)?;
        self.tracks.get_mut(index).map(|track| &mut **track)
    }

    pub(crate) fn track_at(&self, index: usize) -> Option<&Track> {
        self.tracks.get(index).map(|track| &**track)
    }

    /// All tracks, in order of their first messages.
    pub(crate) fn all_tracks(&self) -> impl Iterator<Item = &Track> {
        self.tracks.iter().map(|track| &**track)
    }

    /// The tracks of known kinds, in order of their first messages.
    pub(crate) fn known_tracks(&self) -> impl Iterator<Item = &Track> {
        self.known_tracks.iter().inspect(|_| visits::count()).filter_map(|index| self.track_at(*index))
    }

    /// The known kinds of the tracks.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.known_tracks().filter_map(|track| track.kind)
    }

    /// Counts messages of one direction and their bytes.
    pub(crate) fn count(&mut self, dir: Dir, messages: u64, bytes: u64, at: Time) {
        self.traffic.messages = self.traffic.messages.saturating_add(messages);
        if let Some(sum) = self.traffic.bytes.get_mut(dir as usize) {
            *sum = sum.saturating_add(bytes);
        }
        self.traffic.last_message = Some(at);
    }

    /// Records that messages after `seq` are missing, of types that are unknown.
    pub(crate) fn lose_messages(&mut self, seq: Seq, at: Time) {
        self.losses.lost = Some((seq, at));
        self.tracks.iter_mut().for_each(|track| track.lose_messages());
    }

    /// Records a gap. Returns its effect.
    pub(crate) fn miss(&mut self, gap: GapFact, seq: Seq, at: Time) -> SessionEvent {
        let NotKeptPart { cause, messages, bytes } = gap.part;
        self.losses.not_kept.add(cause, messages, bytes);
        if !cause.lacks_messages() {
            return SessionEvent::Counted;
        }
        self.losses.gaps = self.losses.gaps.saturating_add(messages);
        self.losses.has_gaps = true;
        self.lose_messages(seq, at);
        SessionEvent::Gap(gap)
    }

    /// Returns the node id of the client. A stream without a node is a client of its own.
    pub(crate) fn client(&self) -> Arc<str> {
        self.peers.node_id.clone().unwrap_or_else(|| Arc::from(format!("#{}", self.id.0)))
    }

    /// Returns the implementation of the client, if its node names a known one.
    pub(crate) fn client_kind(&self) -> Option<ClientKind> {
        ClientKind::of_user_agent(&self.peers.node.as_ref()?.user_agent)
    }

    /// Whether the client is that of xdscope, which may watch a part of what others need.
    pub(crate) fn is_of_xdscope(&self) -> bool {
        const USER_AGENT: &str = "xdscope";
        self.peers.node.as_ref().is_some_and(|node| node.user_agent.contains(USER_AGENT))
    }

    /// Returns the number of messages that were lost: at least one if anything was.
    pub(crate) fn lost_messages(&self) -> u64 {
        self.losses.gaps.max(u64::from(self.losses.has_gaps))
    }

    /// Whether no message since that one is missing.
    pub(crate) fn has_all_since(&self, seq: Seq) -> bool {
        self.losses.lost.is_none_or(|(lost, _)| lost < seq)
    }

    /// Records a PING (docs/protocol.md#i-12).
    pub(crate) fn ping(&mut self, dir: Dir, at: Time) {
        if let Some(pings) = self.traffic.pings.get_mut(dir as usize) {
            pings.note(at);
        }
    }

    /// Returns the keepalive of the connection, the slower one if both sides have one.
    pub(crate) fn keepalive(&self) -> Option<Keepalive> {
        let sides = [Side::Client, Side::Server].into_iter().zip(&self.traffic.pings);
        sides.filter_map(|(side, pings)| pings.keepalive(side)).max_by_key(|keepalive| keepalive.every)
    }

    /// Whether entries can have a time to live: `Resource` of v2 has none (docs/protocol.md#l-19).
    pub(crate) fn has_ttl(&self) -> bool {
        self.method.as_ref().is_none_or(|method| method.transport != ApiVersion::V2)
    }

    /// The tracks that have a state, in order of their first messages.
    pub(crate) fn tracks_shown(&self) -> impl Iterator<Item = &Track> {
        self.all_tracks().filter(|track| self.shows(track))
    }

    /// The tracks in the order in which screens show types: known kinds first, then by URL.
    pub(crate) fn tracks_in_order(&self) -> Vec<&Track> {
        let mut tracks: Vec<&Track> = self.tracks_shown().collect();
        tracks.sort_by(|a, b| rank(a).cmp(&rank(b)));
        tracks
    }

    /// Whether a track has a state: types that were never requested have none.
    fn shows(&self, track: &Track) -> bool {
        let is_requested = track.traffic.requests > 0
            || track.completeness.has_unseen_nonces
            || self.variant() == Some(Variant::File);
        is_requested && !track.type_url.is_empty()
    }

    /// Returns `now`, or the end of the stream if it has ended.
    pub(crate) fn clock(&self, now: Time) -> Time {
        self.closed.as_ref().map_or(now, |(at, _)| now.min(*at))
    }
}

/// Returns the sort key of a type on screens.
fn rank(track: &Track) -> (bool, Option<Kind>, &str) {
    (track.kind.is_none(), track.kind, track.type_url.as_str())
}

/// Returns the type URL in an `xdstp:` name.
pub(crate) fn type_of_name(name: &str) -> Option<TypeUrl> {
    xdstp::resource_type(name).map(|kind| TypeUrl::new(format!("{TYPE_PREFIX}{kind}")))
}
