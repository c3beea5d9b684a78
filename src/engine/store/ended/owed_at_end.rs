//! Answers still owed when a stream closed, unless a later stream of the client was answered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::session::{
    Condition, PushedVersion, Response, Stream, StreamEnds, StreamKey, Track, is_counted, is_ended_by_client,
};
use xdscope_wire::event::{Seq, Side, StreamId, Sym, Time, TypeUrl};

use super::EndedStreams;
use super::silent_servers::SilentServers;
use crate::store::{EndFact, TypeState, WarmingFact, WarmingUser};

/// Names that a debt lists; the others are counted.
const MAX_LISTED_NAMES: usize = 3;

/// An answer that one side still owed when the stream closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedAtEnd {
    /// The closed stream.
    pub stream: StreamId,
    /// The node id.
    pub node: Option<Arc<str>>,
    /// The type.
    pub type_url: TypeUrl,
    /// The last state of the type.
    pub state: TypeState,
    /// When the stream closed.
    pub closed: Time,
    /// How the stream ended.
    pub end: EndFact,
    /// When the message was sent that has no answer.
    pub since: Time,
    /// The message that has no answer.
    pub at: Seq,
    /// The missing answer, and the side that owes it.
    pub debt: Debt,
}

/// A missing answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Debt {
    /// The client owes an ACK or a NACK.
    Verdict {
        /// Version of the oldest response without a verdict.
        version: PushedVersion,
        /// Responses without a verdict.
        responses: u64,
    },
    /// The server owes what resources warmed for: the one that had waited longest.
    Warming(Box<WarmingFact>),
    /// The server owes resources; no names stand for a wildcard.
    Resources {
        /// The first names.
        names: Vec<Arc<str>>,
        /// How many more names there are.
        more: usize,
        /// The first resource that warmed for a name.
        needed_by: Option<WarmingUser>,
    },
}

impl Debt {
    /// The side that owes the answer.
    pub fn side(&self) -> Side {
        match self {
            Debt::Verdict { .. } => Side::Client,
            Debt::Resources { .. } | Debt::Warming(_) => Side::Server,
        }
    }
}

impl OwedAtEnd {
    /// Returns the version of the response on which the client has ended its stream without an
    /// answer.
    pub fn version_hung_up_on(&self) -> Option<&PushedVersion> {
        match &self.debt {
            Debt::Verdict { version, .. } if self.end.by == Some(Side::Client) => Some(version),
            _ => None,
        }
    }

    /// Whether two clients owe a verdict on responses of one type and version.
    pub(crate) fn is_of_one_response(&self, other: &OwedAtEnd) -> bool {
        match (&self.debt, &other.debt) {
            (Debt::Verdict { version, .. }, Debt::Verdict { version: of_other, .. }) => {
                version == of_other && self.type_url == other.type_url
            }
            _ => false,
        }
    }
}

impl<'a> EndedStreams<'a> {
    /// Returns the answers still owed on the newest closed stream of each client, unless a later
    /// stream of the client was answered, or asks for the type again; and the answers that clients
    /// owed when they ended a stream themselves, until a later stream settles them.
    pub fn owed_at_end(&self) -> Vec<OwedAtEnd> {
        let open = self.newest_open_streams();
        let hung_up = self.hung_up_streams();
        let mut out = self.owed_after_hang_up(&hung_up, &open);
        let hung_up: HashSet<StreamId> = hung_up.iter().map(|(_, _, stream)| stream.id).collect();
        let silent_servers = self.silent_servers();
        for stream in self.unreplaced_streams() {
            let is_query = self.store.engine.failures().of_stream(stream).is_some_and(|ends| ends.is_query);
            let is_late =
                stream.closed.as_ref().is_some_and(|(at, _)| stream.is_overdue(*at, self.store.limits));
            if is_query && !is_late {
                continue;
            }
            let later =
                open.get(&StreamKey::from_stream(stream)).filter(|later| later.opened >= stream.opened);
            for track in stream.tracks_shown() {
                if let Some(later) = later
                    && let Some(restated) = later.find(&track.type_url)
                    && restated.traffic.requests > 0
                {
                    continue;
                }
                // A tool owes no verdicts, and nothing warms in it.
                if !is_query {
                    let warming = self.warming_owed(stream, track);
                    let is_told = warming.as_ref().is_some_and(|(_, is_withheld)| *is_withheld)
                        || hung_up.contains(&stream.id);
                    out.extend(warming.and_then(|(owed, _)| owed));
                    if !is_told {
                        out.extend(self.verdict_owed(stream, track));
                    }
                }
                out.extend(self.resources_owed(stream, track, &silent_servers));
            }
        }
        out.sort_by_key(|owed| owed.stream);
        out
    }

    /// Returns the newest stream of each client that the client ended while it owed an answer,
    /// unless another server has replaced the stream.
    fn hung_up_streams(&self) -> Vec<(&StreamKey, &StreamEnds, &Stream)> {
        let mut out = Vec::new();
        for (key, ends) in self.store.engine.failures().clients() {
            let stream = ends.hung_up.and_then(|index| self.store.engine.streams().get(index));
            out.extend(stream.map(|stream| (key, ends, stream)));
        }
        if !out.is_empty() {
            let servers = self.servers();
            out.retain(|(_, _, stream)| {
                let closed = stream.closed.as_ref().map_or(stream.opened, |(at, _)| *at);
                !servers.has_replaced(&self.store.catalog, stream, closed)
            });
        }
        out
    }

    /// Returns the verdicts that clients owed when they ended their streams, as one does that
    /// crashes on a response.
    fn owed_after_hang_up(
        &self,
        hung_up: &[(&StreamKey, &StreamEnds, &Stream)],
        open: &HashMap<StreamKey, &Stream>,
    ) -> Vec<OwedAtEnd> {
        let mut out = Vec::new();
        for (key, ends, stream) in hung_up {
            let later = ends.answered.max(ends.unreplaced).filter(|later| Some(*later) > ends.hung_up);
            let later = later.and_then(|later| self.store.engine.streams().get(later));
            let later = open.get(*key).copied().filter(|open| open.opened >= stream.opened).or(later);
            out.extend(self.verdicts_owed_since(stream, later));
        }
        out
    }

    /// Returns the verdicts that a client owed when it ended a stream, and that no later stream has
    /// settled. `later`: the newest stream of the client since.
    pub(super) fn verdicts_owed_since(
        self,
        stream: &'a Stream,
        later: Option<&'a Stream>,
    ) -> impl Iterator<Item = OwedAtEnd> + 'a {
        let tracks = stream.tracks_shown().filter(move |track| self.still_owes_verdict(stream, track, later));
        tracks.filter_map(move |track| self.verdict_owed(stream, track))
    }

    /// Whether a verdict that was owed when a stream ended is still owed. `later`: the newest
    /// stream of the client since.
    fn still_owes_verdict(self, stream: &Stream, track: &Track, later: Option<&Stream>) -> bool {
        let Some(response) = track.responses.pending().next() else { return false };
        if self.is_settled_later(stream, track) || self.has_left_to_another(stream, track, Some(response.at))
        {
            return false;
        }
        let is_settled = match later {
            Some(later) => self.does_without(later, &track.type_url),
            None => self.has_crossed_end(stream, track, response),
        };
        let is_withheld = || self.warming_owed(stream, track).is_some_and(|(_, is_withheld)| is_withheld);
        !is_settled && !is_withheld()
    }

    /// Whether a stream ended sooner after a response than its client usually answers one: the
    /// response may have crossed the end.
    fn has_crossed_end(&self, stream: &Stream, track: &Track, response: &Response) -> bool {
        let Some((closed, _)) = &stream.closed else { return false };
        let waited = closed.since(response.at).as_secs_f64() * 1000.0;
        self.store.limits.timed && track.verdicts.latencies().is_some_and(|(median, _)| waited < median)
    }

    /// Whether a stream has been answered for so long that its client does without a type for which
    /// it has not asked.
    fn does_without(&self, stream: &Stream, type_url: &TypeUrl) -> bool {
        let has_asked = stream.find(type_url).is_some_and(|track| track.traffic.requests > 0);
        let age = stream.clock(self.store.now).since(stream.opened);
        let is_settled = self.store.limits.resource_timeout.is_none_or(|limit| age >= limit);
        stream.is_answered() && is_settled && !has_asked
    }

    fn newest_open_streams(&self) -> HashMap<StreamKey, &Stream> {
        let open = self.store.engine.open_streams().filter(|stream| is_counted(stream));
        open.map(|stream| (StreamKey::from_stream(stream), stream)).collect()
    }

    /// Returns the newest closed stream with requests of each client, in the order of openings,
    /// unless a later stream of the client was answered, by that server or another one.
    pub fn unreplaced_streams(self) -> impl Iterator<Item = &'a Stream> {
        let clients = self.store.engine.failures().clients();
        let mut indices: Vec<usize> = clients.filter_map(|(_, ends)| ends.unreplaced).collect();
        indices.sort_unstable();
        let servers = (!indices.is_empty()).then(|| self.servers());
        let streams = indices.into_iter().filter_map(move |index| self.store.engine.streams().get(index));
        streams.filter(move |stream| {
            let closed = stream.closed.as_ref().map_or(stream.opened, |(at, _)| *at);
            servers.as_ref().is_none_or(|servers| !servers.has_replaced(&self.store.catalog, stream, closed))
        })
    }

    /// Returns the types of closed streams whose content the client still refuses: no later stream
    /// of the client has settled the refusal (docs/protocol.md#e-21).
    pub(crate) fn refused_at_end(self) -> Vec<(&'a Stream, &'a Track)> {
        let engine = &self.store.engine;
        let streams = engine.failures().refusing_streams();
        let streams = streams.filter_map(|(index, is_tool)| Some((engine.streams().get(index)?, is_tool)));
        let streams: Vec<&'a Stream> = streams
            .filter(|(stream, is_tool)| !is_tool || engine.is_back_at_once(stream))
            .map(|(stream, _)| stream)
            .collect();
        if streams.is_empty() {
            return Vec::new();
        }
        let servers = self.servers();
        let is_replaced = |stream: &Stream| {
            let closed = stream.closed.as_ref().map_or(stream.opened, |(at, _)| *at);
            servers.has_replaced(&self.store.catalog, stream, closed)
        };
        let is_open = |(stream, track): &(&'a Stream, &'a Track)| {
            track.verdicts.refusal().is_some()
                && !self.is_settled_later(stream, track)
                && !self.has_left_to_another(stream, track, track.verdicts.last_at)
        };
        let tracks = streams.into_iter().filter(|stream| !is_replaced(stream));
        tracks
            .flat_map(|stream| stream.tracks_shown().map(move |track| (stream, track)))
            .filter(is_open)
            .collect()
    }

    /// Whether a later stream of the client has settled what the client refused on a closed one:
    /// with a verdict about the type, or because the server owes nothing of the type.
    pub(crate) fn is_settled_later(&self, stream: &Stream, track: &Track) -> bool {
        track.lifetime.replaced.is_some()
            && self
                .store
                .engine
                .later_tracks(stream, &track.type_url)
                .any(|(later, track)| self.is_settled_by(later, track))
    }

    /// Whether a stream settles what the client refused, or had not answered, on an earlier one.
    pub(crate) fn is_settled_by(&self, later: &Stream, track: &Track) -> bool {
        let state = || track.state(&self.store.catalog, later.clock(self.store.now), self.store.limits).state;
        track.traffic.requests > 0
            && (track.verdicts.last_at.is_some() || matches!(state(), TypeState::Synced | TypeState::Idle))
    }

    /// Whether a later stream of the client continues with a refusal of a closed one.
    pub(crate) fn is_refused_later(&self, stream: &Stream, track: &Track) -> bool {
        let Some((_, newest)) = self.store.engine.later_tracks(stream, &track.type_url).last() else {
            return false;
        };
        let mut earlier = newest.refusals_before(&self.store.catalog);
        earlier.any(|(earlier, _)| track.verdicts.nack(earlier.refusal.nack).is_some())
    }

    /// Whether the client has ended the stream, and another open stream of the node, such as the
    /// one of a hot restart, has accepted a response of the type since a time.
    fn has_left_to_another(&self, stream: &Stream, track: &Track, since: Option<Time>) -> bool {
        let has_left = stream.closed.as_ref().is_some_and(|(_, end)| end.by == Some(Side::Client));
        let accepts = |other: &Track| other.verdicts.refusal().is_none() && other.verdicts.last_at > since;
        let mut others = self.store.engine.open_of_node(stream);
        has_left && others.any(|other| other.find(&track.type_url).is_some_and(accepts))
    }

    /// Returns what the server owes to warming resources, and whether the client withheld its
    /// verdict until then. Missing resources are debts of their own.
    fn warming_owed(&self, stream: &Stream, track: &Track) -> Option<(Option<OwedAtEnd>, bool)> {
        let (closed, _) = stream.closed.as_ref()?;
        if self.store.state_at(stream, track, *closed).state != TypeState::Warming {
            return None;
        }
        let warming = self.store.warming_of_track(stream, track);
        let is_withheld = warming.first()?.withheld.is_some();
        let first = warming.into_iter().find(|fact| !fact.is_told_by_needs());
        let owed = first.and_then(|first| {
            let condition = first.condition(stream.opened);
            self.owed_by_server(stream, track, condition, Debt::Warming(Box::new(first)), false)
        });
        Some((owed, is_withheld))
    }

    /// Returns the verdict that a client owed when its stream closed.
    fn verdict_owed(&self, stream: &Stream, track: &Track) -> Option<OwedAtEnd> {
        let response = track.responses.pending().next()?;
        let (closed, end) = stream.closed.as_ref()?;
        let verdict = track.verdict_on(response);
        // A client had no time to answer if the server cut the stream off.
        let in_time = self.store.limits.left(&verdict, *closed).is_some();
        if in_time && end.by != Some(Side::Client) {
            return None;
        }
        let version = self.store.pushed_version(stream, response);
        let responses = track.responses.pending().count() as u64;
        self.owed_answer(stream, track, verdict, Debt::Verdict { version, responses })
    }

    /// Returns the resources that the server owed when a stream closed.
    fn resources_owed(
        &self,
        stream: &Stream,
        track: &Track,
        silent_servers: &SilentServers<'_>,
    ) -> Option<OwedAtEnd> {
        let is_silent = silent_servers.has_server_of(stream, self.store.limits);
        let waited = || track.waiting.owed();
        let needed_by = |names: Option<&[Sym]>| self.store.warming_for(stream, track.kind?, names);
        let Some(oldest) = track.waiting.oldest_owed() else {
            let wildcard = track.wildcard_owed()?;
            let debt = Debt::Resources { names: Vec::new(), more: 0, needed_by: needed_by(None) };
            return self.owed_by_server(stream, track, wildcard, debt, is_silent);
        };
        let waited_for: Vec<Sym> = waited().map(|(name, _)| name).collect();
        let names = waited().take(MAX_LISTED_NAMES).map(|(name, _)| self.store.text(name)).collect();
        let more = waited().count().saturating_sub(MAX_LISTED_NAMES);
        let debt = Debt::Resources { names, more, needed_by: needed_by(Some(&waited_for)) };
        self.owed_by_server(stream, track, oldest.condition(), debt, is_silent)
    }

    /// Returns the fact of an answer that a server owed when a stream closed. A client that leaves
    /// before the server is late is owed nothing, unless xdscope may have kept the answer, the
    /// client has given up the stream before in the same way, or the server answers no client
    /// (`is_silent`).
    fn owed_by_server(
        &self,
        stream: &Stream,
        track: &Track,
        condition: Condition,
        debt: Debt,
        is_silent: bool,
    ) -> Option<OwedAtEnd> {
        let (closed, end) = stream.closed.as_ref()?;
        let in_time = self.store.limits.left(&condition, *closed).is_some();
        let before = stream.chain.reconnect_of.and_then(|id| self.store.engine.stream(id));
        let gives_up_again =
            before.and_then(|before| before.find(&track.type_url)).is_some_and(Track::is_owed);
        let is_excused = in_time && stream.interventions.is_empty() && !gives_up_again && !is_silent;
        if is_excused && is_ended_by_client(end) {
            return None;
        }
        self.owed_answer(stream, track, condition, debt)
    }

    /// Returns the fact of an answer that was owed when a stream closed.
    fn owed_answer(
        &self,
        stream: &Stream,
        track: &Track,
        condition: Condition,
        debt: Debt,
    ) -> Option<OwedAtEnd> {
        let (closed, end) = stream.closed.as_ref()?;
        Some(OwedAtEnd {
            stream: stream.id,
            node: stream.peers.node_id.clone(),
            type_url: track.type_url.clone(),
            state: self.store.state_at(stream, track, *closed).state,
            closed: *closed,
            end: EndFact::from(end),
            since: condition.since,
            at: condition.message,
            debt,
        })
    }
}
