//! The push that a diff of a type begins with.

use crate::data::Data;
use xdscope_engine::diff::PushDiff;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{StateFact, TypeState};
use xdscope_wire::event::{Dir, Seq, StreamId, TypeUrl};

/// The push that a problem is about: the refused one, else the one of its message.
pub(crate) fn push_of_problem(data: &dyn Data, problem: &ProblemFact) -> Option<Seq> {
    if let Some(TypeState::Nack | TypeState::Rejected) = problem.state() {
        return push_to_compare(data, problem.stream, &problem.type_url);
    }
    let fact = problem.at.and_then(|n| data.row(data.row_of(n)?))?;
    if fact.dir == Some(Dir::Resp) { fact.n } else { fact.answers }
}

/// The push of a type on a stream to compare: the refused one, else the newest.
pub(crate) fn push_to_compare(data: &dyn Data, stream: StreamId, url: &TypeUrl) -> Option<Seq> {
    let states = data.states_of(stream);
    states.iter().find(|state| state.summary.type_url == *url).and_then(|state| push_of(data, state))
}

/// The push of a state to compare: the refused one, else the newest.
pub(crate) fn push_of(data: &dyn Data, state: &StateFact) -> Option<Seq> {
    let open = usize::try_from(state.summary.open_nacks).unwrap_or(usize::MAX);
    let refused = state.verdicts.nacks.iter().rev().take(open).filter_map(|nack| nack.refused);
    newest_with_changes(data, refused).or(state.traffic.last_push.as_ref().map(|push| Seq(push.n)))
}

/// The first of some pushes, newest first, that changed something. A push that is re-sent does not.
pub(crate) fn newest_with_changes(data: &dyn Data, pushes: impl Iterator<Item = Seq> + Clone) -> Option<Seq> {
    let has_changes = |n: &Seq| {
        let store = data.store();
        PushDiff::compute(store, *n, store.rows()).is_some_and(|push| !push.entries.is_empty())
    };
    pushes.clone().find(has_changes).or(pushes.clone().next())
}
