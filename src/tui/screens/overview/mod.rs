//! Screen 1: nodes by types, worst first.

pub mod variants;
pub mod view;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::store::{StreamFact, SummaryFact, TypeState};
use crate::present::report::{LastWord, Row, Rows, is_problem, severity};
use crate::wire::event::{StreamId, TypeUrl};

use crate::tui::data::{Applied, Data, ViewTime};
use crate::tui::input::sort::Sort;
use crate::tui::shell::model::Pane;

/// Above this many nodes the healthy ones fold to one row.
const MANY: usize = 50;
/// From so many streams on, the table is not made anew with each message.
const LARGE: usize = 200;
/// It stands this long.
const YOUNG: Duration = Duration::from_millis(100);
/// The same while keys come, for one of them may have to wait until it is made.
const TYPING: Duration = Duration::from_secs(1);
/// At this age it is made anew although a key waits for its frame; a younger one only after that frame.
const OLD: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The key of the row that somebody selected; until then it is the first, the worst.
    pub selected: Option<StreamId>,
    pub moved: bool,
    /// The node that `D` marked.
    pub marked: Option<StreamId>,
    /// 0 is the node, then the types.
    pub column: usize,
    /// Index in the list of problems.
    pub problem: usize,
    /// First row on the screen.
    pub top: usize,
    pub unfolded: bool,
    pub table: Table,
}

/// What is shown, made anew when the facts change, or what is wanted of them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub types: Vec<TypeUrl>,
    pub rows: Vec<Row>,
    /// Healthy nodes behind the last row, folded.
    pub folded: usize,
    /// Nodes before filter and fold.
    pub nodes: usize,
    pub streams: usize,
    /// Nodes by their worst state, worst first.
    pub counts: Vec<(TypeState, usize)>,
    /// What was wrong when streams closed, over all nodes.
    pub last_words: Vec<LastWord>,
    /// All streams and states of its moment. What is typed and sorted asks for no others.
    facts: (Vec<Arc<StreamFact>>, Vec<Arc<SummaryFact>>),
    of: Option<TableKey>,
    /// It is to be made anew once the key that waits has its frame.
    pub behind: bool,
}

/// What a table was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableKey {
    pub moment: Option<ViewTime>,
    pub type_url: Option<TypeUrl>,
    pub filter: Option<String>,
    pub unfolded: bool,
    pub sort: Sort,
}

/// When what is shown of all streams is made anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct RefreshPolicy {
    /// There is a next moment soon; at a place of a recording all is as of that place.
    pub live: bool,
    /// A key waits for its frame.
    pub hurried: bool,
    /// Keys come one after the other.
    pub at_keys: bool,
    /// It went into a prompt: what is typed there acts on no row.
    pub typed: bool,
    /// The screen is paused: what is shown is as of then.
    pub held: bool,
}

impl Table {
    /// Whether what was made of all streams at one moment is good enough for another: with many streams it is made anew
    /// ten times a second.
    pub fn is_fresh_enough(
        &self,
        then: Option<ViewTime>,
        now: Option<ViewTime>,
        pace: RefreshPolicy,
    ) -> bool {
        if pace.held {
            return true;
        }
        let Some((then, now)) = then.zip(now) else { return false };
        let most = match pace {
            RefreshPolicy { hurried: true, .. } => OLD,
            RefreshPolicy { at_keys: true, .. } => TYPING,
            _ => YOUNG,
        };
        then == now || (pace.live && self.streams >= LARGE && is_younger(then, now, most))
    }
}

/// The stream of a row to open: the one of a type, else the newest. Column 0 is the node.
pub fn stream_of(row: &Row, column: usize) -> Option<StreamId> {
    let cell = column.checked_sub(1).and_then(|i| row.cells.get(i)).and_then(Option::as_ref);
    cell.map(|cell| cell.stream).or_else(|| row.streams.last().map(|stream| stream.stream))
}

impl Table {
    /// Brings it in line with the facts and with what is wanted, as far as a person sees.
    pub fn settle(
        &mut self,
        data: &dyn Data,
        filter: Option<&Applied>,
        wanted: TableKey,
        pace: RefreshPolicy,
    ) {
        self.behind = false;
        match self
            .of
            .as_ref()
            .map(|of| of.moment)
            .filter(|then| self.is_fresh_enough(*then, wanted.moment, pace))
        {
            Some(moment) => {
                let moments = moment.zip(wanted.moment).filter(|_| pace.live && !pace.held);
                let aged = moments.is_some_and(|(then, now)| !is_younger(then, now, TYPING));
                let of = TableKey { moment, ..wanted };
                let differs = self.of.as_ref() != Some(&of);
                self.behind = pace.hurried && self.streams >= LARGE && (aged || (pace.typed && differs));
                if differs && !(self.behind && pace.typed) {
                    self.derive(data, filter, of);
                }
            }
            None => {
                self.read(data);
                self.derive(data, filter, wanted);
            }
        }
    }

    fn read(&mut self, data: &dyn Data) {
        let streams: Vec<_> = data.streams().into_iter().map(Arc::new).collect();
        let cells: Vec<_> = data.summaries().into_iter().map(Arc::new).collect();
        let last = |cell: &Arc<SummaryFact>| cell.last_state.is_some_and(is_problem);
        self.last_words = match cells.iter().any(last) {
            true => last_words(&Rows::build(streams.clone(), cells.clone())),
            false => Vec::new(),
        };
        self.streams = streams.len();
        self.facts = (streams, cells);
    }

    fn derive(&mut self, data: &dyn Data, filter: Option<&Applied>, of: TableKey) {
        let (streams, cells) = &self.facts;
        let shown = |cell: &&Arc<SummaryFact>| {
            of.type_url.as_ref().is_none_or(|only| cell.type_url == *only)
                && filter.is_none_or(|applied| data.cell_matches(applied, cell))
        };
        let cells = cells.iter().filter(shown).cloned().collect();
        let Rows { types, mut rows } = Rows::build(streams.clone(), cells);
        let nodes = rows.len();
        if filter.is_some() {
            rows.retain(|row| row.cells.iter().any(Option::is_some));
        }
        let mut counts: Vec<(TypeState, usize)> = Vec::new();
        for row in &rows {
            match counts.last_mut() {
                Some((state, count)) if *state == row.worst => *count += 1,
                _ => counts.push((row.worst, 1)),
            }
        }
        let mut folded = 0;
        if nodes > MANY && !of.unfolded {
            let before = rows.len();
            rows.retain(|row| severity(row.worst) < severity(TypeState::Synced));
            folded = before - rows.len();
        }
        match of.sort {
            Sort::Worst => {}
            Sort::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
            Sort::Newest => {
                rows.sort_by_key(|row| {
                    Reverse(row.streams.iter().filter_map(|stream| stream.last_message).max())
                });
            }
        }
        let of = Some(of);
        *self = Table { types, rows, folded, nodes, counts, of, ..std::mem::take(self) };
    }
}

fn is_younger(then: ViewTime, now: ViewTime, than: Duration) -> bool {
    then.1 <= now.1 && now.1.since(then.1) < than
}

fn last_words(rows: &Rows) -> Vec<LastWord> {
    rows.rows.iter().filter(|row| row.closed()).flat_map(|row| row.last_words("×")).collect()
}

impl Overview {
    pub fn position(&self) -> Option<usize> {
        self.table.rows.iter().position(|row| Some(row.key) == self.selected)
    }

    pub fn row(&self) -> Option<&Row> {
        self.table.rows.get(self.position()?)
    }

    /// Moves by rows in the pane that has the focus.
    pub fn step(&mut self, by: isize, pane: Pane, problems: usize) {
        match pane {
            Pane::Main => {
                let at = self.position().unwrap_or(0).saturating_add_signed(by);
                let at = at.min(self.table.rows.len().saturating_sub(1));
                self.selected = self.table.rows.get(at).map(|row| row.key);
                self.moved = true;
            }
            Pane::Second => {
                self.problem = self.problem.saturating_add_signed(by).min(problems.saturating_sub(1));
            }
        }
    }

    /// Keeps the selection and the scroll offset within what there is.
    pub fn settle(&mut self, height: usize, problems: usize) {
        let rows = self.table.rows.len();
        if !self.moved || self.position().is_none() {
            self.selected = self.table.rows.first().map(|row| row.key);
        }
        self.column = self.column.min(self.table.types.len());
        self.problem = self.problem.min(problems.saturating_sub(1));
        let at = self.position().unwrap_or(0);
        self.top = scroll(self.top, at, height, rows);
    }
}

/// The offset nearest to `top` that shows `at` in `height` of `len` rows, with no air below the last.
pub fn scroll(top: usize, at: usize, height: usize, len: usize) -> usize {
    let height = height.max(1);
    let top = top.min(len.saturating_sub(height));
    if at < top { at } else { top.max((at + 1).saturating_sub(height)) }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, RefreshPolicy, Table, scroll};
    use crate::wire::event::Time;

    #[test]
    fn with_many_streams_the_newest_moment_waits() {
        let of = |streams, pace, (then, now): (u64, u64)| {
            let moment = |millis: u64| Some((0, Time(millis * 1_000_000)));
            Table { streams, ..Table::default() }.is_fresh_enough(moment(then), moment(now), pace)
        };
        let live = RefreshPolicy { live: true, ..RefreshPolicy::default() };
        let hurried = RefreshPolicy { hurried: true, ..live };
        let stand = |pace| [0, 99, 100, 999, 1999, 2000].map(|since| of(LARGE, pace, (5000, 5000 + since)));
        let t = true;
        assert_eq!(stand(live), [t, t, !t, !t, !t, !t]);
        assert_eq!(stand(RefreshPolicy { at_keys: t, ..live }), [t, t, t, t, !t, !t]);
        assert_eq!(stand(hurried), [t, t, t, t, t, !t]);
        // At a place of a recording all is as of that place.
        assert_eq!(stand(RefreshPolicy::default()), [t, !t, !t, !t, !t, !t]);
        assert_eq!(stand(RefreshPolicy { held: true, ..live }), [t; 6]);
        assert!(!of(LARGE - 1, hurried, (5000, 5001)) && !of(LARGE, hurried, (5000, 4999)));
    }

    #[test]
    fn scrolling_moves_no_more_than_it_must() {
        assert_eq!(scroll(0, 3, 5, 10), 0);
        assert_eq!(scroll(0, 5, 5, 10), 1);
        assert_eq!(scroll(4, 2, 5, 10), 2);
        assert_eq!(scroll(9, 9, 5, 10), 5);
        assert_eq!(scroll(7, 1, 5, 3), 0);
        assert_eq!(scroll(0, 0, 0, 0), 0);
    }
}
