//! The table of nodes by types, and the policy of its refresh.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::common::RefreshPolicy;
use crate::data::{AppliedFilter, Data, ViewTime};
use crate::lists::Sort;
use crate::problem_list::WorstProblems;
use xdscope_engine::problems::ProblemFact;
use xdscope_engine::store::{ClientMarks, StreamFact, SummaryFact, TypeState};
use xdscope_present::report::{Row, Rows, count_nodes, severity};
use xdscope_wire::event::{StreamId, TypeUrl};
use xdscope_wire::text::type_label;

/// The number of nodes above which healthy ones fold into one row.
const MAX_UNFOLDED_NODES: usize = 50;
/// The number of streams from which on the table is not made again for each message.
const MANY_STREAMS: usize = 200;
/// The age at which the table of many streams is made again.
const REFRESH_INTERVAL: Duration = Duration::from_millis(100);
/// The age at which the table is made again while keys come, because a key waits for the table.
const TYPING_REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// The age at which the table is made again although a key waits for its frame.
const MAX_AGE: Duration = Duration::from_secs(2);

/// The rows and counts of the screen.
#[derive(Clone, Debug, Default)]
pub struct NodeTable {
    /// The types in use, without hidden ones.
    pub types: Vec<TypeUrl>,
    /// All types in use.
    pub all_types: Vec<TypeUrl>,
    pub rows: Vec<Row>,
    /// Healthy nodes that are folded.
    pub folded: usize,
    /// The rows of the folded nodes.
    pub folded_rows: Vec<Row>,
    /// Nodes before filter and folding.
    pub nodes: usize,
    /// Nodes that match the filter, folded ones included.
    pub matching_nodes: usize,
    pub streams: usize,
    /// The number of nodes by worst state, worst first.
    pub counts: Vec<(TypeState, usize)>,
    /// All streams at the moment of the table, from which filter and order are applied.
    all_streams: Vec<Arc<StreamFact>>,
    /// All states at the moment of the table.
    all_states: Vec<Arc<SummaryFact>>,
    /// The marks that tell clients with one node id apart.
    marks: ClientMarks,
    /// Streams and types that match the filter and the type in scope; `None` without both.
    matched: Option<HashSet<(StreamId, TypeUrl)>>,
    key: Option<TableKey>,
    /// The table is made again after the next frame.
    pub is_behind: bool,
}

/// The inputs of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableKey {
    pub moment: Option<ViewTime>,
    pub type_url: Option<TypeUrl>,
    pub filter: Option<String>,
    pub is_unfolded: bool,
    pub sort: Sort,
    /// Labels of types whose columns are hidden.
    pub hidden: BTreeSet<String>,
}

impl NodeTable {
    /// Returns whether facts of all streams at moment `then` are fresh enough at moment `now`.
    ///
    /// With many streams they are read ten times a second, less often while keys come.
    pub fn is_fresh_enough(
        &self,
        then: Option<ViewTime>,
        now: Option<ViewTime>,
        policy: RefreshPolicy,
    ) -> bool {
        if policy.is_paused {
            return true;
        }
        let Some((then, now)) = then.zip(now) else { return false };
        let most = match policy {
            RefreshPolicy { has_key: true, .. } => MAX_AGE,
            RefreshPolicy { is_typing: true, .. } => TYPING_REFRESH_INTERVAL,
            _ => REFRESH_INTERVAL,
        };
        then == now || (policy.is_live && self.streams >= MANY_STREAMS && is_younger(then, now, most))
    }
}

impl NodeTable {
    /// Updates the table to `wanted`, unless the table is fresh enough.
    pub fn settle(
        &mut self,
        data: &dyn Data,
        filter: Option<&AppliedFilter>,
        wanted: TableKey,
        policy: RefreshPolicy,
        worst: &WorstProblems,
    ) {
        self.is_behind = false;
        match &self.key {
            Some(known) if self.is_fresh_enough(known.moment, wanted.moment, policy) => {
                let (moment, now) = (known.moment, wanted.moment);
                let key = TableKey { moment, ..wanted };
                let differs = *known != key;
                let is_aged = match moment.zip(now) {
                    Some((then, now)) if policy.is_live && !policy.is_paused => {
                        !is_younger(then, now, TYPING_REFRESH_INTERVAL)
                    }
                    _ => false,
                };
                self.is_behind = policy.has_key
                    && self.streams >= MANY_STREAMS
                    && (is_aged || (policy.is_in_prompt && differs));
                if differs && !(self.is_behind && policy.is_in_prompt) {
                    self.derive(data, filter, key, worst);
                }
            }
            _ => {
                self.read(data);
                self.derive(data, filter, wanted, worst);
            }
        }
    }

    /// Returns the indices of the problems that match the filter and the type in scope; `None`
    /// without both.
    pub fn matching(&self, problems: &[ProblemFact]) -> Option<Vec<usize>> {
        let matched = self.matched.as_ref()?;
        let streams: HashSet<StreamId> = matched.iter().map(|(stream, _)| *stream).collect();
        let is_listed = |problem: &ProblemFact| match problem.type_url.is_empty() {
            true => problem.all_streams().any(|stream| streams.contains(&stream)),
            false => {
                problem.all_streams().any(|stream| matched.contains(&(stream, problem.type_url.clone())))
            }
        };
        let listed = problems.iter().enumerate().filter(|(_, problem)| is_listed(problem));
        Some(listed.map(|(at, _)| at).collect())
    }

    /// Reads the facts of all streams.
    fn read(&mut self, data: &dyn Data) {
        self.all_streams = data.streams().into_iter().map(Arc::new).collect();
        self.all_states = data.summaries().into_iter().map(Arc::new).collect();
        self.marks = data.store().client_marks();
        self.streams = self.all_streams.len();
    }

    /// Makes the rows from the facts: those that match, folded and sorted.
    fn derive(
        &mut self,
        data: &dyn Data,
        filter: Option<&AppliedFilter>,
        key: TableKey,
        worst: &WorstProblems,
    ) {
        let is_in_scope = |url: &TypeUrl| key.type_url.as_ref().is_none_or(|only| url == only);
        let is_narrowed = filter.is_some() || key.type_url.is_some();
        let mut matched = HashSet::new();
        if is_narrowed {
            for cell in &self.all_states {
                let is_match = filter.is_none_or(|applied| data.cell_matches(applied, cell));
                if is_match && is_in_scope(&cell.type_url) {
                    matched.insert((cell.stream, cell.type_url.clone()));
                }
            }
        }
        // A filter chooses rows. The cells of a row show the states of all types, also of those
        // that do not match: an empty cell would say that the type is not in use.
        let (streams, cells) = (self.all_streams.clone(), self.all_states.clone());
        let Rows { types: all_types, mut rows } = Rows::build(streams, cells, &self.marks);
        let (nodes, is_many) = (count_nodes(&rows), rows.len() > MAX_UNFOLDED_NODES);
        if filter.is_some() {
            let streams: HashSet<StreamId> = matched.iter().map(|(stream, _)| *stream).collect();
            let has_match = |cell: &Arc<SummaryFact>| matched.contains(&(cell.stream, cell.type_url.clone()));
            rows.retain(|row| {
                row.streams.iter().any(|stream| streams.contains(&stream.stream))
                    || row.cells.iter().flatten().any(has_match)
            });
        }
        let matching_nodes = count_nodes(&rows);
        self.matched = if is_narrowed { Some(matched) } else { None };
        let is_hidden = |url: &TypeUrl| key.hidden.contains(&type_label(url.as_str()));
        let is_kept: Vec<bool> = all_types.iter().map(|url| is_in_scope(url) && !is_hidden(url)).collect();
        let mut types = all_types.clone();
        keep_marked(&mut types, &is_kept);
        for row in &mut rows {
            keep_marked(&mut row.cells, &is_kept);
        }
        let counts = count_states(&rows);
        let mut folded_rows = Vec::new();
        // A filter unfolds what matches.
        if is_many && !key.is_unfolded && filter.is_none() {
            let is_shown =
                |row: &Row| row.rank() < severity(TypeState::Synced) || worst.of_row(row).is_some();
            (rows, folded_rows) = rows.into_iter().partition(is_shown);
        }
        sort_rows(&mut rows, &key.sort, worst);
        let key = Some(key);
        let all = NodeTable {
            types,
            all_types,
            rows,
            folded: folded_rows.len(),
            folded_rows,
            nodes,
            matching_nodes,
            counts,
            key,
            ..std::mem::take(self)
        };
        *self = all;
    }
}

/// Counts the rows by their worst states.
fn count_states(rows: &[Row]) -> Vec<(TypeState, usize)> {
    let mut counts: Vec<(TypeState, usize)> = Vec::new();
    for row in rows {
        match counts.iter_mut().find(|(state, _)| *state == row.worst) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.worst, 1)),
        }
    }
    counts
}

/// Sorts rows as the user has chosen. Columns are sorted where the table is drawn.
fn sort_rows(rows: &mut [Row], sort: &Sort, worst: &WorstProblems) {
    match sort {
        // In the order of the problems; closed nodes take part.
        Sort::Worst => {
            rows.sort_by_cached_key(|row| (worst.of_row(row).unwrap_or(usize::MAX), row.rank(), row.key));
        }
        Sort::Column(_) => {}
        Sort::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        Sort::Newest => {
            rows.sort_by_key(|row| Reverse(row.streams.iter().filter_map(|stream| stream.last_message).max()))
        }
    }
}

/// Keeps the items that are marked.
fn keep_marked<T>(items: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    items.retain(|_| *marks.next().unwrap_or(&true));
}

/// Whether less than a time has passed between two moments.
fn is_younger(then: ViewTime, now: ViewTime, than: Duration) -> bool {
    then.1 <= now.1 && now.1.since(then.1) < than
}

#[cfg(test)]
mod tests {
    use super::{MANY_STREAMS, NodeTable, RefreshPolicy};
    use xdscope_wire::event::Time;

    #[test]
    fn keeps_facts_of_many_streams_for_a_while() {
        let is_fresh = |streams, pace, (then, now): (u64, u64)| {
            let moment = |millis: u64| Some((0, Time(millis * 1_000_000)));
            NodeTable { streams, ..NodeTable::default() }.is_fresh_enough(moment(then), moment(now), pace)
        };
        let live = RefreshPolicy { is_live: true, ..RefreshPolicy::default() };
        let hurried = RefreshPolicy { has_key: true, ..live };
        let verdicts = |pace| {
            [0, 99, 100, 999, 1999, 2000].map(|since| is_fresh(MANY_STREAMS, pace, (5000, 5000 + since)))
        };
        let t = true;
        assert_eq!(verdicts(live), [t, t, !t, !t, !t, !t]);
        assert_eq!(verdicts(RefreshPolicy { is_typing: t, ..live }), [t, t, t, t, !t, !t]);
        assert_eq!(verdicts(hurried), [t, t, t, t, t, !t]);
        // At a point of a recording, facts are those of the point.
        assert_eq!(verdicts(RefreshPolicy::default()), [t, !t, !t, !t, !t, !t]);
        assert_eq!(verdicts(RefreshPolicy { is_paused: true, ..live }), [t; 6]);
        assert!(
            !is_fresh(MANY_STREAMS - 1, hurried, (5000, 5001))
                && !is_fresh(MANY_STREAMS, hurried, (5000, 4999))
        );
    }
}
