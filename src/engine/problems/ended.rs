//! Problems of closed streams: streams that fail, refusals and answers owed when a stream closed.

use std::collections::HashSet;

use crate::lint::Blame;
use crate::store::{FailingStream, OwedAtEnd, Store, StreamFailure};
use xdscope_wire::event::StreamId;

use super::cause::blame_xdscope;
use super::fact::{Problem, ProblemFact, ProblemKind, Urgency};
use super::refusals;

/// Returns the clients whose streams fail, except those that may just reconnect.
pub(super) fn failing(store: &Store) -> Vec<ProblemFact> {
    let problem = |failing: FailingStream| {
        let is_error = matches!(failing.failure, StreamFailure::Rejected | StreamFailure::Lost);
        let last_request = failing.last_request.as_ref().map(|(n, _)| *n);
        let address = failing.peer.as_deref().or(failing.server.as_deref());
        let urgency = if is_error && !failing.is_graceful { Urgency::Error } else { Urgency::Warning };
        let blame = match failing.at_fault() {
            _ if failing.caused_by.is_some() => Blame::Xdscope,
            by => Blame::of_side(by),
        };
        ProblemFact {
            last: (failing.count > 1).then_some(failing.last),
            count: failing.count,
            period: failing.period,
            streams: failing.count,
            node: failing.node.clone().or_else(|| address.map(Into::into)),
            at: last_request,
            messages: last_request.into_iter().collect(),
            closed: Some(failing.last),
            diverged: failing.caused_by.clone(),
            ..ProblemFact::new(
                ProblemKind::Failing,
                (urgency, blame),
                failing.first,
                failing.stream,
                Problem::Failing(Box::new(failing)),
            )
        }
    };
    store.ended().lasting_failures().into_iter().map(problem).collect()
}

/// Returns refusals on closed streams that no later stream of the client has settled, and missing
/// answers of the newest closed stream of each client, unless a later stream was answered, or the
/// end of the stream is one of the `failing` ones.
pub(super) fn of_closed_streams(store: &Store, failing: &[ProblemFact]) -> Vec<ProblemFact> {
    let failing: HashSet<StreamId> = failing.iter().map(|problem| problem.stream).collect();
    let mut out = Vec::new();
    for (stream, track) in store.ended().refused_at_end() {
        out.extend(refusals::refused(store, stream, track));
    }
    let owed = store.ended().owed_at_end().into_iter().filter(|owed| !failing.contains(&owed.stream));
    out.extend(owed.map(owed_at_end));
    for problem in &mut out {
        let stream = store.engine().stream(problem.stream);
        let track = stream.and_then(|stream| Some((stream, stream.find(&problem.type_url)?)));
        if let Some((stream, track)) = track {
            blame_xdscope(problem, stream, track);
        }
    }
    out
}

/// Returns the problem of an answer that was owed when a stream ended.
fn owed_at_end(owed: OwedAtEnd) -> ProblemFact {
    let blame = Blame::of_side(Some(owed.debt.side()));
    ProblemFact {
        node: owed.node.clone(),
        type_url: owed.type_url.clone(),
        at: Some(owed.at),
        messages: vec![owed.at],
        closed: Some(owed.closed),
        ..ProblemFact::new(
            ProblemKind::Owed,
            (Urgency::Warning, blame),
            owed.since,
            owed.stream,
            Problem::OwedAtEnd(Box::new(owed)),
        )
    }
}
