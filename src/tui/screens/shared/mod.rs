//! Parts that several screens use.

pub(crate) mod lifetimes;
pub(crate) mod list_table;
pub(crate) mod members;
pub(crate) mod message_rows;
pub(crate) mod missing_answers;
pub(crate) mod names;
pub(crate) mod problem_place;
pub(crate) mod pushes;
pub(crate) mod replay_track;
pub(crate) mod side_by_side;
pub(crate) mod traffic;
pub(crate) mod variant;

use std::time::Duration;

use xdscope_wire::text::latency;

/// A number of milliseconds as a time: `4ms`.
pub(crate) fn millis(ms: f64) -> String {
    Duration::try_from_secs_f64(ms / 1e3).map_or("-".to_owned(), latency)
}

/// Median and 99th percentile of the delay that a tap adds: `84us, p99 3ms`.
pub(crate) fn delay_words((p50, p99): (Duration, Duration)) -> String {
    let words = |delay: Duration| match delay.as_micros() {
        micros @ 0..1000 => format!("{micros}us"),
        _ => latency(delay),
    };
    format!("{}, p99 {}", words(p50), words(p99))
}
