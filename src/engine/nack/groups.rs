//! Groups of NACKs: repeated refusals of one version for one reason.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::StatedFaults;
use crate::store::{NackFact, RefusedBy, RefusedVersion, StateFact, Store};
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};

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

/// Facts that groups need besides the states.
pub trait NackSource {
    /// Returns the versions in force of the resources that a NACK of a delta stream refuses.
    fn kept(&self, state: &StateFact, nack: &NackFact) -> Option<Vec<RefusedVersion>>;
    /// Returns the first resource that the client still refuses, by NACK.
    fn refused(&self, state: &StateFact) -> HashMap<Seq, RefusedBy>;
    /// Returns whether the client has accepted a later version of a resource that a NACK of a delta
    /// stream refuses.
    fn has_accepted_later(&self, state: &StateFact, nack: &NackFact) -> bool;
    /// Returns the faults that a NACK states.
    fn stated_faults(&self, nack: &NackFact) -> StatedFaults;
    /// Returns when a stream closed.
    fn closed(&self, stream: StreamId) -> Option<Time>;
}

impl NackSource for Store {
    fn kept(&self, state: &StateFact, nack: &NackFact) -> Option<Vec<RefusedVersion>> {
        Some(self.kept_versions(state.stream, &state.type_url, nack))
    }
    fn refused(&self, state: &StateFact) -> HashMap<Seq, RefusedBy> {
        self.refused_by_nack(state.stream, &state.type_url)
    }
    fn has_accepted_later(&self, state: &StateFact, nack: &NackFact) -> bool {
        Store::has_accepted_later(self, state.stream, &state.type_url, nack)
    }
    fn stated_faults(&self, nack: &NackFact) -> StatedFaults {
        self.stated_nack_faults(&nack.message, nack.refused)
    }
    fn closed(&self, stream: StreamId) -> Option<Time> {
        self.stream(stream)?.closed
    }
}

/// Returns the groups of a store: open ones first, then newest first.
pub fn nack_groups(store: &Store) -> Vec<NackGroup> {
    let line = |n: Seq| store.row_of(n).and_then(|row| store.line(row));
    let mut tracks: Vec<(StreamId, TypeUrl)> =
        store.nacks().into_iter().filter_map(line).map(|line| (line.stream, line.row.type_url)).collect();
    tracks.sort_unstable();
    tracks.dedup();
    let states: Vec<StateFact> =
        tracks.iter().filter_map(|(stream, url)| store.state(*stream, url)).collect();
    groups_of_states(states.iter(), store)
}

/// Returns the groups of some states: open ones first, then newest first.
pub fn groups_of_states<'a>(
    states: impl Iterator<Item = &'a StateFact>,
    source: &impl NackSource,
) -> Vec<NackGroup> {
    let groups = states.flat_map(|state| groups_of(source, state)).collect();
    let mut groups = across_streams(groups, source);
    groups.sort_by_key(|group| (!group.is_open, Reverse(group.last().map(|nack| nack.n))));
    groups
}

/// Joins the last refusals of a stream with the first ones of the client's next stream, if the
/// client refuses one content on both.
fn across_streams(groups: Vec<NackGroup>, source: &impl NackSource) -> Vec<NackGroup> {
    let mut out: Vec<NackGroup> = Vec::with_capacity(groups.len());
    let mut newest: HashMap<(Arc<str>, TypeUrl), usize> = HashMap::new();
    for group in groups {
        let Some(node) = group.node.clone() else {
            out.push(group);
            continue;
        };
        let at = newest.entry((node, group.type_url.clone())).or_insert(out.len());
        match out.get_mut(*at) {
            Some(earlier) if goes_on(earlier, &group, source) => {
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
fn goes_on(earlier: &NackGroup, group: &NackGroup, source: &impl NackSource) -> bool {
    let (Some(last), Some(first)) = (earlier.last(), group.nacks.first()) else { return false };
    let is_same = last.is_repeat_of(first);
    let has_ended = || source.closed(earlier.stream).is_some_and(|at| at <= first.at);
    earlier.is_open && earlier.stream != group.stream && is_same && has_ended()
}

fn groups_of(source: &impl NackSource, state: &StateFact) -> Vec<NackGroup> {
    let newest = state.nacks.last().map(|nack| nack.n);
    let runs = state.nacks.chunk_by(NackFact::is_repeat_of);
    let is_delta = state.variant.is_delta();
    let is_of_type = !is_delta && state.open_nack.is_some();
    let is_refusing = state.open_nack.is_some() || !state.standing_nacks.is_empty();
    let has_refused = !is_of_type && is_refusing;
    let refused = if has_refused { source.refused(state) } else { HashMap::new() };
    let group = |run: &[NackFact]| {
        let last = run.last()?;
        let is_open = state.is_refusing(run, Some(last.n) == newest);
        Some(NackGroup {
            stream: state.stream,
            node: state.node.clone(),
            type_url: state.type_url.clone(),
            in_force: state.in_force.clone(),
            kept: if is_delta { source.kept(state, last) } else { None },
            refused: if is_open { refused.get(&last.n).cloned() } else { None },
            is_open,
            is_mended: state.is_mended(last) && (!is_delta || source.has_accepted_later(state, last)),
            is_settled_later: state.is_settled_later,
            nacks: run.to_vec(),
            faults: source.stated_faults(last),
        })
    };
    runs.filter_map(group).collect()
}
