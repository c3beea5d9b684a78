pub(super) mod alternatives;
mod lookup;
pub(super) mod memory;
pub(super) mod prior;
pub(super) mod stream_events;
pub(crate) mod visits;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use xdscope_wire::content::{BlobForm, Catalog};
use xdscope_wire::event::{Dir, Kind, Seq, StreamId, Sym, Time, TypeUrl, Variant};
use xdscope_wire::{Frame, FramePayload, Message, MessageBody, NodeInfo, Open};

use super::events::EventList;
use super::failing::{Failures, StreamKey};
use super::interventions::losses;
use super::outcome::{GapFact, Outcome, SessionEvent};
use super::shared::Shared;
use super::stream::{Stream, type_of_name};
use super::words::PlaneFact;
use super::{Context, ResponseOutcome, SharedSemantics, Specials};
use crate::session::condition::Limits;
use crate::session::content::compare::Compare;
use crate::session::content::names::NameRuns;
use crate::session::content::responses::KeptResponses;
use crate::session::stream::index::StreamIndex;
use crate::session::stream::node::NodeDigests;
use crate::session::stream::not_kept::NotKeptPart;
use crate::session::stream::siblings::Siblings;
use crate::session::stream::table::{StreamTable, Streams};
use crate::session::track::Track;
use crate::session::track::prior::Prior;
use crate::session::warming::content::WarmingContext;
use crate::session::warming::needs::{Needs, can_warm, is_needed, passes_needs_on};
use xdscope_wire::xdstp;

/// Earlier streams of a client that are searched for a type after a reconnect.
pub(super) const MAX_EARLIER_STREAMS: usize = 64;

/// All streams of a source. A clone serves as a checkpoint: large parts are shared.
#[derive(Clone, Default)]
pub(crate) struct Engine {
    pub(super) streams: StreamTable,
    pub(super) by_id: Shared<HashMap<StreamId, usize>>,
    pub(super) index: StreamIndex,
    /// A session is one client, one server and one method. Indices are never used twice.
    pub(super) sessions: Shared<BTreeMap<usize, Session>>,
    next_session: usize,
    pub(super) by_client: Shared<HashMap<StreamKey, usize>>,
    /// The sessions of each client with all servers.
    pub(super) by_any_server: Shared<HashMap<StreamKey, BTreeSet<usize>>>,
    pub(super) failures: Shared<Failures>,
    /// Types of all streams.
    pub(super) tracks: usize,
    /// Responses that tracks keep.
    pub(super) responses: KeptResponses,
    /// Memory of the metadata of all streams, in bytes.
    pub(super) metadata_bytes: usize,
    pub(super) runs: NameRuns,
    pub(super) node_digests: NodeDigests,
    specials: Specials,
    semantics: Option<SharedSemantics>,
    /// The resources that clusters and listeners wait for.
    pub(super) needs: Needs,
    /// Streams by node id, for clients that receive what they need on several streams.
    pub(super) siblings: Shared<HashMap<Arc<str>, Siblings>>,
    /// Pushes are compared by bytes only.
    by_bytes: bool,
    timed: bool,
    /// Time after which a requested resource counts as missing.
    resource_timeout: Option<Duration>,
    messages: u64,
}

/// A type on a stream, by the indices of both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackPlace {
    pub(crate) stream: usize,
    pub(crate) track: usize,
}

/// Indices of the streams of a session, in order of their start.
#[derive(Clone, Default)]
pub(super) struct Session {
    pub(super) all: Vec<usize>,
    pub(super) ended: BTreeSet<usize>,
}

/// A message to be handled.
struct ReceivedMessage<'a> {
    /// Index of the stream.
    stream: usize,
    message: &'a Message,
    /// Whether the message was handled before a checkpoint was restored.
    is_known: bool,
}

impl Engine {
    /// `timed`: the source has timestamps. Without them, no state depends on time.
    pub(crate) fn new(timed: bool) -> Engine {
        Engine { timed, ..Engine::default() }
    }

    /// Sets how contents are compared and validated. Call before the first frame.
    pub(crate) fn set_meaning(&mut self, semantics: SharedSemantics) {
        self.semantics = Some(semantics);
    }

    /// Compares only refused contents by meaning, and pushes by bytes.
    pub(crate) fn compare_by_bytes(&mut self) {
        self.by_bytes = true;
    }

    /// Sets when a requested resource counts as missing. Call before the first frame.
    pub(crate) fn set_resource_timeout(&mut self, timeout: Option<Duration>) {
        self.resource_timeout = timeout;
    }

    pub(crate) fn index(&self, id: StreamId) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Time after which a requested resource counts as missing.
    pub(super) fn resource_timeout(&self) -> Option<Duration> {
        self.resource_timeout
    }

    pub(crate) fn semantics(&self) -> Option<&super::DynSemantics> {
        self.semantics.as_deref()
    }

    pub(crate) fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Whether contents are read for the resources that they refer to.
    pub(crate) fn reads_needs(&self) -> bool {
        self.semantics.is_some()
    }

    /// Whether the source has an `xdstp:` name.
    pub(super) fn has_structured_names(&self) -> bool {
        self.specials.structured
    }

    pub(super) fn stream_at(&mut self, index: usize) -> Option<&mut Stream> {
        self.streams.get_mut(index)
    }

    pub(crate) fn streams(&self) -> Streams<'_> {
        Streams(&self.streams)
    }

    /// How the streams of each client ended.
    pub(crate) fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Messages so far.
    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// Leaves out the numbers of messages that the source lacks.
    pub(crate) fn skip_messages(&mut self, count: u64) {
        self.messages = self.messages.saturating_add(count);
    }

    /// Handles a frame. `is_known`: the frame was handled before a checkpoint was restored.
    pub(crate) fn handle(&mut self, catalog: &mut Catalog, frame: &Frame, is_known: bool) -> Outcome {
        let Frame { at, stream: id, what } = frame;
        let mut outcome = Outcome {
            stream: *id,
            at: *at,
            seq: None,
            track: None,
            what: SessionEvent::Counted,
            events: Vec::new(),
        };
        if let (FramePayload::Open(open), false) = (what, self.by_id.contains_key(id)) {
            self.begin(*id, Open::clone(open), *at);
            outcome.what = SessionEvent::Open;
            return outcome;
        }
        let index = match self.by_id.get(id) {
            Some(index) => *index,
            // The recording has lost the opening of the stream.
            None => self.begin(*id, Open { partial: true, ..Open::default() }, *at),
        };
        self.index.pass(index, *at);
        let Some(stream) = self.streams.get_mut(index) else { return outcome };
        match what {
            FramePayload::Open(_) => {}
            FramePayload::Message(message) => {
                let received = ReceivedMessage { stream: index, message, is_known };
                self.message(catalog, &received, &mut outcome);
                if let Some(stream) = self.streams.get_mut(index) {
                    stream.note_message(&mut outcome, message, catalog);
                }
            }
            FramePayload::Opaque { dir, messages, bytes } => {
                outcome.what = SessionEvent::Passed(*dir);
                if stream.is_grpc() && *messages == 0 && *bytes == 0 {
                    stream.ping(*dir, *at);
                } else {
                    stream.count(*dir, *messages, *bytes, *at);
                }
                if stream.variant() == Some(Variant::Rest) && *dir == Dir::Resp {
                    outcome.what = SessionEvent::Unchanged;
                    self.failures.polled(index, stream);
                }
            }
            FramePayload::Intercepted(what) => {
                outcome.what = SessionEvent::Intercepted(stream.interventions.len());
                let lost = losses(catalog, what, stream.find(&what.facts.type_url));
                outcome.track = stream.intercepted(&what.facts, &lost, Seq(self.messages), *at);
            }
            FramePayload::Gap { dir, messages, bytes, cause } => {
                let part = NotKeptPart { cause: *cause, messages: *messages, bytes: *bytes };
                outcome.what = stream.miss(GapFact { dir: *dir, part }, Seq(self.messages), *at);
            }
            FramePayload::End(end) => {
                if stream.closed.is_none() {
                    self.failures.ending(index, stream, end);
                    stream.close(end, *at);
                    let limits = Limits {
                        timed: self.timed,
                        resource_timeout: self.resource_timeout,
                        stale_after: None,
                    };
                    self.failures.closed(index, stream, limits);
                    self.index.close(index, stream);
                    if let Some(session) =
                        stream.chain.session.and_then(|session| self.sessions.get_mut(&session))
                    {
                        session.ended.insert(index);
                    }
                    outcome.what = SessionEvent::Close;
                }
            }
        }
        outcome
    }

    /// Adds a stream, and joins it to the session of its client if that is known.
    fn begin(&mut self, id: StreamId, open: Open, at: Time) -> usize {
        let index = self.streams.next_index();
        let (known, is_partial) = (open.node_hint.is_some(), open.partial);
        self.metadata_bytes += open.memory();
        let mut stream = Stream::new(id, open, at);
        if is_partial {
            stream.lose_messages(Seq(self.messages), at);
        }
        self.index.open(index, &stream);
        self.streams.push(stream);
        self.by_id.insert(id, index);
        self.failures.opened(index);
        if known {
            self.join(index);
        }
        index
    }

    /// Adds a stream to the session of its client, once the client is known.
    fn join(&mut self, index: usize) {
        let Some(stream) = self.streams.get(index).filter(|stream| stream.chain.session.is_none()) else {
            return;
        };
        let next = &mut self.next_session;
        let client = StreamKey::from_stream(stream);
        let session = *self.by_client.entry(client.clone()).or_insert_with(|| {
            *next += 1;
            *next
        });
        self.by_any_server.entry(client.of_any_server()).or_default().insert(session);
        let members = &mut self.sessions.entry(session).or_default().all;
        if let Some(node) = &stream.peers.node_id {
            let is_open =
                |other: usize| self.streams.get(other).is_some_and(|stream| stream.closed.is_none());
            self.siblings.entry(node.clone()).or_default().add(index, stream.is_aggregated(), is_open);
        }
        let place = members.partition_point(|other| *other < index);
        members.insert(place, index);
        if let Some(stream) = self.streams.get_mut(index) {
            stream.chain.session = Some(session);
        }
        let Some(stream) = self.streams.get(index) else { return };
        let Some(before) = self.ended_before(stream).next() else { return };
        let (id, first, reconnects) = (before.id, before.chain.first, before.chain.reconnects);
        if let Some(stream) = self.streams.get_mut(index) {
            stream.chain.reconnect_of = Some(id);
            stream.chain.first = first;
            stream.chain.reconnects = reconnects + 1;
        }
    }

    /// Searches new blobs and strings of the catalog for special ones.
    pub(super) fn note_specials(&mut self, catalog: &mut Catalog) {
        let specials = &mut self.specials;
        if !specials.wrapped {
            let new = catalog.blobs_after(specials.blobs);
            specials.wrapped = new.iter().any(|blob| match &blob.form {
                BlobForm::Wrapper { wrapper, .. } => wrapper.ttl.is_some() || !wrapper.aliases.is_empty(),
                _ => false,
            });
            specials.blobs = catalog.blob_count();
        }
        if !specials.structured {
            let len = catalog.strings().len();
            let mut new = (specials.names..len).filter_map(|sym| u32::try_from(sym).ok());
            // Contents refer to names that no message has had yet.
            specials.structured =
                catalog.mentions_structured() || new.any(|sym| xdstp::is_structured(catalog.text(Sym(sym))));
            specials.names = len;
        }
    }

    /// Records the spellings of `xdstp` names in a response.
    fn note_spellings(&self, catalog: &mut Catalog, message: &Message) {
        if self.specials.structured
            && let Some(list) = message.resources()
        {
            let names: Vec<Sym> = list.blobs().iter().map(|id| catalog.name(*id)).collect();
            xdstp::note_spellings(catalog, names);
        }
    }

    /// Applies a message to the track of its type, and collects its events.
    fn message(&mut self, catalog: &mut Catalog, received: &ReceivedMessage<'_>, outcome: &mut Outcome) {
        let ReceivedMessage { stream: index, message, is_known } = *received;
        self.messages += 1;
        let (at, seq, dir) = (outcome.at, Seq(self.messages), message.dir());
        outcome.seq = Some(seq);
        outcome.what = SessionEvent::Aside;
        self.note_specials(catalog);
        self.note_spellings(catalog, message);
        let node_before = self.count(index, message, seq, at);
        let Some(stream) = self.streams.get_mut(index) else { return };
        let is_decoded = !matches!(message.body, MessageBody::Undecodable { .. });
        if !is_decoded && !stream.count_undecodable(seq, at) {
            return;
        }
        let type_url = stream.type_of(message, |name| type_of_name(catalog.text(name)));
        outcome.track = self.track_of(index, &type_url, message, at);
        // The type of a file is that of its subscription.
        if !is_decoded {
            return;
        }
        let (Some(track), Some(stream)) = (outcome.track, self.streams.get(index)) else { return };
        let is_new = stream.tracks.get(track).is_some_and(|track| track.traffic.requests == 0);
        let has_ttl = stream.has_ttl();
        let node = if message.error_detail().is_some() { stream.peers.node.clone() } else { None };
        let plane_before = self.plane_before(index, message);
        let prior = match dir {
            Dir::Req if is_new => self.take_prior(catalog, index, &type_url, message, at),
            _ => None,
        };
        let compare = match self.semantics.as_deref() {
            Some(semantics) if dir == Dir::Req || !self.by_bytes => {
                Some(Compare { semantics, is_replay: is_known })
            }
            _ => None,
        };
        let star = catalog.intern("*");
        let mut ctx = Context {
            catalog: &mut *catalog,
            compare,
            node,
            validator: self.semantics.as_deref(),
            runs: &mut self.runs,
            specials: self.specials,
            star,
            at,
            seq,
            timed: self.timed,
            has_ttl,
            resource_timeout: self.resource_timeout,
            is_crowded: self.responses.are_many(self.tracks),
            events: EventList::default(),
        };
        let Some(stream) = self.streams.get_mut(index) else { return };
        let from_file = stream.variant() == Some(Variant::File);
        let place = TrackPlace { stream: index, track };
        let Some(track) = stream.tracks.get_mut(track) else { return };
        let changed_by = track.subscription.changed_by;
        self.responses.remove(&track.responses);
        outcome.what = apply(track, &mut ctx, message, prior, from_file);
        track.traffic.name_changes += u64::from(renames(&outcome.what, &message.body));
        self.responses.add(&track.responses);
        let mut events = std::mem::take(&mut ctx.events);
        if let SessionEvent::Request(request) = &mut outcome.what {
            stream.refuse_untyped(request, message, seq);
            request.node_changes = self.node_changes(catalog, node_before.as_deref(), message);
            self.note_request_events(catalog, &mut events, place, request, changed_by, at);
            self.note_requested(catalog, place, &request.added);
        } else if let Some(response) = message.response()
            && let Some(plane) = response.control_plane
        {
            let plane = PlaneFact { identifier: plane.clone(), n: seq, at };
            self.note_plane_change(catalog, &mut events, index, plane, plane_before);
        }
        outcome.events = events.into_entries();
        if let SessionEvent::Response(response) = &mut outcome.what {
            self.note_response(catalog, place, message, response);
            self.warm(catalog, place, response, seq, at);
        }
    }

    /// Returns the index of the type of a message on a stream, which is added if it is new and
    /// there is room for it.
    fn track_of(&mut self, index: usize, type_url: &TypeUrl, message: &Message, at: Time) -> Option<usize> {
        let stream = self.streams.get_mut(index)?;
        if !stream.makes_room_for(type_url, message) {
            return None;
        }
        let known = stream.tracks.len();
        let track = stream.track(type_url, at);
        if stream.tracks.len() > known {
            self.tracks += 1;
            self.index.update(index, stream);
        }
        Some(track)
    }

    /// Records the alternatives that a response serves, and the endpoints that clusters need again.
    fn note_response(
        &mut self,
        catalog: &mut Catalog,
        place: TrackPlace,
        message: &Message,
        response: &mut ResponseOutcome,
    ) {
        self.note_alternatives(catalog, place, response);
        let sent = message.resources().map_or(&[][..], |list| list.blobs());
        response.needed_again = self.needed_again(catalog, place, sent);
    }

    /// Records which resources begin to warm with a response, and which have warmed.
    fn warm(
        &mut self,
        catalog: &mut Catalog,
        place: TrackPlace,
        response: &ResponseOutcome,
        seq: Seq,
        at: Time,
    ) {
        let has_redirects = self.has_structured_names();
        let Some(stream) = self.streams.get_mut(place.stream) else { return };
        // The dump of a client lists itself what warms.
        let is_dump = stream.is_dump();
        let Some(track) = stream.tracks.get_mut(place.track) else { return };
        let kind = track.kind;
        if let Some(semantics) = self.semantics.as_deref() {
            if can_warm(kind) && !is_dump {
                let (runs, needs) = (&mut self.runs, &self.needs);
                let mut ctx = WarmingContext { catalog, runs, needs, semantics };
                track.start_warming(&mut ctx, response, seq, at);
            }
            if passes_needs_on(kind) || (can_warm(kind) && is_dump) {
                track.read_needs(catalog, &self.needs, semantics, response);
            }
        }
        if has_redirects && is_needed(kind) {
            track.read_redirects(catalog, &self.needs, response);
        }
        // An updated listener that has all that it needs does not wait for what comes later.
        if is_needed(kind) || kind == Some(Kind::Lds) {
            for index in self.client_of(place.stream) {
                self.settle_warming(catalog, index, at);
            }
        }
    }

    /// Counts a message, and binds its stream to the node of a request. Returns the node before, if
    /// it has another encoding.
    fn count(&mut self, index: usize, message: &Message, seq: Seq, at: Time) -> Option<Arc<NodeInfo>> {
        let stream = self.streams.get_mut(index)?;
        let mut node_before = None;
        let dir = message.dir();
        stream.count(dir, 1, message.size, at);
        stream.adopt(message.shape);
        if dir == Dir::Resp && !stream.traffic.has_response {
            stream.traffic.has_response = true;
            self.failures.answered(index, stream);
        }
        if dir == Dir::Resp && stream.variant() == Some(Variant::Rest) {
            self.failures.polled(index, stream);
        }
        let is_decoded = !matches!(message.body, MessageBody::Undecodable { .. });
        if dir == Dir::Resp && !(is_decoded && stream.states_type(message)) {
            stream.losses.unreadable = Some(seq);
        }
        if dir == Dir::Req {
            stream.traffic.requests += 1;
            stream.traffic.first_request.get_or_insert(seq);
            stream.traffic.last_request = Some(seq);
            if let Some(node) = message.node() {
                stream.peers.node_from.get_or_insert(seq);
                node_before = stream.note_node(node);
                if stream.peers.node.is_none() {
                    stream.bind(node);
                    self.index.update(index, stream);
                }
            }
            self.join(index);
        }
        node_before
    }
}

/// Applies a message to its track. `prior` is the track on the stream before.
fn apply(
    track: &mut Track,
    ctx: &mut Context<'_>,
    message: &Message,
    prior: Option<Prior>,
    from_file: bool,
) -> SessionEvent {
    match &message.body {
        MessageBody::SotwRequest(request) => SessionEvent::Request(track.sotw_request(ctx, request, prior)),
        MessageBody::DeltaRequest(request) => SessionEvent::Request(track.delta_request(ctx, request, prior)),
        MessageBody::SotwResponse(_) | MessageBody::DeltaResponse(_) | MessageBody::Undecodable { .. } => {
            match message.response() {
                Some(response) => SessionEvent::Response(track.response(ctx, &response, from_file)),
                None => SessionEvent::Aside,
            }
        }
    }
}

/// Whether a message may have changed which names a track sent, wants, or waits for.
fn renames(what: &SessionEvent, body: &MessageBody) -> bool {
    let names_resources = match body {
        MessageBody::DeltaRequest(m) => {
            let lists: [&[Sym]; 4] =
                [&m.subscribe, &m.unsubscribe, &m.locators_subscribe, &m.locators_unsubscribe];
            lists.iter().any(|list| !list.is_empty())
        }
        _ => false,
    };
    match what {
        SessionEvent::Request(request) => {
            names_resources || request.first || !request.added.is_empty() || !request.removed.is_empty()
        }
        SessionEvent::Response(response) => {
            let lists = [&response.added, &response.removed, &response.repeated, &response.claimed_resent];
            lists.iter().any(|list| !list.is_empty())
                || !response.hollow.is_empty()
                || !response.unknown_removals.is_empty()
        }
        _ => false,
    }
}
