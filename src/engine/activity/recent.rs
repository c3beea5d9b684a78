//! The last minutes of a source, in steps of time.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use crate::store::{Exchange, MessageKind, Store};
use xdscope_wire::event::{StreamId, Time, TypeUrl};

use super::{LATENCY_CLASS_COUNT, is_push, latency_class, verdict_latency};

/// The resolution of the counts.
pub const STEP: Duration = Duration::from_secs(2);
/// The time that is kept.
pub const SPAN: Duration = Duration::from_secs(300);

/// Counts that are kept for single streams and types. Beyond, only the sums of all streams are
/// right.
const MAX_TALLIES: usize = 100_000;

/// NACKs by version that are kept, because the client may take them back.
const MAX_IMPLIED: usize = 1000;

/// The messages of one step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Responses with content.
    pub pushes: u32,
    /// Refusals.
    pub nacks: u32,
    /// Bytes of all messages.
    pub bytes: u64,
    /// The longest time from response to verdict, in microseconds.
    pub slowest: u32,
    /// Times from response to verdict, by class.
    pub latencies: [u32; LATENCY_CLASS_COUNT],
}

impl Tally {
    /// Counts a message: pushes, NACKs, bytes and the time to its verdict.
    pub(super) fn add(&mut self, exchange: &Exchange) {
        self.pushes += u32::from(is_push(exchange.kind));
        self.nacks += u32::from(exchange.kind == MessageKind::Nack);
        self.bytes += exchange.bytes;
        if let Some(latency) = verdict_latency(exchange) {
            let micros = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX);
            self.slowest = self.slowest.max(micros);
            if let Some(slot) = self.latencies.get_mut(latency_class(latency)) {
                *slot += 1;
            }
        }
    }

    /// Returns the tally of several cells; `None` if none of them has one.
    pub fn sum(cells: &[Option<Tally>]) -> Option<Tally> {
        cells.iter().flatten().copied().reduce(|mut sum, tally| {
            sum.merge(&tally);
            sum
        })
    }

    /// Removes a NACK by version that the client has taken back. The longest latency stays.
    fn take_back(&mut self, nack: &Exchange) {
        self.nacks = self.nacks.saturating_sub(1);
        let class = nack.latency.map(latency_class);
        if let Some(slot) = class.and_then(|class| self.latencies.get_mut(class)) {
            *slot = slot.saturating_sub(1);
        }
    }

    /// Adds the messages of another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.pushes += other.pushes;
        self.nacks += other.nacks;
        self.bytes += other.bytes;
        self.slowest = self.slowest.max(other.slowest);
        for (slot, number) in self.latencies.iter_mut().zip(other.latencies) {
            *slot += number;
        }
    }
}

/// The tallies of steps with messages, in the order of the steps.
type Steps = VecDeque<(u64, Tally)>;

/// The last [`SPAN`] of a source up to the moment that is shown.
///
/// Counts each row once. Rows beyond the moment are not looked at, so that a recording has at its
/// time cursor what a live source had then.
#[derive(Clone, Debug, Default)]
pub struct RecentActivity {
    /// The rows that were counted.
    counted: Range<usize>,
    /// All rows of the span were counted.
    is_complete: bool,
    /// The newest push that was counted.
    last_push: Option<Time>,
    /// The step of the moment.
    now: u64,
    all: Steps,
    /// By stream and index of the type on the stream.
    single: HashMap<(StreamId, u16), Steps>,
    /// The number of tallies in `single`.
    tallies: usize,
    /// The NACKs by version that were counted, with their rows.
    implied: VecDeque<(usize, Exchange)>,
}

/// The steps that contain a time.
fn step_of(at: Time) -> u64 {
    at.0 / STEP.as_nanos() as u64
}

/// The number of steps that are kept.
const STEPS: u64 = SPAN.as_secs() / STEP.as_secs();

impl RecentActivity {
    /// Counts up to `budget` rows of a store, the newest first, whose first `rows` are shown.
    /// Returns whether rows of the span are left.
    ///
    /// Each call costs no more than the rows that it counts, once all rows of the span are.
    pub fn follow(&mut self, store: &Store, rows: usize, budget: usize) -> bool {
        if store.clock().untimed {
            *self = RecentActivity::default();
            return false;
        }
        let first = store.first_row().min(rows);
        let is_gap = rows.saturating_sub(self.counted.end) > budget || first > self.counted.end;
        if rows < self.counted.end || is_gap {
            *self = RecentActivity { counted: rows..rows, ..RecentActivity::default() };
        }
        self.now = step_of(store.now());
        self.take_back(store);
        let mut left = budget;
        for row in self.counted.end..rows {
            self.count(store, row);
            left = left.saturating_sub(1);
        }
        self.counted.end = rows;
        self.counted.start = self.counted.start.max(first);
        let limit = self.oldest();
        while left > 0 && !self.is_complete {
            let Some(row) = self.counted.start.checked_sub(1).filter(|row| *row >= first) else {
                self.is_complete = true;
                break;
            };
            if store.row_time(row).is_some_and(|at| step_of(at) < limit) {
                self.is_complete = true;
                break;
            }
            self.count(store, row);
            self.counted.start = row;
            left -= 1;
        }
        self.drop_old(limit);
        !self.is_complete
    }

    /// The first step of the span.
    fn oldest(&self) -> u64 {
        (self.now + 1).saturating_sub(STEPS)
    }

    /// Adds a row to the tallies of all streams and of its type.
    fn count(&mut self, store: &Store, row: usize) {
        let Some(exchange) = store.exchange(row) else { return };
        let step = step_of(exchange.at);
        add(&mut self.all, step, &exchange);
        if exchange.implied && exchange.kind == MessageKind::Nack {
            self.implied.truncate(MAX_IMPLIED - 1);
            self.implied.push_front((row, exchange));
        }
        if is_push(exchange.kind) {
            self.last_push = self.last_push.max(Some(exchange.at));
        }
        let Some(track) = exchange.track else { return };
        let key = (exchange.stream, track);
        if self.tallies < MAX_TALLIES || self.single.contains_key(&key) {
            self.tallies += usize::from(add(self.single.entry(key).or_default(), step, &exchange));
        }
    }

    /// Takes out the NACKs by version that the client has taken back since they were counted.
    fn take_back(&mut self, store: &Store) {
        let is_nack = |row: usize| store.exchange(row).is_none_or(|now| now.kind == MessageKind::Nack);
        let implied = std::mem::take(&mut self.implied);
        let (kept, none): (VecDeque<_>, VecDeque<_>) =
            implied.into_iter().partition(|(row, _)| is_nack(*row));
        self.implied = kept;
        for (_, nack) in none {
            let single = nack.track.and_then(|track| self.single.get_mut(&(nack.stream, track)));
            let step = step_of(nack.at);
            for (at, tally) in single.into_iter().chain([&mut self.all]).flatten() {
                if *at == step {
                    tally.take_back(&nack);
                }
            }
        }
    }

    /// Forgets the tallies of steps before a limit.
    fn drop_old(&mut self, limit: u64) {
        if self.all.front().is_none_or(|(step, _)| *step >= limit) {
            return;
        }
        drop_before(&mut self.all, limit);
        let mut dropped = 0;
        self.single.retain(|_, steps| {
            dropped += drop_before(steps, limit);
            !steps.is_empty()
        });
        self.tallies -= dropped.min(self.tallies);
    }

    /// Whether the source has rows with times.
    pub fn has_rows(&self) -> bool {
        self.counted.end > 0
    }

    /// Whether rows of the span were not counted yet.
    pub fn is_counting(&self) -> bool {
        !self.is_complete && self.counted.end > 0
    }

    /// The time of the newest push in the span.
    pub fn last_push(&self) -> Option<Time> {
        self.last_push
    }

    /// Returns the time of an axis that shows `window` in at most `cells` cells.
    pub fn axis(&self, window: Duration, cells: usize) -> Axis {
        let steps = (window.min(SPAN).as_nanos() / STEP.as_nanos()).max(1) as u64;
        let cells = (cells as u64).max(1);
        let width = steps.div_ceil(cells).max(1);
        // Cells begin at multiples of their width, so that bars keep their heights as time passes.
        let last = self.now / width;
        let count = (steps / width).max(1);
        Axis { first: (last + 1).saturating_sub(count), blank: count.saturating_sub(last + 1), last, width }
    }

    /// Returns the tally of each cell of an axis for all streams; `None` before the start of the
    /// source.
    pub fn total(&self, axis: Axis) -> Vec<Option<Tally>> {
        axis.fill([&self.all])
    }

    /// Returns the tally of each cell for some streams.
    pub fn of_streams(
        &self,
        store: &Store,
        streams: impl Iterator<Item = StreamId>,
        axis: Axis,
    ) -> Vec<Option<Tally>> {
        let streams: BTreeSet<StreamId> = streams.collect();
        let keys = streams.iter().flat_map(|stream| {
            let tracks = store.track_count(*stream);
            (0..tracks).map(move |track| (*stream, u16::try_from(track).unwrap_or(u16::MAX)))
        });
        axis.fill(keys.filter_map(|key| self.single.get(&key)))
    }

    /// Returns the tally of each cell for a type of a stream.
    pub fn of_type(
        &self,
        store: &Store,
        stream: StreamId,
        type_url: &TypeUrl,
        axis: Axis,
    ) -> Vec<Option<Tally>> {
        let track = store.track_of(stream, type_url).and_then(|track| u16::try_from(track).ok());
        axis.fill(track.and_then(|track| self.single.get(&(stream, track))))
    }
}

/// Adds an exchange to its step. Returns whether the step is new.
fn add(steps: &mut Steps, step: u64, exchange: &Exchange) -> bool {
    // Rows come in order, forward or backward, so the step is at one of the ends.
    let at = match (steps.front(), steps.back()) {
        (_, Some((last, _))) if *last < step => steps.len(),
        (Some((first, _)), _) if *first > step => 0,
        _ => steps.partition_point(|(other, _)| *other < step),
    };
    let is_new = steps.get(at).is_none_or(|(other, _)| *other != step);
    if is_new {
        steps.insert(at, (step, Tally::default()));
    }
    if let Some((_, tally)) = steps.get_mut(at) {
        tally.add(exchange);
    }
    is_new
}

/// Drops the steps before `limit`. Returns their number.
fn drop_before(steps: &mut Steps, limit: u64) -> usize {
    let old = steps.partition_point(|(step, _)| *step < limit);
    steps.drain(..old);
    old
}

/// The cells of a time axis that ends at the moment that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The first cell, counted from the start of the source.
    first: u64,
    /// Cells before the start of the source.
    blank: u64,
    last: u64,
    /// The steps of a cell.
    width: u64,
}

impl Axis {
    /// The number of cells.
    pub fn cell_count(self) -> usize {
        (self.blank + self.last + 1 - self.first) as usize
    }

    /// The time of a cell.
    pub fn cell(self) -> Duration {
        STEP * u32::try_from(self.width).unwrap_or(u32::MAX)
    }

    /// The time from the first cell to the last.
    pub fn span(self) -> Duration {
        self.cell() * u32::try_from(self.cell_count()).unwrap_or(u32::MAX)
    }

    /// Sums the steps into the cells of a chart. Cells before the source are blank.
    fn fill<'a>(self, all: impl IntoIterator<Item = &'a Steps>) -> Vec<Option<Tally>> {
        let mut cells = vec![None; self.blank as usize];
        cells.resize(self.cell_count(), Some(Tally::default()));
        for (step, tally) in all.into_iter().flatten() {
            let Some(at) = (step / self.width).checked_sub(self.first) else { continue };
            if let Some(Some(cell)) = cells.get_mut((self.blank + at) as usize) {
                cell.merge(tally);
            }
        }
        cells
    }
}
