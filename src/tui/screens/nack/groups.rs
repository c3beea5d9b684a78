//! Groups of NACKs: repeated refusals of one version are one row.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::store::{NackFact, StateFact};
use crate::present::report;
use crate::tui::common::Common;
use crate::tui::data::Data;
use crate::wire::event::{Seq, StreamId, TypeUrl};

/// Consecutive NACKs of one version.
#[derive(Clone, Debug)]
pub struct NackGroup {
    pub stream: StreamId,
    pub node: Option<Arc<str>>,
    pub type_url: TypeUrl,
    /// The version that the client uses.
    pub in_force: Option<Arc<str>>,
    /// This version; on a delta stream the versions of the first refused resources in force.
    pub kept: String,
    /// The client still refuses the newest response.
    pub is_open: bool,
    /// A later version was accepted.
    pub is_mended: bool,
    /// Oldest first; never empty.
    pub nacks: Vec<NackFact>,
}

/// The identity of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupKey {
    stream: StreamId,
    type_url: TypeUrl,
    first_nack: Seq,
}

impl NackGroup {
    pub fn last(&self) -> Option<&NackFact> {
        self.nacks.last()
    }

    pub(super) fn key(&self) -> Option<GroupKey> {
        let first_nack = self.nacks.first()?.n;
        Some(GroupKey { stream: self.stream, type_url: self.type_url.clone(), first_nack })
    }
}

/// The groups in scope that match the filter: open ones first, then newest first.
pub(super) fn all_groups(common: &Common, data: &dyn Data) -> Vec<NackGroup> {
    let is_shown = |state: &&StateFact| {
        common.scope.has(state.stream, &state.type_url)
            && common.filter.as_ref().is_none_or(|applied| data.state_matches(applied, state))
    };
    let states = refused_states(data);
    let groups = states.iter().filter(is_shown).flat_map(|state| groups_of(data, state)).collect();
    let mut groups = across_streams(groups, data);
    groups.sort_by_key(|group| (!group.is_open, Reverse(group.last().map(|nack| nack.n))));
    groups
}

/// Joins the last refusals of a stream with the first ones of the client's next stream, if the
/// client refuses one content on both.
fn across_streams(groups: Vec<NackGroup>, data: &dyn Data) -> Vec<NackGroup> {
    let mut out: Vec<NackGroup> = Vec::with_capacity(groups.len());
    let mut newest: HashMap<(Arc<str>, TypeUrl), usize> = HashMap::new();
    for group in groups {
        let Some(node) = group.node.clone() else {
            out.push(group);
            continue;
        };
        let at = newest.entry((node, group.type_url.clone())).or_insert(out.len());
        match out.get_mut(*at) {
            Some(earlier) if goes_on(earlier, &group, data) => {
                let nacks = std::mem::take(&mut earlier.nacks).into_iter().chain(group.nacks).collect();
                *earlier = NackGroup { nacks, ..group };
            }
            _ => {
                *at = out.len();
                out.push(group);
            }
        }
    }
    out
}

/// Whether a group goes on with the open refusals of an earlier stream, which has ended.
fn goes_on(earlier: &NackGroup, group: &NackGroup, data: &dyn Data) -> bool {
    let (Some(last), Some(first)) = (earlier.last(), group.nacks.first()) else { return false };
    let is_same = last.version == first.version && last.resources == first.resources;
    let has_ended =
        || data.stream(earlier.stream).and_then(|stream| stream.closed).is_some_and(|at| at <= first.at);
    earlier.is_open && earlier.stream != group.stream && is_same && has_ended()
}

fn groups_of(data: &dyn Data, state: &StateFact) -> Vec<NackGroup> {
    let newest = state.nacks.last().map(|nack| nack.n);
    let store = data.source().map(|(store, _)| store);
    let runs = state.nacks.chunk_by(|a, b| a.version == b.version && a.resources == b.resources);
    let group = |run: &[NackFact]| {
        let last = run.last();
        let kept = last.zip(store).filter(|_| state.variant.is_delta());
        let kept = kept.map(|(last, store)| store.kept_versions(state.stream, &state.type_url, last));
        NackGroup {
            stream: state.stream,
            node: state.node.clone(),
            type_url: state.type_url.clone(),
            in_force: state.in_force.clone(),
            kept: match kept {
                Some(kept) => report::versions_of(&kept),
                None => state.in_force.as_deref().unwrap_or_default().to_owned(),
            },
            is_open: state.is_refusing(run, last.map(|nack| nack.n) == newest),
            is_mended: last.is_some_and(|last| state.is_mended(last)),
            nacks: run.to_vec(),
        }
    };
    runs.map(group).collect()
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
