//! Pushes, NACKs and answers of a source over time, for small charts.

#![warn(missing_docs)]

use std::collections::HashMap;
use std::time::Duration;

use crate::engine::store::{MessageKind, Store};
use crate::wire::event::{Dir, StreamId};

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

/// Counts of messages by equal parts of the time that a source covers.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// Pushes of all streams.
    pub pushes: Vec<u64>,
    /// NACKs of all streams.
    pub nacks: Vec<u64>,
    /// Times from response to verdict, by class.
    pub latencies: [u64; LATENCY_CLASSES.len() + 1],
    by_stream: HashMap<StreamId, Vec<u64>>,
}

impl Activity {
    /// Counts the rows of a store in `parts` parts. All rows count for the first part of a source
    /// without timestamps.
    pub fn of(store: &Store, parts: usize) -> Activity {
        let parts = parts.max(1);
        let mut activity = Activity { pushes: vec![0; parts], nacks: vec![0; parts], ..Activity::default() };
        let span = u128::from(store.now().0) + 1;
        for row in store.first_row()..store.rows() {
            let Some((Some(n), kind)) = store.kind_of(row) else { continue };
            let Some(at) = store.time_of(n) else { continue };
            let part = (u128::from(at.0) * parts as u128 / span).min(parts as u128 - 1) as usize;
            let add = |list: &mut Vec<u64>| list.iter_mut().skip(part).take(1).for_each(|slot| *slot += 1);
            match kind {
                MessageKind::Push | MessageKind::Resend => {
                    add(&mut activity.pushes);
                    if let Some((stream, _)) = store.place_of(row) {
                        add(activity.by_stream.entry(stream).or_insert_with(|| vec![0; parts]));
                    }
                }
                MessageKind::Ack | MessageKind::Nack => {
                    if kind == MessageKind::Nack {
                        add(&mut activity.nacks);
                    }
                    let latency = store.line(row).filter(|line| line.dir == Some(Dir::Req));
                    if let Some(latency) = latency.and_then(|line| line.latency) {
                        let class = LATENCY_CLASSES.iter().position(|end| latency < *end);
                        let class = class.unwrap_or(LATENCY_CLASSES.len());
                        activity.latencies.iter_mut().skip(class).take(1).for_each(|slot| *slot += 1);
                    }
                }
                _ => {}
            }
        }
        activity
    }

    /// Returns the pushes of some streams.
    pub fn pushes_of(&self, streams: impl Iterator<Item = StreamId>) -> Vec<u64> {
        let mut sum = vec![0; self.pushes.len()];
        for list in streams.filter_map(|stream| self.by_stream.get(&stream)) {
            for (slot, number) in sum.iter_mut().zip(list) {
                *slot += number;
            }
        }
        sum
    }
}
