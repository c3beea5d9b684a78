//! Waits with a timeout.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Timeout for effects that should be immediate.
///
/// Two cores may be busy with other tests, and Envoy's reconnect delay grows to some seconds. A
/// passing test never waits this long.
pub const PATIENCE: Duration = Duration::from_secs(90);

const INTERVAL: Duration = Duration::from_millis(20);

/// Calls `look` until it returns a value.
///
/// # Panics
/// Panics on timeout ([`PATIENCE`]); the message names `what` was awaited.
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, look).unwrap_or_else(|| panic!("timed out after {PATIENCE:?}: {what}"))
}

/// Calls `look` until it returns a value or `limit` has passed.
pub fn wait_within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        thread::sleep(INTERVAL);
    }
}
