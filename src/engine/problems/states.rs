//! Problems of open streams and of connections: unanswered, warming and missing resources.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lint::Blame;
use crate::session::{
    Condition, ConditionKind, NameRequest, ReportedError, RequestSpan, Stream, Track, Wildcard,
};
use crate::store::{AbsentResources, Store, TypeState, UnreachablePeer, WarmingFact};
use xdscope_wire::event::{Code, Seq, Sym, Time};

use super::cause::blame_xdscope;
use super::fact::{
    OwedResources, Problem, ProblemFact, ProblemKind, ReportedErrors, Urgency, WarmingResources,
};
use super::{MAX_EVIDENCE, refusals};

/// The code of gRPC for a resource that does not exist.
const NOT_FOUND: Code = Code(5);
/// Names that a problem lists; the others are counted.
const MAX_LISTED_NAMES: usize = 3;
/// Reasons of a server for not sending resources of a type that are problems of their own.
const MAX_ERRORS: usize = 8;

/// Returns the servers and clients that cannot be reached.
pub(super) fn unreachable(store: &Store) -> Vec<ProblemFact> {
    let peers = store.ended().unreachable_peers().into_iter();
    let problem = |peer: UnreachablePeer| {
        let blame = if peer.is_client { Blame::Client } else { Blame::Server };
        ProblemFact {
            count: peer.attempts,
            node: Some(peer.address.clone()),
            ..ProblemFact::new(
                ProblemKind::State(TypeState::Down),
                (Urgency::Error, blame),
                peer.first,
                peer.stream,
                Problem::Unreachable(peer),
            )
        }
    };
    peers.map(problem).collect()
}

/// Returns the states of open streams that are not as they should be, or still in time.
pub(super) fn of_open_streams(store: &Store) -> Vec<ProblemFact> {
    let mut out = Vec::new();
    let tracks =
        store.engine().open_streams().flat_map(|stream| stream.tracks_shown().map(move |t| (stream, t)));
    for (stream, track) in tracks {
        let first = out.len();
        let refused = refusals::refused(store, stream, track);
        let is_loop = refused.iter().any(|problem| refusals::unanswered_again(problem).is_some());
        if refused.is_empty() {
            out.extend(refusals::still_refused(store, stream, track));
        }
        out.extend(refused);
        let state = store.state_at(stream, track, store.now()).state;
        // The refusal of one update does not hide that others warm.
        if matches!(state, TypeState::Warming | TypeState::Nack) {
            out.extend(warming(store, stream, track).into_iter().flatten());
        }
        if !is_loop && !store.is_verdict_withheld(stream, track) {
            out.extend(unanswered(store, stream, track));
        }
        out.extend(used_without(store, stream, track));
        out.extend(owed(store, stream, track));
        out.extend(reported(store, stream, track));
        out.extend(absent_targets(store, stream, track));
        for problem in out.iter_mut().skip(first) {
            blame_xdscope(problem, stream, track);
        }
    }
    out
}

/// Returns the problem of the oldest push to which the client owes an answer.
fn unanswered(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let response = track.responses.pending().next()?;
    let verdict = track.verdict_on(response);
    if !store.limits().is_overdue(&verdict, store.now()) {
        return None;
    }
    let version = store.pushed_version(stream, response);
    let is_guess = track.verdicts.may_be_accepted == Some(response.seq);
    let (is_polling, stray) = (track.polled, None);
    let (response, left) = (response.seq, None);
    let problem = Problem::Unanswered { version, response, is_polling, stray, is_guess, left };
    let messages = track.verdicts_owed().take(MAX_EVIDENCE).map(|verdict| verdict.message).collect();
    Some(ProblemFact { messages, ..of_condition(store, stream, track, &verdict, problem) })
}

/// Returns the problem of an answer to a wildcard that the server owes.
fn owed_wildcard(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let wildcard = track.wildcard_owed()?;
    let unreadable = stream.losses.unreadable.filter(|seq| *seq > wildcard.message);
    let owed = OwedResources {
        names: Vec::new(),
        more: 0,
        requests: None,
        has_older: false,
        is_removal: false,
        earlier: None,
        is_resend: false,
        is_first: track.traffic.pushes == 0,
        unreadable,
        has_gap: unreadable.is_none() && !stream.has_all_since(wildcard.message),
        limit: store.limits().left(&wildcard, store.now()),
        needed_by: track.kind.and_then(|kind| store.warming_for(stream, kind, None)),
        broken: Vec::new(),
        newest_request: None,
        is_guess: track.subscribed.wildcard == Wildcard::Ambiguous,
        is_dumped: false,
    };
    Some(of_condition(store, stream, track, &wildcard, Problem::Owed(owed)))
}

/// Returns the problem of the names that the server owes for the longest time, or of a wildcard.
fn owed(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let (limits, now) = (store.limits(), store.now());
    let Some(first) = track.waiting.oldest_owed() else { return owed_wildcard(store, stream, track) };
    let condition = first.condition();
    let is_late = limits.is_overdue(&condition, now);
    let alike = track.waiting.owed().filter(|(_, request)| limits.is_late(request.since, now) == is_late);
    let names: Vec<Sym> = alike.map(|(name, _)| name).collect();
    let is_older =
        |name: &Sym| track.owes_newer_version(*name, track.sent.get(store.catalog(), *name).as_ref());
    let has_older = names.first().is_some_and(is_older);
    let newest = names.iter().filter_map(|name| track.waiting.get(*name)).map(|request| request.first).max();
    let unreadable = stream.losses.unreadable.filter(|seq| *seq > first.first);
    let is_resend = |name: &Sym| track.waiting.get(*name).is_some_and(|request| request.is_resend);
    let owed = OwedResources {
        earlier: first.earlier,
        is_resend: names.iter().all(is_resend),
        names: names.iter().take(MAX_LISTED_NAMES).map(|name| store.text(*name)).collect(),
        more: names.len().saturating_sub(MAX_LISTED_NAMES),
        requests: (is_late || has_older).then(|| request_span(stream, track, first)),
        has_older,
        is_removal: has_older && names.iter().all(|name| track.carried.is_removal_owed(*name)),
        is_first: track.traffic.pushes == 0,
        unreadable,
        has_gap: unreadable.is_none() && !stream.has_all_since(first.last),
        limit: limits.left(&condition, now),
        needed_by: track.kind.and_then(|kind| store.warming_for(stream, kind, Some(&names))),
        broken: Vec::new(),
        newest_request: newest.filter(|newest| *newest > first.first),
        is_guess: false,
        is_dumped: stream.is_dump(),
    };
    let messages =
        owed.requests.map_or_else(Vec::new, |span| sorted(vec![first.began_with(), span.first, span.last]));
    let owed = of_condition(store, stream, track, &condition, Problem::Owed(owed));
    Some(if messages.is_empty() { owed } else { ProblemFact { messages, ..owed } })
}

/// Returns the problems of resources that the server does not send for a reason that it states, one
/// for each reason. The server owes nothing.
fn reported(store: &Store, stream: &Stream, track: &Track) -> Vec<ProblemFact> {
    let mut reasons: Vec<Vec<(Sym, &ReportedError)>> = Vec::new();
    let mut places: HashMap<(i32, &Arc<str>), usize> = HashMap::new();
    for (name, error) in store.reported_errors(stream, track) {
        // Names with further reasons are counted with the last one.
        let last = reasons.len().min(MAX_ERRORS - 1);
        let place = *places.entry((error.code, &error.message)).or_insert(last);
        match reasons.get_mut(place) {
            Some(names) => names.push((name, error)),
            None => reasons.push(vec![(name, error)]),
        }
    }
    reasons.iter().filter_map(|names| reported_for_reason(store, stream, track, names)).collect()
}

/// Returns the problem of names that the server withholds for one reason.
fn reported_for_reason(
    store: &Store,
    stream: &Stream,
    track: &Track,
    names: &[(Sym, &ReportedError)],
) -> Option<ProblemFact> {
    let (first, error) = names.first()?;
    let listed = names.iter().take(MAX_LISTED_NAMES).map(|(name, _)| store.text(*name));
    let messages = names.iter().map(|(_, error)| error.n).collect();
    let problem = Problem::Reported(ReportedErrors {
        names: listed.collect(),
        more: names.len().saturating_sub(MAX_LISTED_NAMES),
        code: Code(error.code),
        message: error.message.clone(),
        is_kept: store.used_by_client(track, *first).is_some(),
    });
    let start = Start { state: TypeState::Miss, at: error.at, n: error.n };
    let messages: Vec<Seq> = sorted(messages).into_iter().take(MAX_EVIDENCE).collect();
    // The server may be right to refuse the client.
    let due = Some(start.at);
    Some(ProblemFact { blame: Blame::Both, due, messages, ..fact(stream, track, start, problem) })
}

/// Returns the problem of the listeners and clusters of a gRPC client that do not exist, as the
/// server says.
fn absent_targets(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let absent = AbsentResources::new(store, stream, track).targets();
    let first = absent.iter().min_by_key(|absent| (absent.at, absent.response))?;
    let problem = Problem::Reported(ReportedErrors {
        names: absent.iter().take(MAX_LISTED_NAMES).map(|absent| absent.name.clone()).collect(),
        more: absent.len().saturating_sub(MAX_LISTED_NAMES),
        code: NOT_FOUND,
        message: first.text.clone(),
        is_kept: false,
    });
    let start = Start { state: TypeState::Miss, at: first.at, n: first.response };
    let messages = sorted(absent.iter().map(|absent| absent.response).collect());
    let messages = messages.into_iter().take(MAX_EVIDENCE).collect();
    // The client may request a name that nobody has configured.
    let due = Some(start.at);
    Some(ProblemFact { blame: Blame::Both, due, messages, ..fact(stream, track, start, problem) })
}

/// Returns the problems of resources that warm for more than missing resources, which are problems
/// of their own: those for which the server owes something, and those for which the client does.
fn warming(store: &Store, stream: &Stream, track: &Track) -> [Option<ProblemFact>; 2] {
    let warming = store.warming_of_track(stream, track);
    let (in_time, mut of_server): (Vec<_>, Vec<_>) =
        warming.into_iter().partition(WarmingFact::is_owed_by_client);
    of_server.retain(|fact| !fact.is_told_by_needs());
    let left = |fact: &WarmingFact| store.limits().left(&fact.condition(stream.opened), store.now());
    let is_in_time = |fact: &WarmingFact| stream.is_dump() || left(fact).is_some();
    let urgency = match of_server.first().is_some_and(is_in_time) {
        true => Urgency::Pending,
        false => Urgency::Warning,
    };
    let of_server = warming_problem(store, stream, track, of_server, urgency);
    [of_server, warming_of_client(store, stream, track, in_time)]
}

/// Returns the problem of resources that warm until the client requests what they refer to: those
/// of which the request is overdue, else those `waiting` of which it is still in time.
fn warming_of_client(
    store: &Store,
    stream: &Stream,
    track: &Track,
    mut waiting: Vec<WarmingFact>,
) -> Option<ProblemFact> {
    let limit = store.limits().resource_timeout;
    let overdue = limit.map(|limit| store.unrequested_of_track(stream, track, (store.now(), limit)));
    let overdue = overdue.filter(|overdue| !overdue.is_empty());
    if let Some(overdue) = overdue {
        return warming_problem(store, stream, track, overdue, Urgency::Warning);
    }
    // A client that owes its verdict on the resources too has a problem of its own.
    waiting.retain(|fact| !store.limits().is_overdue(&fact.condition(stream.opened), store.now()));
    warming_problem(store, stream, track, waiting, Urgency::Pending)
}

/// Returns the problem of warming resources, the first of which stands for all; `None` without any.
fn warming_problem(
    store: &Store,
    stream: &Stream,
    track: &Track,
    mut warming: Vec<WarmingFact>,
    urgency: Urgency,
) -> Option<ProblemFact> {
    let more = warming.len().checked_sub(1)?;
    let first = warming.swap_remove(0);
    let condition = first.condition(stream.opened);
    let limit = store.limits().left(&condition, store.now());
    let problem = Problem::Warming(WarmingResources { first: Box::new(first), more, limit });
    Some(ProblemFact { urgency, ..of_condition(store, stream, track, &condition, problem) })
}

/// Returns the problem of resources that the client uses without others that the server owes, and
/// which are no problems of their own.
fn used_without(store: &Store, stream: &Stream, track: &Track) -> Option<ProblemFact> {
    let mut used = store.used_without(stream, track);
    used.retain(|fact| !fact.is_told_by_needs());
    let more = used.len().checked_sub(1)?;
    let first = used.swap_remove(0);
    // Nothing warms any more: what the server owes is missing.
    let missing = first.condition(stream.opened);
    let missing = Condition::answer(missing.due_from, missing.message);
    let limit = store.limits().left(&missing, store.now());
    let problem = Problem::Warming(WarmingResources { first: Box::new(first), more, limit });
    Some(of_condition(store, stream, track, &missing, problem))
}

/// Returns the problem of an answer that one side owes.
fn of_condition(
    store: &Store,
    stream: &Stream,
    track: &Track,
    condition: &Condition,
    problem: Problem,
) -> ProblemFact {
    let state = match condition.kind {
        ConditionKind::Verdict => TypeState::Stale,
        ConditionKind::Warming | ConditionKind::Request => TypeState::Warming,
        ConditionKind::Answer if store.limits().is_overdue(condition, store.now()) => TypeState::Miss,
        ConditionKind::Answer => TypeState::Wait,
    };
    let (blame, due) = (Blame::of_side(Some(condition.owed_by())), store.limits().due(condition));
    let start = Start { state, at: condition.since, n: condition.message };
    ProblemFact { blame, due, ..fact(stream, track, start, problem) }
}

pub(super) struct Start {
    pub(super) state: TypeState,
    pub(super) at: Time,
    pub(super) n: Seq,
}

/// Returns a problem that the server owes something for, seen once.
pub(super) fn fact(stream: &Stream, track: &Track, start: Start, problem: Problem) -> ProblemFact {
    let urgency = match start.state {
        TypeState::Wait | TypeState::Sent => Urgency::Pending,
        TypeState::Nack | TypeState::Rejected => Urgency::Error,
        _ => Urgency::Warning,
    };
    let kind = ProblemKind::State(start.state);
    ProblemFact {
        node: stream.peers.node_id.clone(),
        type_url: track.type_url.clone(),
        at: Some(start.n),
        messages: vec![start.n],
        closed: stream.closed.as_ref().map(|(at, _)| *at),
        ..ProblemFact::new(kind, (urgency, Blame::Server), start.at, stream.id, problem)
    }
}

pub(super) fn sorted(mut messages: Vec<Seq>) -> Vec<Seq> {
    messages.sort_unstable();
    messages.dedup();
    messages
}

fn request_span(stream: &Stream, track: &Track, request: &NameRequest) -> RequestSpan {
    let is_delta = stream.variant().is_some_and(|variant| variant.is_delta());
    track.traffic.request_span(request, is_delta)
}
