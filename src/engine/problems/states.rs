//! Problems of open streams and of connections: refused, unanswered, warming and missing resources.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::lint::Blame;
use crate::engine::session::{
    NackFact, NameRequest, PushedVersion, Refusal, RequestSpan, Response, Stream, Track,
};
use crate::engine::store::{RefusedBy, Store, TypeState};
use crate::wire::event::{Seq, Sym, Time, TypeUrl, Variant};

use super::fact::{
    OwedResources, Problem, ProblemFact, ProblemKind, RefusedPush, RefusedResource, RefusedResources,
    Urgency, WarmingResources,
};
use super::{MAX_EVIDENCE, findings};

/// Names that a problem lists; the others are counted.
const MAX_LISTED_NAMES: usize = 3;

/// Returns the servers and clients that cannot be reached.
pub(super) fn unreachable(store: &Store) -> Vec<ProblemFact> {
    let peers = store.unreachable_peers().into_iter();
    let problem = |peer: crate::engine::store::UnreachablePeer| ProblemFact {
        kind: ProblemKind::State(TypeState::Down),
        urgency: Urgency::Error,
        blame: if peer.is_client { Blame::Client } else { Blame::Server },
        since: peer.first,
        last: None,
        count: peer.attempts,
        period: None,
        stream: peer.stream,
        streams: 1,
        has_twin: false,
        mark: None,
        node: Some(peer.address.clone()),
        type_url: TypeUrl::default(),
        at: None,
        messages: Vec::new(),
        findings: Vec::new(),
        lasts: true,
        closed: None,
        over: None,
        problem: Problem::Unreachable(peer),
    };
    peers.map(problem).collect()
}

/// Returns the states of open streams that are not as they should be, or still in time.
pub(super) fn of_open_streams(store: &Store) -> Vec<ProblemFact> {
    let mut out = Vec::new();
    let tracks =
        store.engine().open_streams().flat_map(|stream| stream.tracks_shown().map(move |t| (stream, t)));
    for (stream, track) in tracks {
        let refusal = refused(store, stream, track);
        let is_loop = refusal.as_ref().is_some_and(|of| unanswered_again(of).is_some());
        out.extend(refusal.or_else(|| still_refused(store, stream, track)));
        let condition = track.condition(store.now(), store.limits());
        match store.with_warming(stream, track, condition).state {
            TypeState::Warming => out.extend(warming(store, stream, track)),
            _ if is_loop => {}
            _ => out.extend(unanswered(store, stream, track)),
        }
        out.extend(owed(store, stream, track));
    }
    out
}

/// Returns the response with the refused content to which the client has given no answer.
fn unanswered_again(refusal: &ProblemFact) -> Option<Seq> {
    match &refusal.problem {
        Problem::Refused(refused) => refused.unanswered,
        _ => None,
    }
}

/// Returns the problem of a type whose newest responses are refused.
pub(super) fn refused(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let open = track.verdicts.refusal()?;
    let nack = track.verdicts.nacks.back()?;
    let newest = || track.verdicts.nacks.iter().rev().take(usize::try_from(open.times).unwrap_or(usize::MAX));
    let (version, in_force) = refused_version(store, stream, track, nack);
    let pending = track.responses.pending().next();
    let is_again = |of: &&Response| !of.version.is_empty() && *of.version.as_str() == *nack.version;
    let unanswered = pending.filter(is_again).map(|response| response.seq);
    let refused = RefusedPush {
        version,
        implied: nack.implied,
        times: open.times,
        open: open_refusals(store, track, true),
        first: open.since,
        is_resent: open.times > 1 && newest().all(|earlier| earlier.is_same_content(nack)),
        in_force,
        knows_in_force: !stream.open.partial && nack.refused.is_some(),
        message: Some(nack.message.clone()).filter(|text| !text.trim().is_empty()),
        is_file: stream.variant() == Some(Variant::File),
        is_guess: nack.may_refuse.is_some(),
        unanswered,
    };
    let start = Start { state: TypeState::Nack, at: open.since, n: open.n };
    let mut times: Vec<Time> = newest().map(|nack| nack.at).collect();
    times.reverse();
    let refusals = newest().flat_map(|nack| nack.refused.into_iter().chain([nack.n]));
    let evidence = unanswered.into_iter().chain(refusals);
    Some(ProblemFact {
        blame: Blame::Both,
        last: (open.times > 1).then_some(open.at),
        count: open.times,
        period: findings::period(&times),
        messages: sorted(evidence.take(MAX_EVIDENCE).collect()),
        ..fact(stream, track, start, Problem::Refused(refused))
    })
}

/// Returns the number of runs of NACKs of one content that the client still refuses. `is_open`: the
/// newest one is among them.
fn open_refusals(store: &Store, track: &Track, is_open: bool) -> usize {
    let standing = track.standing_refusals(store.catalog()).into_iter();
    let standing: BTreeSet<Seq> = standing.map(|(refusal, _)| refusal.nack).collect();
    let mut runs: Vec<bool> = Vec::new();
    let mut last: Option<&NackFact> = None;
    for nack in &track.verdicts.nacks {
        if !last.is_some_and(|last| last.is_same_content(nack)) {
            runs.push(false);
        }
        let stands = standing.contains(&nack.n);
        runs.last_mut().into_iter().for_each(|run| *run |= stands);
        last = Some(nack);
    }
    runs.last_mut().into_iter().for_each(|run| *run |= is_open);
    runs.into_iter().filter(|run| *run).count()
}

/// Returns the version that a NACK refuses, and the one that the client keeps.
///
/// Without a version of the response, the refused one is that of the first resource that the NACK
/// names, or whose removal it refuses; on a delta stream the client keeps a version of that
/// resource.
fn refused_version(
    store: &Store,
    stream: &Stream,
    track: &Track,
    nack: &NackFact,
) -> (PushedVersion, Option<Arc<str>>) {
    let in_force = track.version_in_force().map(|version| Arc::from(version.as_str()));
    let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
    if nack.refused.is_none() {
        return (PushedVersion::Unknown, in_force.filter(|_| !is_delta));
    }
    if !nack.version.is_empty() {
        return (PushedVersion::Whole(nack.version.clone()), in_force);
    }
    match store.refused_of_track(stream, track, nack.n) {
        Some(RefusedBy { name, version, is_removal, in_force: own, more, .. }) => {
            let pushed = match is_removal {
                true => PushedVersion::Removal { name, more },
                false => PushedVersion::Resource { name, version, more },
            };
            (pushed, if is_delta { own } else { in_force })
        }
        None if is_delta => (PushedVersion::Empty, None),
        None => (PushedVersion::Whole(nack.version.clone()), in_force),
    }
}

fn refused_resource(store: &Store, track: &Track, name: Sym, refusal: &Refusal) -> RefusedResource {
    let in_force = store.used_by_client(track, name);
    RefusedResource {
        name: store.text(name),
        version: store.text(refusal.version),
        is_removal: track.refused.removal(name) == Some(*refusal),
        in_force: in_force.map(|entry| store.text(entry.version)),
    }
}

/// Returns the problem of resources that a NACK names and whose content no later response has
/// corrected, although the client has accepted a later response (docs/protocol.md#f-34).
fn still_refused(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let refusals = track.standing_refusals(store.catalog());
    let (refusal, name) = *refusals.first()?;
    let nack = track.verdicts.nacks.iter().find(|nack| nack.n == refusal.nack)?;
    let refused = RefusedResources {
        first: refused_resource(store, track, name, &refusal),
        response: refusal.response,
        more: refusals.len() - 1,
        open: open_refusals(store, track, false),
        message: Some(nack.message.clone()).filter(|text| !text.trim().is_empty()),
        is_guess: nack.may_refuse.is_some(),
    };
    let start = Start { state: TypeState::Nack, at: nack.at, n: nack.n };
    Some(ProblemFact {
        kind: ProblemKind::StillRefused,
        blame: Blame::Both,
        messages: sorted(vec![refusal.response, nack.n]),
        ..fact(stream, track, start, Problem::StillRefused(refused))
    })
}

fn unanswered(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let limit = store.limits().stale_after?;
    let response = track.responses.pending().next()?;
    if store.now().since(track.verdict_due_from(response.at)) < limit {
        return None;
    }
    let version = store.pushed_version(stream, response);
    let is_guess = track.verdicts.may_be_accepted == Some(response.seq);
    let (is_polling, stray) = (track.polled, None);
    let problem = Problem::Unanswered { version, response: response.seq, is_polling, stray, is_guess };
    let start = Start { state: TypeState::Stale, at: response.at, n: response.seq };
    let pending = track.responses.pending().take(MAX_EVIDENCE).map(|response| response.seq);
    Some(ProblemFact {
        blame: Blame::Client,
        messages: pending.collect(),
        ..fact(stream, track, start, problem)
    })
}

fn owed(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let limits = Limits { store };
    let waited = || track.waiting.iter().filter(|(_, request)| request.is_owed());
    let Some((_, first)) = waited().min_by_key(|(_, request)| request.since) else {
        let (at, n) = track.subscription.wildcard_owed?;
        let limit = limits.left(at);
        let needed_by = track.kind.and_then(|kind| store.warming_for(stream, kind, None));
        let owed = OwedResources {
            names: Vec::new(),
            more: 0,
            requests: None,
            has_older: false,
            is_first: true,
            unreadable: stream.unreadable.filter(|seq| *seq > n),
            limit,
            needed_by,
            broken: None,
        };
        return Some(fact(stream, track, Start { state: limits.state(at), at, n }, Problem::Owed(owed)));
    };
    let state = limits.state(first.since);
    let alike = waited().filter(|(_, request)| limits.state(request.since) == state);
    let names: Vec<Sym> = alike.map(|(name, _)| name).collect();
    let is_older = |name: &Sym| track.is_owed_anew(*name, track.sent.get(store.catalog(), *name).as_ref());
    let has_older = names.first().is_some_and(is_older);
    let owed = OwedResources {
        names: names.iter().take(MAX_LISTED_NAMES).map(|name| store.text(*name)).collect(),
        more: names.len().saturating_sub(MAX_LISTED_NAMES),
        requests: (state == TypeState::Miss || has_older).then(|| request_span(stream, track, first)),
        has_older,
        is_first: track.traffic.pushes == 0,
        unreadable: stream.unreadable.filter(|seq| *seq > first.first),
        limit: limits.left(first.since),
        needed_by: track.kind.and_then(|kind| store.warming_for(stream, kind, Some(&names))),
        broken: None,
    };
    let messages = owed.requests.map_or_else(Vec::new, |span| sorted(vec![span.first, span.last]));
    let start = Start { state, at: first.since, n: first.first };
    let owed = fact(stream, track, start, Problem::Owed(owed));
    Some(if messages.is_empty() { owed } else { ProblemFact { messages, ..owed } })
}

/// Returns the problem of resources that warm for more than missing resources, which are problems
/// of their own.
fn warming(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let mut warming = store.warming_of_track(stream, track);
    warming.retain(|fact| !fact.is_told_by_needs());
    let more = warming.len().checked_sub(1)?;
    let first = warming.swap_remove(0);
    let start = Start { state: TypeState::Warming, at: first.since, n: first.response };
    let limit = Limits { store }.left(first.since);
    let urgency = if limit.is_some() { Urgency::Pending } else { Urgency::Warning };
    let problem = Problem::Warming(WarmingResources { first: Box::new(first), more, limit });
    Some(ProblemFact { urgency, ..fact(stream, track, start, problem) })
}

/// The time limits of a source.
struct Limits<'a> {
    store: &'a Store,
}

impl Limits<'_> {
    /// Returns the state of resources asked for at `since`.
    fn state(&self, since: Time) -> TypeState {
        match self.store.limits().resource_timeout {
            Some(limit) if self.store.now().since(since) >= limit => TypeState::Miss,
            _ => TypeState::Wait,
        }
    }

    /// Returns the time limit for resources asked for at `since`, unless it is over.
    fn left(&self, since: Time) -> Option<Duration> {
        self.store.limits().resource_timeout.filter(|_| self.state(since) == TypeState::Wait)
    }
}

/// The start of a problem.
struct Start {
    state: TypeState,
    at: Time,
    n: Seq,
}

/// Returns a problem that the server owes something for, seen once.
fn fact(stream: &Stream, track: &Track, start: Start, problem: Problem) -> ProblemFact {
    let urgency = match start.state {
        TypeState::Wait | TypeState::Sent => Urgency::Pending,
        TypeState::Nack => Urgency::Error,
        _ => Urgency::Warning,
    };
    ProblemFact {
        kind: ProblemKind::State(start.state),
        urgency,
        blame: Blame::Server,
        since: start.at,
        last: None,
        count: 1,
        period: None,
        stream: stream.id,
        streams: 1,
        has_twin: false,
        mark: None,
        node: stream.node_id.clone(),
        type_url: track.type_url.clone(),
        at: Some(start.n),
        messages: vec![start.n],
        findings: Vec::new(),
        lasts: true,
        closed: stream.closed.as_ref().map(|(at, _)| *at),
        over: None,
        problem,
    }
}

fn sorted(mut messages: Vec<Seq>) -> Vec<Seq> {
    messages.sort_unstable();
    messages.dedup();
    messages
}

fn request_span(stream: &Stream, track: &Track, request: &NameRequest) -> RequestSpan {
    let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
    track.request_span(request, is_delta)
}
