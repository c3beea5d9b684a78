//! Waits with a timeout.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Timeout for effects that should be immediate.
///
/// Two cores may be busy with other programs, and Envoy's reconnect delay grows to some seconds. A
/// passing test never waits this long.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Timeout for the results of an analysis of many megabytes. The analysis has a low priority: on
/// busy cores it gets a thirtieth of one.
pub const ANALYSIS_PATIENCE: Duration = Duration::from_secs(900);

/// Interval at which effects are looked for, and the longest pause between two looks.
const INTERVAL: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Calls `look` until it returns a value.
///
/// # Panics
/// Panics on timeout ([`PATIENCE`]); the message names `what` was awaited.
#[track_caller]
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = wait_within(PATIENCE, look) else { panic!("timed out after {PATIENCE:?}: {what}") };
    found
}

/// Calls `look` until it returns a value that the analysis of large messages provides.
///
/// # Panics
/// Panics on timeout ([`ANALYSIS_PATIENCE`]); the message names `what` was awaited.
#[track_caller]
pub fn wait_for_analysis<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let Some(found) = wait_within(ANALYSIS_PATIENCE, look) else {
        panic!("timed out after {ANALYSIS_PATIENCE:?}: {what}")
    };
    found
}

/// Calls `look` until it returns a value or `limit` has passed.
pub fn wait_within<T>(limit: Duration, look: impl FnMut() -> Option<T>) -> Option<T> {
    look_every(INTERVAL, limit, look)
}

/// Calls `look` at this interval until it returns a value or `limit` has passed.
pub fn look_every<T>(interval: Duration, limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        let begun = Instant::now();
        let found = look();
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        // A look that runs a program leaves half of the time to the programs of the test.
        thread::sleep(interval.max(begun.elapsed().min(MAX_PAUSE)));
    }
}

/// Asserts that `happens` stays false for `time`, where no event proves that.
///
/// # Panics
/// Panics as soon as it happens; the message names `what` must not happen.
#[track_caller]
pub fn quiet_for(time: Duration, what: &str, mut happens: impl FnMut() -> bool) {
    let happened = wait_within(time, || happens().then_some(()));
    assert!(happened.is_none(), "within {time:?}: {what}");
}

/// Lets `time` pass for a peer or a user whose part the test plays. An effect is awaited with
/// [`wait_for`].
pub fn pass(time: Duration) {
    thread::sleep(time);
}
