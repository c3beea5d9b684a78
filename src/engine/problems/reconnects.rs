//! Problems of a closed stream that last on the stream after it: one problem for both.

use std::collections::HashMap;

use crate::store::{Debt, Store};
use xdscope_wire::event::{StreamId, TypeUrl};

use super::MAX_EVIDENCE;
use super::fact::{Problem, ProblemFact};
use super::states::sorted;

/// Problems of open streams that may have begun on an earlier stream, by stream and type.
type OpenProblems = HashMap<(StreamId, TypeUrl), Vec<usize>>;

/// Merges what a client refused, or what one side owed, when a stream closed into the problem of
/// the same version or the same resources on a later stream of the client.
pub(super) fn merge(store: &Store, problems: &mut Vec<ProblemFact>) {
    let mut open = OpenProblems::new();
    for (at, problem) in problems.iter().enumerate() {
        let is_owed = matches!(problem.problem, Problem::Unanswered { .. } | Problem::Owed(_));
        if is_owed && problem.closed.is_none() {
            open.entry((problem.stream, problem.type_url.clone())).or_default().push(at);
        }
    }
    if open.is_empty() {
        return;
    }
    let mut left: Vec<Option<ProblemFact>> = std::mem::take(problems).into_iter().map(Some).collect();
    for at in 0..left.len() {
        let closed = left.get(at).and_then(Option::as_ref);
        let Some(later) = closed.and_then(|closed| continued_by(store, closed, &open, &left)) else {
            continue;
        };
        let (Some(closed), Some(later)) =
            (left.get_mut(at).and_then(Option::take), left.get_mut(later).and_then(Option::take))
        else {
            continue;
        };
        if let Some(slot) = left.get_mut(at) {
            *slot = Some(joined(closed, later));
        }
    }
    problems.extend(left.into_iter().flatten());
}

/// Returns the problem of a later stream that goes on with that of a closed one.
fn continued_by(
    store: &Store,
    closed: &ProblemFact,
    open: &OpenProblems,
    problems: &[Option<ProblemFact>],
) -> Option<usize> {
    closed.closed.filter(|_| matches!(closed.problem, Problem::Refused(_) | Problem::OwedAtEnd(_)))?;
    let stream = store.engine().stream(closed.stream)?;
    for (later, _) in store.engine().later_tracks(stream, &closed.type_url) {
        for at in open.get(&(later.id, closed.type_url.clone())).into_iter().flatten() {
            let problem = problems.get(*at).and_then(Option::as_ref);
            if problem.is_some_and(|problem| is_same(closed, problem)) {
                return Some(*at);
            }
        }
    }
    None
}

/// Whether two problems of a client are about one version, or the same resources.
fn is_same(closed: &ProblemFact, later: &ProblemFact) -> bool {
    match (&closed.problem, &later.problem) {
        (Problem::Refused(refused), Problem::Unanswered { version, .. }) => {
            refused.version == *version && refused.unanswered.is_none()
        }
        (Problem::OwedAtEnd(owed), Problem::Unanswered { version, .. }) => {
            matches!(&owed.debt, Debt::Verdict { version: before, .. } if before == version)
        }
        (Problem::OwedAtEnd(owed), Problem::Owed(again)) => match &owed.debt {
            Debt::Resources { names, .. } if names.is_empty() => again.names.is_empty(),
            Debt::Resources { names, .. } => names.iter().any(|name| again.names.contains(name)),
            _ => false,
        },
        _ => false,
    }
}

/// Returns one problem for that of a closed stream and that of a later one. A refusal tells more
/// than that its content has come again.
fn joined(closed: ProblemFact, later: ProblemFact) -> ProblemFact {
    let is_refusal = matches!(closed.problem, Problem::Refused(_));
    let (mut lead, other) = if is_refusal { (closed, later) } else { (later, closed) };
    match (&mut lead.problem, &other.problem) {
        (Problem::Refused(refused), Problem::Unanswered { response, .. }) => {
            refused.unanswered = Some(*response);
        }
        (Problem::Unanswered { left, .. }, Problem::OwedAtEnd(owed)) => *left = Some(owed.at),
        (Problem::Owed(again), Problem::OwedAtEnd(owed)) => {
            again.earlier = again.earlier.or(Some(owed.at));
        }
        _ => {}
    }
    lead.since = lead.since.min(other.since);
    lead.urgency = lead.urgency.max(other.urgency);
    lead.findings.extend(other.findings);
    let room = MAX_EVIDENCE.saturating_sub(lead.messages.len());
    lead.messages.extend(other.messages.into_iter().take(room));
    lead.messages = sorted(std::mem::take(&mut lead.messages));
    lead
}
