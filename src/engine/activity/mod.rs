//! Pushes, NACKs and answers of a source over time, for charts.
//!
//! [`Activity`] divides the whole time of a source into equal parts. [`RecentActivity`] follows a
//! source, and keeps its last minutes. [`RecordedActivity`] follows the time cursor of a recording
//! on the axis of its whole time.

#![warn(missing_docs)]

mod recent;
mod recorded;

use std::collections::HashMap;
use std::time::Duration;

use crate::store::{Exchange, MessageKind, Store};
use xdscope_wire::event::StreamId;

pub use recent::{Axis, RecentActivity, SPAN, STEP, Tally};
pub use recorded::{RecordedActivity, column_of, column_of_part, messages_by_part};

/// Upper ends of the classes of latency; a last class has the rest.
pub const LATENCY_CLASSES: [Duration; 9] = [
    Duration::from_millis(1),
    Duration::from_millis(3),
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
];

/// Number of classes of latency.
pub const LATENCY_CLASS_COUNT: usize = LATENCY_CLASSES.len() + 1;

/// Returns the class of a latency.
pub fn latency_class(latency: Duration) -> usize {
    LATENCY_CLASSES.iter().position(|end| latency < *end).unwrap_or(LATENCY_CLASSES.len())
}

fn is_push(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::Push | MessageKind::Resend)
}

/// Adds one to the count of a part.
fn count_in(counts: &mut [u64], part: usize) {
    if let Some(count) = counts.get_mut(part) {
        *count += 1;
    }
}

/// Returns the time from response to verdict, if the message is a verdict.
pub(crate) fn verdict_latency(exchange: &Exchange) -> Option<Duration> {
    if matches!(exchange.kind, MessageKind::Ack | MessageKind::Nack) { exchange.latency } else { None }
}

/// Counts of messages by equal parts of the time that a source covers.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Pushes of all streams.
    pub pushes: Vec<u64>,
    /// NACKs of all streams.
    pub nacks: Vec<u64>,
    /// Times from response to verdict, by class.
    pub latencies: [u64; LATENCY_CLASS_COUNT],
    by_stream: HashMap<StreamId, Vec<u64>>,
}

impl Activity {
    /// Counts the rows of a store in `parts` parts. All rows count for the first part of a source
    /// without timestamps.
    pub fn of(store: &Store, parts: usize) -> Activity {
        Activity::of_streams(store, parts, &|_| true)
    }

    /// Counts like [`of`](Activity::of) the rows of the streams that `is_counted` accepts.
    pub fn of_streams(store: &Store, parts: usize, is_counted: &dyn Fn(StreamId) -> bool) -> Activity {
        let parts = parts.max(1);
        let mut activity = Activity { pushes: vec![0; parts], nacks: vec![0; parts], ..Activity::default() };
        let span = u128::from(store.now().0) + 1;
        let exchanges = (store.first_row()..store.rows()).filter_map(|row| store.exchange(row));
        for exchange in exchanges.filter(|exchange| is_counted(exchange.stream)) {
            let part = (u128::from(exchange.at.0) * parts as u128 / span).min(parts as u128 - 1) as usize;
            if is_push(exchange.kind) {
                count_in(&mut activity.pushes, part);
                count_in(activity.by_stream.entry(exchange.stream).or_insert_with(|| vec![0; parts]), part);
            }
            if exchange.kind == MessageKind::Nack {
                count_in(&mut activity.nacks, part);
            }
            if let Some(latency) = verdict_latency(&exchange) {
                count_in(&mut activity.latencies, latency_class(latency));
            }
        }
        activity
    }

    /// Returns the pushes of some streams.
    pub fn pushes_of(&self, streams: impl Iterator<Item = StreamId>) -> Vec<u64> {
        let mut sum = vec![0; self.pushes.len()];
        for list in streams.filter_map(|stream| self.by_stream.get(&stream)) {
            for (sum, number) in sum.iter_mut().zip(list) {
                *sum += number;
            }
        }
        sum
    }
}
