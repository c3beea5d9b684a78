//! Differences between what clients have accepted and what they use.

use crate::applied::AppliedState;
use crate::lint::{Blame, NO_LISTENERS};
use crate::store::{StateFact, Store};

use xdscope_wire::event::Kind;
use xdscope_wire::text::shown_name;

use super::fact::{Problem, ProblemFact, ProblemKind, UnappliedResources, Urgency};

/// Names that a problem lists; the others are counted.
const MAX_LISTED_NAMES: usize = 3;

/// Returns a problem for each type of an open stream with accepted resources that its client does
/// not use.
pub(super) fn not_applied(store: &Store, applied: &AppliedState) -> Vec<ProblemFact> {
    let states = store.states();
    states.iter().filter_map(|state| of_state(store, applied, state)).collect()
}

/// Adds to the problems of clients that request no listeners which secrets they lack, as the dump
/// says.
pub(super) fn name_missing_secrets(applied: &AppliedState, problems: &mut [ProblemFact]) {
    for problem in problems {
        let Problem::Broken(finding) = &mut problem.problem else { continue };
        if finding.cause != Some(NO_LISTENERS) || finding.over.is_some() {
            continue;
        }
        let secrets = applied.unreceived(problem.node.as_deref(), Kind::Sds);
        let Some(first) = secrets.first() else { continue };
        let more = match secrets.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let first = shown_name(first);
        finding.text.push_str(&format!("; its dump has not received SDS {first}{more}: the likely cause"));
    }
}

/// Returns the problem of resources that the dump of the client lacks.
fn of_state(store: &Store, applied: &AppliedState, state: &StateFact) -> Option<ProblemFact> {
    let diff = applied.compare(state, store).filter(|diff| diff.is_problem())?;
    let refused = || diff.refused_accepted.iter();
    let total = diff.missing.len() + diff.differing.len() + diff.refused_accepted.len();
    let names = refused().map(|(name, _)| name).chain(&diff.missing).chain(&diff.differing);
    let names: Vec<_> = names.take(MAX_LISTED_NAMES).cloned().collect();
    let unapplied = UnappliedResources {
        more: total - names.len(),
        names,
        missing: diff.missing.len() as u64,
        differing: diff.differing.len() as u64,
        refused: diff.refused_accepted.len() as u64,
        reason: refused().map(|(_, reason)| reason).find(|reason| !reason.is_empty()).cloned(),
    };
    let accepted = state.versions.in_force_since;
    let since = accepted.map_or(state.summary.since, |(_, at)| at);
    let (kind, judged) = (ProblemKind::NotApplied, (Urgency::Warning, Blame::Client));
    Some(ProblemFact {
        node: state.summary.node.clone(),
        type_url: state.summary.type_url.clone(),
        at: state.verdicts.newest_accepted,
        messages: state.verdicts.newest_accepted.into_iter().chain(accepted.map(|(n, _)| n)).collect(),
        ..ProblemFact::new(kind, judged, since, state.summary.stream, Problem::NotApplied(unapplied))
    })
}
