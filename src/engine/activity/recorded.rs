//! A recording up to a moment, in equal parts of its whole time.

use crate::store::{MessageKind, Store};
use xdscope_wire::event::{StreamId, Time};

use super::Tally;

/// Parts of the time of a recording: more than a terminal has columns.
const PARTS: usize = 720;

/// Returns the part of the time until `end` that contains a moment, below `PARTS`.
fn part_of(at: u64, end: u64) -> usize {
    let part = u128::from(at) * PARTS as u128 / u128::from(end.max(1));
    usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1)
}

/// Returns the column that shows a position of `end`, where `columns` columns show all of them.
///
/// Everything that is drawn on the time of a recording asks here, so that equal times stand in
/// equal columns.
pub fn column_of(at: u64, end: u64, columns: usize) -> usize {
    column_of_part(part_of(at, end), columns)
}

/// Counts the messages up to the moment of a store in equal parts of the time until `end`. Rows are
/// found by their times, not walked through.
pub fn messages_by_part(store: &Store, end: Time) -> Vec<u64> {
    let before = |part: usize| {
        let first = (u128::from(end.0) * part as u128).div_ceil(PARTS as u128);
        match u64::try_from(first).unwrap_or(u64::MAX) {
            _ if part == PARTS => store.rows_until(end),
            0 => 0,
            first => store.rows_until(Time(first - 1)),
        }
    };
    let bounds: Vec<usize> = (0..=PARTS).map(before).collect();
    let parts = bounds.iter().zip(bounds.iter().skip(1));
    parts.map(|(from, to)| to.saturating_sub(*from) as u64).collect()
}

/// Returns the column that shows a part, where `columns` columns show all.
pub fn column_of_part(part: usize, columns: usize) -> usize {
    (part * columns / PARTS).min(columns.saturating_sub(1))
}

/// Pushes, NACKs and answers of all streams or of one type, in equal parts of the whole time of a
/// recording.
///
/// Counts each row once. Rows beyond the moment of the store are not looked at.
#[derive(Clone, Debug, Default)]
pub struct RecordedActivity {
    end: Time,
    /// The stream, and the index of the type on the stream; `None` for all streams.
    only: Option<(StreamId, usize)>,
    /// The number of rows that were counted, and whether none is left.
    counted: usize,
    is_complete: bool,
    parts: Vec<Tally>,
    /// Counted NACKs by version, which the client may take back.
    implied: Vec<usize>,
}

impl RecordedActivity {
    /// Counts up to `budget` more rows. Returns whether rows are left.
    ///
    /// Counts from the start if the moment went back, or if the end or the type is another one.
    pub fn follow(
        &mut self,
        store: &Store,
        end: Time,
        only: Option<(StreamId, usize)>,
        budget: usize,
    ) -> bool {
        let rows = if store.clock().untimed { 0 } else { store.rows() };
        let is_nack = |row: &usize| store.exchange(*row).is_none_or(|now| now.kind == MessageKind::Nack);
        let is_same = (self.end, self.only) == (end, only) && self.counted <= rows;
        if !is_same || self.parts.is_empty() || !self.implied.iter().all(is_nack) {
            *self = RecordedActivity {
                end,
                only,
                counted: store.first_row().min(rows),
                parts: vec![Tally::default(); PARTS],
                ..RecordedActivity::default()
            };
        }
        let to = rows.min(self.counted.saturating_add(budget));
        for row in self.counted..to {
            let Some(exchange) = store.exchange(row) else { continue };
            let is_counted = only.is_none_or(|(stream, track)| {
                exchange.stream == stream && exchange.track.is_some_and(|own| usize::from(own) == track)
            });
            if !is_counted {
                continue;
            }
            if exchange.implied && exchange.kind == MessageKind::Nack {
                self.implied.push(row);
            }
            if let Some(tally) = self.parts.get_mut(part_of(exchange.at.0, end.0)) {
                tally.add(&exchange);
            }
        }
        self.counted = to;
        self.is_complete = to == rows;
        !self.is_complete
    }

    /// Whether rows up to the moment were not counted yet.
    pub fn is_counting(&self) -> bool {
        !self.is_complete && !self.parts.is_empty()
    }

    /// Returns the tallies of the columns of a chart. Columns beyond the moment `now` are `None`.
    pub fn columns(&self, now: Time, columns: usize) -> Vec<Option<Tally>> {
        let shown = if self.parts.is_empty() { 0 } else { column_of(now.0, self.end.0, columns) + 1 };
        let mut cells = vec![Some(Tally::default()); shown.min(columns)];
        cells.resize(columns, None);
        for (part, tally) in self.parts.iter().enumerate() {
            if let Some(Some(cell)) = cells.get_mut(column_of_part(part, columns)) {
                cell.merge(tally);
            }
        }
        cells
    }
}
