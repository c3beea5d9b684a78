//! Problems of open streams: refused, unanswered and missing resources.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::session::{NameRequest, RequestSpan, Stream, Track};
use crate::wire::event::{Seq, StreamId, Sym, Time, TypeUrl};

use super::{Store, TypeState, WarmingFact};

/// Names that a problem lists; the others are counted.
const MAX_LISTED_NAMES: usize = 3;

/// A state that someone must act on, or that is still in time.
#[derive(Clone, Debug)]
pub struct ProblemFact {
    /// The word for the problem.
    pub state: TypeState,
    /// When the state began.
    pub since: Time,
    /// The stream; for an unreachable peer the newest attempt.
    pub stream: StreamId,
    /// The node id; for an unreachable peer the address.
    pub node: Option<Arc<str>>,
    /// Empty for an unreachable peer.
    pub type_url: TypeUrl,
    /// The message to look at.
    pub at: Option<Seq>,
    /// The defect.
    pub problem: Problem,
}

/// A defect of a type on a stream, or of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The client refuses what the server pushes.
    Refused(RefusedPush),
    /// The client has neither accepted nor refused a response in time.
    Unanswered {
        /// Version of the response.
        version: Arc<str>,
        /// The response.
        response: Seq,
    },
    /// Resources of the type wait for others that the server has not sent, although the client has
    /// what it asked for, or withholds its verdict.
    Warming(WarmingResources),
    /// The server has not sent resources that the client asked for.
    Owed(OwedResources),
    /// Connections to a server, or of a client, end before there is a stream.
    Unreachable(UnreachablePeer),
}

/// The newest NACK of a type, and the NACKs before it since the last ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPush {
    /// Version of the refused response.
    pub version: Arc<str>,
    /// The request carries an older version, but no `error_detail`.
    pub implied: bool,
    /// NACKs since the last ACK.
    pub times: u64,
    /// When the first of these NACKs came.
    pub first: Time,
    /// The server sent one version again after each of these NACKs.
    pub is_resent: bool,
    /// The version that the client keeps, if it has accepted any.
    pub in_force: Option<Arc<str>>,
    /// The message of `error_detail`, unless it is empty.
    pub message: Option<Arc<str>>,
}

/// Resources of a type that wait for others. The server owes those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmingResources {
    /// The resource that has waited longest.
    pub first: Box<WarmingFact>,
    /// How many more resources there are.
    pub more: usize,
    /// The time limit, while it is not over.
    pub limit: Option<Duration>,
}

/// Resources that the client asked for and the server has not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedResources {
    /// The first names; none for a wildcard.
    pub names: Vec<Arc<str>>,
    /// How many more names there are.
    pub more: usize,
    /// The requests for the first name, once the time limit is over.
    pub requests: Option<RequestSpan>,
    /// The server has not sent a response of this type on the stream.
    pub is_first: bool,
    /// The time limit, while it is not over.
    pub limit: Option<Duration>,
}

/// Attempts to connect through the tap since the last one that had a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachablePeer {
    /// The connection of the client to the tap failed, not that of the tap to the server.
    pub is_client: bool,
    /// How many attempts there were.
    pub attempts: u64,
    /// When the first of them was made.
    pub first: Time,
    /// The step that failed in the newest attempt: `connect failed: Connection refused`.
    pub reason: String,
}

impl ProblemFact {
    /// The words of the client, if it sent any.
    pub fn quote(&self) -> Option<&Arc<str>> {
        match &self.problem {
            Problem::Refused(refused) => refused.message.as_ref(),
            _ => None,
        }
    }
}

impl Store {
    pub(super) fn problem_facts(&self) -> Vec<ProblemFact> {
        let mut out = self.unreachable();
        let open = self.engine.streams().iter().filter(|stream| stream.closed.is_none());
        let tracks = open.flat_map(|stream| stream.tracks_shown().map(move |track| (stream, track)));
        for (stream, track) in tracks {
            out.extend(refused(stream, track));
            match self.warming_problem(stream, track) {
                Some(warming) => out.push(warming),
                None => out.extend(self.unanswered(stream, track)),
            }
            out.extend(self.owed(stream, track));
        }
        // Unreachable peers come first, resources that are still in time last.
        let rank = |problem: &ProblemFact| match problem.state {
            TypeState::Down => 0,
            TypeState::Wait | TypeState::Sent => 2,
            _ => 1,
        };
        out.sort_by(|a, b| {
            let newest = (b.since, b.stream, &b.type_url).cmp(&(a.since, a.stream, &a.type_url));
            rank(a).cmp(&rank(b)).then(newest)
        });
        out
    }

    fn unanswered(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let limit = self.limits.stale_after?;
        let response = track.responses.pending().next()?;
        if self.now.since(track.verdict_due_from(response.at)) < limit {
            return None;
        }
        let version = Arc::from(response.version.as_str());
        let problem = Problem::Unanswered { version, response: response.seq };
        Some(fact(
            stream,
            track,
            Began { state: TypeState::Stale, at: response.at, n: response.seq },
            problem,
        ))
    }

    fn owed(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let waited = || track.waiting.iter().filter(|(_, request)| !request.has_resource);
        let Some((_, first)) = waited().min_by_key(|(_, request)| request.since) else {
            let (at, n) = track.subscription.wildcard_owed?;
            let owed = OwedResources {
                names: Vec::new(),
                more: 0,
                requests: None,
                is_first: true,
                limit: self.time_limit(at),
            };
            return Some(fact(
                stream,
                track,
                Began { state: self.waiting_state(at), at, n },
                Problem::Owed(owed),
            ));
        };
        let state = self.waiting_state(first.since);
        let alike = waited().filter(|(_, request)| self.waiting_state(request.since) == state);
        let names: Vec<Sym> = alike.map(|(name, _)| name).collect();
        let owed = OwedResources {
            names: names.iter().take(MAX_LISTED_NAMES).map(|name| self.text(*name)).collect(),
            more: names.len().saturating_sub(MAX_LISTED_NAMES),
            requests: (state == TypeState::Miss).then(|| request_span(stream, track, first)),
            is_first: track.traffic.pushes == 0,
            limit: self.time_limit(first.since),
        };
        Some(fact(stream, track, Began { state, at: first.since, n: first.first }, Problem::Owed(owed)))
    }

    fn warming_problem(&self, stream: &Stream, track: &Track) -> Option<ProblemFact> {
        let condition = track.condition(self.now, self.limits);
        if self.with_warming(stream, track, condition).state != TypeState::Warming {
            return None;
        }
        let mut warming = self.warming_of_track(stream, track);
        let more = warming.len().checked_sub(1)?;
        let first = warming.swap_remove(0);
        let began = Began { state: TypeState::Warming, at: first.since, n: first.response };
        let limit = self.time_limit(first.since);
        let problem = Problem::Warming(WarmingResources { first: Box::new(first), more, limit });
        Some(fact(stream, track, began, problem))
    }

    fn waiting_state(&self, since: Time) -> TypeState {
        match self.limits.resource_timeout {
            Some(limit) if self.now.since(since) >= limit => TypeState::Miss,
            _ => TypeState::Wait,
        }
    }

    /// The time limit for resources asked for at `since`, unless it is over.
    fn time_limit(&self, since: Time) -> Option<Duration> {
        self.limits.resource_timeout.filter(|_| self.waiting_state(since) == TypeState::Wait)
    }
}

/// The start of a problem.
struct Began {
    state: TypeState,
    at: Time,
    n: Seq,
}

fn fact(stream: &Stream, track: &Track, began: Began, problem: Problem) -> ProblemFact {
    ProblemFact {
        state: began.state,
        since: began.at,
        stream: stream.id,
        node: stream.node_id.clone(),
        type_url: track.type_url.clone(),
        at: Some(began.n),
        problem,
    }
}

fn refused(stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let open = track.verdicts.open_nack()?;
    let nack = track.verdicts.nacks.back()?;
    let mut newest =
        track.verdicts.nacks.iter().rev().take(usize::try_from(open.times).unwrap_or(usize::MAX));
    let refused = RefusedPush {
        version: nack.version.clone(),
        implied: nack.implied,
        times: open.times,
        first: open.since,
        is_resent: open.times > 1 && newest.all(|earlier| earlier.version == nack.version),
        in_force: track.verdicts.in_force.as_ref().map(|known| Arc::from(known.version.as_str())),
        message: Some(nack.message.clone()).filter(|text| !text.is_empty()),
    };
    Some(fact(
        stream,
        track,
        Began { state: TypeState::Nack, at: open.at, n: open.n },
        Problem::Refused(refused),
    ))
}

fn request_span(stream: &Stream, track: &Track, request: &NameRequest) -> RequestSpan {
    let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
    track.request_span(request, is_delta)
}
