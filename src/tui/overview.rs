//! Screen 1: nodes by types, worst first.

use std::collections::{HashMap, HashSet};

use crate::event::{Kind, StreamId, TypeUrl, Variant};
use crate::store::{StreamFact, TypeState};

use super::data::{Applied, Cell, Data};
use super::model::{Pane, Scope};

/// Above this many nodes the healthy ones fold to one row.
const MANY: usize = 50;

#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The key of the selected row.
    pub selected: Option<StreamId>,
    /// 0 is the node, then the types.
    pub column: usize,
    /// Index in the list of problems.
    pub problem: usize,
    /// First row on the screen.
    pub top: usize,
    pub unfolded: bool,
    pub table: Table,
}

/// What is shown, made anew when the facts change.
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
}

/// One node, or one stream of a node that has not said its name.
#[derive(Clone, Debug)]
pub struct Row {
    /// The first stream of the row: it stays the same over reconnects.
    pub key: StreamId,
    pub name: String,
    pub variant: Option<Variant>,
    /// Open streams, or the last one if all are closed.
    pub streams: Vec<StreamFact>,
    pub reconnects: usize,
    /// One per type of the table.
    pub cells: Vec<Option<Cell>>,
    pub worst: TypeState,
}

impl Row {
    /// The stream to open: the one of a type, else the newest.
    pub fn stream(&self, column: usize) -> Option<StreamId> {
        let cell = column.checked_sub(1).and_then(|i| self.cells.get(i)).and_then(Option::as_ref);
        cell.map(|cell| cell.stream).or_else(|| self.streams.last().map(|stream| stream.stream))
    }

    pub fn closed(&self) -> bool {
        self.streams.iter().all(|stream| stream.closed.is_some())
    }
}

/// How bad a state is for the order of rows; a closed stream is history, so it comes last.
pub fn severity(state: TypeState) -> u8 {
    match state {
        TypeState::Held => 0,
        TypeState::Nack => 1,
        TypeState::Stale => 2,
        TypeState::Miss => 3,
        TypeState::Wait => 4,
        TypeState::Sent => 5,
        TypeState::Synced => 6,
        TypeState::Idle => 7,
        TypeState::Closed => 8,
    }
}

/// In the order of screens: known types as everywhere, others after them by name.
pub fn type_order(url: &TypeUrl) -> (usize, String) {
    let kind = Kind::of_type_url(url.as_str()).map(|(kind, _)| kind as usize);
    (kind.unwrap_or(usize::MAX), url.to_string())
}

impl Table {
    pub fn build(data: &dyn Data, scope: &Scope, filter: Option<&Applied>, unfolded: bool) -> Table {
        let streams = data.streams();
        let cells = match filter {
            None => data.cells(),
            Some(applied) => {
                let states = data.states();
                states.iter().filter(|state| data.state_matches(applied, state)).map(Cell::of).collect()
            }
        };
        let mut types: Vec<TypeUrl> = cells.iter().map(|cell| cell.type_url.clone()).collect();
        types.sort_by_cached_key(type_order);
        types.dedup();
        if let Some(only) = &scope.type_url {
            types.retain(|url| url == only);
        }
        let total = streams.len();
        let mut rows = rows(streams);
        let nodes = rows.len();
        fill(&mut rows, &types, cells);
        if filter.is_some() {
            rows.retain(|row| row.cells.iter().any(Option::is_some));
        }
        rows.sort_by_key(|row| (severity(row.worst), row.key));
        let mut counts: Vec<(TypeState, usize)> = Vec::new();
        for row in &rows {
            match counts.last_mut() {
                Some((state, count)) if *state == row.worst => *count += 1,
                _ => counts.push((row.worst, 1)),
            }
        }
        let mut folded = 0;
        if nodes > MANY && !unfolded {
            let before = rows.len();
            rows.retain(|row| severity(row.worst) < severity(TypeState::Synced));
            folded = before - rows.len();
        }
        Table { types, rows, folded, nodes, streams: total, counts }
    }
}

/// Streams to rows: a reconnect continues its row, the per-type streams of one node share one.
fn rows(streams: Vec<StreamFact>) -> Vec<Row> {
    let before: HashMap<StreamId, StreamId> =
        streams.iter().filter_map(|s| Some((s.stream, s.reconnect_of?))).collect();
    let superseded: HashSet<StreamId> = before.values().copied().collect();
    let mut rows: Vec<Row> = Vec::new();
    let mut shared: HashMap<(String, Variant), usize> = HashMap::new();
    for stream in streams.into_iter().filter(|stream| !superseded.contains(&stream.stream)) {
        let (mut key, mut reconnects) = (stream.stream, 0);
        // Each step goes to an earlier stream, so this ends.
        while let Some(earlier) = before.get(&key).filter(|earlier| **earlier < key) {
            (key, reconnects) = (*earlier, reconnects + 1);
        }
        let name = node_name(&stream);
        let variant = stream.variant;
        if let (Some(variant), true) = (variant.filter(|v| !v.is_aggregated()), stream.node.is_some()) {
            if let Some(row) = shared.get(&(name.clone(), variant)).and_then(|i| rows.get_mut(*i)) {
                row.reconnects += reconnects;
                row.streams.push(stream);
                continue;
            }
            shared.insert((name.clone(), variant), rows.len());
        }
        let streams = vec![stream];
        rows.push(Row { key, name, variant, streams, reconnects, cells: Vec::new(), worst: TypeState::Idle });
    }
    for row in &mut rows {
        row.streams.sort_by_key(|stream| stream.stream);
        if row.streams.iter().any(|stream| stream.closed.is_none()) {
            row.streams.retain(|stream| stream.closed.is_none());
        }
    }
    rows
}

/// The node's id, or what is known instead.
pub fn node_name(stream: &StreamFact) -> String {
    match &stream.node {
        Some(node) if !node.id.is_empty() => node.id.clone(),
        _ if stream.variant.is_none() => stream.method.clone(),
        _ => match &stream.peer {
            Some(peer) => format!("#{} {peer}", stream.stream.0),
            None => format!("#{}", stream.stream.0),
        },
    }
}

fn fill(rows: &mut [Row], types: &[TypeUrl], cells: Vec<Cell>) {
    let mut row_of: HashMap<StreamId, usize> = HashMap::new();
    for (i, row) in rows.iter_mut().enumerate() {
        row.cells = vec![None; types.len()];
        row_of.extend(row.streams.iter().map(|stream| (stream.stream, i)));
    }
    let column_of: HashMap<&TypeUrl, usize> = types.iter().enumerate().map(|(i, url)| (url, i)).collect();
    for cell in cells {
        let row = row_of.get(&cell.stream).and_then(|i| rows.get_mut(*i));
        let (Some(row), Some(column)) = (row, column_of.get(&cell.type_url)) else { continue };
        let Some(slot) = row.cells.get_mut(*column) else { continue };
        if slot.as_ref().is_none_or(|known| severity(cell.state) < severity(known.state)) {
            *slot = Some(cell);
        }
    }
    for row in rows {
        let states = row.cells.iter().flatten().map(|cell| cell.state);
        row.worst = if row.closed() {
            TypeState::Closed
        } else {
            states.min_by_key(|state| severity(*state)).unwrap_or(TypeState::Idle)
        };
    }
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
            }
            Pane::Second => {
                self.problem = self.problem.saturating_add_signed(by).min(problems.saturating_sub(1));
            }
        }
    }

    /// Keeps the selection and the scroll offset within what there is.
    pub fn settle(&mut self, height: usize, problems: usize) {
        let rows = self.table.rows.len();
        if self.position().is_none() {
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
    use super::scroll;

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
