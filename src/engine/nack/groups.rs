//! Groups of NACKs: repeated refusals of one version for one reason.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::StatedFaults;
use crate::store::{NackFact, RefusedBy, RefusedVersion, StateFact, Store};
use xdscope_wire::event::{StreamId, TypeUrl};

/// Consecutive NACKs of one version for one reason.
#[derive(Clone, Debug)]
pub struct NackGroup {
    /// The stream of the newest NACK.
    pub stream: StreamId,
    /// Node id, once known on the stream.
    pub node: Option<Arc<str>>,
    /// The type.
    pub type_url: TypeUrl,
    /// The version that the client uses.
    pub in_force: Option<Arc<str>>,
    /// On a delta stream, the versions of the first refused resources in force.
    pub kept: Option<Vec<RefusedVersion>>,
    /// The first resource that the client still refuses, unless it refuses a whole SotW response.
    pub refused: Option<RefusedBy>,
    /// The client still refuses the newest response.
    pub is_open: bool,
    /// A later version was accepted.
    pub is_mended: bool,
    /// A later stream of the client refuses nothing of the type.
    pub is_settled_later: bool,
    /// Oldest first; never empty.
    pub nacks: Vec<NackFact>,
    /// The faults that the newest NACK states.
    pub faults: StatedFaults,
}

impl NackGroup {
    /// Returns the newest NACK.
    pub fn last(&self) -> Option<&NackFact> {
        self.nacks.last()
    }
}

/// Returns the groups of a store: open ones first, then newest first.
pub fn nack_groups(store: &Store) -> Vec<NackGroup> {
    let mut tracks: Vec<(StreamId, TypeUrl)> = Vec::new();
    for nack in store.nacks() {
        if let Some(row) = store.row_of(nack)
            && let Some(line) = store.line(row)
        {
            tracks.push((line.stream, line.row.type_url));
        }
    }
    tracks.sort_unstable();
    tracks.dedup();
    let states: Vec<StateFact> =
        tracks.iter().filter_map(|(stream, url)| store.state(*stream, url)).collect();
    groups_of_states(states.iter(), store)
}

/// Returns the groups of some states: open ones first, then newest first.
pub fn groups_of_states<'a>(states: impl Iterator<Item = &'a StateFact>, store: &Store) -> Vec<NackGroup> {
    let groups = states.flat_map(|state| groups_of_type(store, state)).collect();
    let mut groups = across_streams(groups, store);
    groups.sort_by_key(|group| (!group.is_open, Reverse(group.last().map(|nack| nack.n))));
    groups
}

/// Joins the last refusals of a stream with the first ones of the client's next stream, if the
/// client refuses one content on both.
fn across_streams(groups: Vec<NackGroup>, store: &Store) -> Vec<NackGroup> {
    let mut out: Vec<NackGroup> = Vec::with_capacity(groups.len());
    let mut newest: HashMap<(Arc<str>, TypeUrl), usize> = HashMap::new();
    for group in groups {
        let Some(node) = group.node.clone() else {
            out.push(group);
            continue;
        };
        let index = newest.entry((node, group.type_url.clone())).or_insert(out.len());
        match out.get_mut(*index) {
            Some(earlier) if is_continued_by(earlier, &group, store) => {
                let nacks = std::mem::take(&mut earlier.nacks).into_iter().chain(group.nacks).collect();
                *earlier = NackGroup { nacks, ..group };
            }
            _ => {
                *index = out.len();
                out.push(group);
            }
        }
    }
    out
}

/// Whether a group continues with the open refusals of an earlier stream, which has ended.
fn is_continued_by(earlier: &NackGroup, group: &NackGroup, store: &Store) -> bool {
    let (Some(last), Some(first)) = (earlier.last(), group.nacks.first()) else { return false };
    if !earlier.is_open || earlier.stream == group.stream || !last.is_repeat_of(first) {
        return false;
    }
    let closed = store.stream(earlier.stream).and_then(|stream| stream.closed);
    closed.is_some_and(|closed| closed <= first.at)
}

/// Groups the NACKs of a type: repeats of one refusal belong together.
fn groups_of_type(store: &Store, state: &StateFact) -> Vec<NackGroup> {
    let newest = state.verdicts.nacks.last().map(|nack| nack.n);
    let (stream, url) = (state.summary.stream, &state.summary.type_url);
    let is_delta = state.summary.variant.is_delta();
    let refuses_type = !is_delta && state.summary.open_nack.is_some();
    let is_refusing = state.summary.open_nack.is_some() || !state.verdicts.standing_nacks.is_empty();
    let refused = match is_refusing && !refuses_type {
        true => store.refused_by_nack(stream, url),
        false => HashMap::new(),
    };
    let mut groups = Vec::new();
    for run in state.verdicts.nacks.chunk_by(NackFact::is_repeat_of) {
        let Some(last) = run.last() else { continue };
        let is_open = state.is_refusing(run, Some(last.n) == newest);
        let is_mended = state.is_mended(last) && (!is_delta || store.has_accepted_later(stream, url, last));
        groups.push(NackGroup {
            stream,
            node: state.summary.node.clone(),
            type_url: url.clone(),
            in_force: state.versions.in_force.clone(),
            kept: if is_delta { Some(store.kept_versions(stream, url, last)) } else { None },
            refused: if is_open { refused.get(&last.n).cloned() } else { None },
            is_open,
            is_mended,
            is_settled_later: state.verdicts.is_settled_later,
            nacks: run.to_vec(),
            faults: store.stated_nack_faults(&last.message, last.refused),
        });
    }
    groups
}
