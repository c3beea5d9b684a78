//! The groups of NACKs that are in scope.

use crate::common::Scope;
use crate::data::{AppliedFilter, Data};
use crate::widgets::list::ListRow;
use xdscope_engine::nack::{NackGroup, groups_of_states};
use xdscope_engine::store::StateFact;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey {
    stream: StreamId,
    type_url: TypeUrl,
    first_nack: Option<Seq>,
}

impl ListRow for NackGroup {
    type Key = GroupKey;

    fn key(&self) -> GroupKey {
        let first_nack = self.nacks.first().map(|nack| nack.n);
        GroupKey { stream: self.stream, type_url: self.type_url.clone(), first_nack }
    }
}

/// The groups in scope that match the filter: open ones first, then newest first.
pub(super) fn groups_in(scope: &Scope, filter: Option<&AppliedFilter>, data: &dyn Data) -> Vec<NackGroup> {
    let is_shown = |state: &&StateFact| {
        scope.has(state.summary.stream, &state.summary.type_url)
            && filter.is_none_or(|applied| data.state_matches(applied, state))
    };
    groups_of_states(refused_states(data).iter().filter(is_shown), data.store())
}

/// The states of the types with a NACK.
fn refused_states(data: &dyn Data) -> Vec<StateFact> {
    let line = |n: Seq| data.row_of(n).and_then(|row| data.line(row));
    let mut tracks: Vec<(StreamId, TypeUrl)> =
        data.nacks().into_iter().filter_map(line).map(|line| (line.stream, line.row.type_url)).collect();
    tracks.sort_unstable();
    tracks.dedup();
    tracks.into_iter().filter_map(|(stream, url)| data.state(stream, &url)).collect()
}
