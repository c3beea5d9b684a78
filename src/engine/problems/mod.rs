//! The problems of a source: one list for all views.
//!
//! [`problems`] merges the states of open streams, streams that fail, answers owed when a stream
//! closed, and broken rules. A broken rule with the cause of another problem belongs to that
//! problem.

#![warn(missing_docs)]

mod applied;
mod cause;
mod ended;
mod fact;
mod findings;
mod fold;
mod nodes;
mod reconnects;
mod refusals;
mod states;

pub use fact::{
    NodesOfVersion, OwedResources, Problem, ProblemFact, ProblemKind, ProblemPlace, RefusedPush,
    RefusedResources, ReportedErrors, StrayAnswer, UnappliedResources, Urgency, WarmingResources,
};
pub use findings::merged;
pub use fold::{FindingGroup, group};

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::applied::AppliedState;
use crate::lint::{Finding, Severity};
use crate::session::Stream;
use crate::store::{Store, TypeState};
use xdscope_wire::event::{StreamId, TypeUrl};

/// Messages that a problem lists as evidence.
pub(crate) const MAX_EVIDENCE: usize = 16;

/// Returns the problems of a source, the worst first and, among equal ones, the newest first.
///
/// `findings` are all findings of the rules about the source.
/// [`ProblemFact::findings`] are indices into it.
pub fn problems(store: &Store, findings: &[Finding]) -> Vec<ProblemFact> {
    problems_with_applied(store, findings, None)
}

/// Returns the problems of a source like [`problems`], and the differences to what its clients have
/// applied.
pub fn problems_with_applied(
    store: &Store,
    findings: &[Finding],
    applied: Option<&AppliedState>,
) -> Vec<ProblemFact> {
    problems_of(store, findings, applied, |_, _| true)
}

/// Returns the problems of some streams and types of a source like [`problems_with_applied`].
///
/// The type of a problem of a whole stream is empty. A problem of several nodes is about the
/// selected ones. Streams that fail are one problem, which any of them selects.
pub fn problems_of(
    store: &Store,
    findings: &[Finding],
    applied: Option<&AppliedState>,
    is_selected: impl Fn(StreamId, &TypeUrl) -> bool,
) -> Vec<ProblemFact> {
    let mut out = ended::failing(store);
    let closed = ended::of_closed_streams(store, &out);
    out.extend(states::unreachable(store));
    out.extend(states::of_open_streams(store));
    out.extend(closed);
    out.sort_by_key(rank);
    findings::attach(store, findings, &mut out);
    findings::merge_resets(&mut out);
    reconnects::merge(store, &mut out);
    out.iter_mut().for_each(|problem| findings::sort_findings(findings, problem));
    if let Some(applied) = applied {
        applied::name_missing_secrets(applied, &mut out);
        out.extend(applied::not_applied(store, applied));
    }
    out.sort_by_key(rank);
    mark_clients(store, &mut out);
    for problem in &mut out {
        problem.is_dump = store.engine().stream(problem.stream).is_some_and(Stream::is_dump);
    }
    out.retain(|problem| streams(store, problem).any(|stream| is_selected(stream, &problem.type_url)));
    nodes::merge(store, findings, &mut out);
    out.sort_by_key(rank);
    out
}

/// Returns the stream of a problem and, of streams that fail, those before it, the newest first.
fn streams(store: &Store, problem: &ProblemFact) -> impl Iterator<Item = StreamId> {
    let first = match &problem.problem {
        Problem::Failing(failing) => failing.first_stream,
        _ => problem.stream,
    };
    let before = move |stream: &StreamId| match *stream == first {
        true => None,
        false => store.engine().stream(*stream)?.chain.reconnect_of,
    };
    std::iter::successors(Some(problem.stream), before)
}

/// Records what tells the clients of problems apart, and marks problems that a client has on
/// several streams.
fn mark_clients(store: &Store, problems: &mut [ProblemFact]) {
    if problems.is_empty() {
        return;
    }
    let marks = store.client_marks();
    for problem in problems.iter_mut().filter(|problem| problem.node.is_some()) {
        problem.mark = marks.get(problem.stream).cloned();
        for other in &mut problem.others {
            other.mark = marks.get(other.stream).cloned();
        }
    }
    let key = |problem: &ProblemFact| {
        let rule = match &problem.problem {
            Problem::Broken(finding) => finding.rule.id,
            _ => "",
        };
        let client = (problem.node.clone()?, problem.mark.clone());
        Some((client, problem.kind.word(), rule, problem.type_url.clone()))
    };
    let mut streams: HashMap<_, HashSet<StreamId>> = HashMap::new();
    for problem in problems.iter() {
        if let Some(key) = key(problem) {
            streams.entry(key).or_default().insert(problem.stream);
        }
    }
    for problem in problems {
        let streams = key(problem).and_then(|key| streams.get(&key));
        problem.has_twin = streams.is_some_and(|streams| streams.len() > 1);
    }
}

/// Returns all findings by cause, as `problems` groups them: first those of problems, in their
/// order, then those that are over or mere notes, the most severe first.
pub fn findings_by_cause(problems: &[ProblemFact], findings: &[Finding]) -> Vec<FindingGroup> {
    let with_findings = problems.iter().filter(|problem| !problem.findings.is_empty());
    let (wrong, others): (Vec<_>, Vec<_>) = with_findings.partition(|problem| problem.is_wrong());
    let of_problems = |problems: &[&ProblemFact]| -> Vec<FindingGroup> {
        problems.iter().map(|problem| problem.findings.clone()).collect()
    };
    let mut groups = of_problems(&wrong);
    let mut rest = of_problems(&others);
    let known: HashSet<usize> = groups.iter().chain(&rest).flatten().copied().collect();
    let alone: Vec<usize> = (0..findings.len()).filter(|index| !known.contains(index)).collect();
    let by_cause = group(alone.iter().filter_map(|index| findings.get(*index)));
    let original = |group: FindingGroup| group.iter().filter_map(|at| alone.get(*at).copied()).collect();
    rest.extend(by_cause.into_iter().map(original));
    rest.sort_by_key(|group: &FindingGroup| {
        let lead = group.first().and_then(|index| findings.get(*index));
        (lead.map(Finding::rank), lead.map(|lead| lead.first), group.first().copied())
    });
    groups.extend(rest);
    groups
}

/// Returns the number of each finding's group, from 1; findings with one cause have one number.
pub fn group_numbers(groups: &[FindingGroup], findings: usize) -> Vec<u64> {
    let mut numbers = vec![0; findings];
    for (group, number) in groups.iter().zip(1..) {
        for index in group {
            if let Some(slot) = numbers.get_mut(*index) {
                *slot = number;
            }
        }
    }
    numbers
}

/// Returns the number of problems, without answers that are still in time.
///
/// Those come last in the list of [`problems`].
pub fn count_wrong(problems: &[ProblemFact]) -> usize {
    problems.iter().filter(|problem| problem.is_wrong()).count()
}

/// Returns the findings about some streams or nodes, as indices in order.
///
/// A stream that ends before its first request has no node: its findings are about the client whose
/// problem has their cause.
pub fn findings_about(
    problems: &[ProblemFact],
    findings: &[Finding],
    is_selected: impl Fn(StreamId, Option<&str>) -> bool,
) -> Vec<usize> {
    let with_cause = problems.iter().flat_map(|problem| {
        // A problem may be about several clients.
        let places = problem.places().filter(|place| is_selected(place.stream, place.node.as_deref()));
        let nodes: Vec<Option<Arc<str>>> = places.map(|place| place.node).collect();
        let is_own = move |index: &&usize| {
            let node = findings.get(**index).and_then(|finding| finding.node.as_ref());
            !nodes.is_empty() && (node.is_none() || nodes.iter().any(|own| own.as_ref() == node))
        };
        problem.findings.iter().filter(is_own)
    });
    let with_cause: HashSet<usize> = with_cause.copied().collect();
    let is_about = |(index, finding): &(usize, &Finding)| {
        with_cause.contains(index) || is_selected(finding.stream, finding.node.as_deref())
    };
    findings.iter().enumerate().filter(is_about).map(|(index, _)| index).collect()
}

/// Returns the sort key of a problem: the worst first, then the newest.
fn rank(problem: &ProblemFact) -> impl Ord + use<> {
    let class = match problem.kind {
        _ if problem.urgency == Urgency::Over => 11,
        _ if problem.urgency == Urgency::Pending => 10,
        ProblemKind::State(TypeState::Down) => 0,
        ProblemKind::State(TypeState::Nack | TypeState::Rejected) | ProblemKind::StillRefused => 1,
        ProblemKind::Failing if problem.urgency == Urgency::Error => 2,
        ProblemKind::Rule(Severity::Error) => 3,
        ProblemKind::State(TypeState::Stale) => 4,
        ProblemKind::State(TypeState::Miss) => 5,
        ProblemKind::NotApplied | ProblemKind::State(_) => 6,
        ProblemKind::Failing => 7,
        ProblemKind::Owed => 8,
        ProblemKind::Rule(_) => 9,
    };
    let worst_and_newest = std::cmp::Reverse((problem.urgency, problem.since, problem.stream));
    (class, worst_and_newest, problem.type_url.clone())
}
