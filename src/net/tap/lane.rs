//! One direction of a connection, for the queue of its copies.

use bytes::Bytes;

use xdscope_sources::observe::ConnId;
use xdscope_wire::event::{Dir, Time};
use xdscope_wire::h2::Skimmer;

/// The bytes that a slow direction sends at once at most.
const MAX_ALLOWANCE_BYTES: u64 = 256 << 10;

/// The bytes per second that a slow direction sends at most, on average.
pub(crate) const SLOW_BYTES_PER_SECOND: u64 = 64 << 10;

/// One direction of a connection.
#[derive(Debug)]
pub struct Lane {
    /// The connection.
    pub conn: ConnId,
    /// The direction.
    pub dir: Dir,
    /// Follows the bytes, to leave out whole messages when the queue is full.
    pub skimmer: Skimmer,
    allowance: Allowance,
}

impl Lane {
    pub fn new(conn: ConnId, dir: Dir) -> Lane {
        Lane { conn, dir, skimmer: Skimmer::new(dir), allowance: Allowance::default() }
    }

    /// Counts bytes. Returns whether the direction is slow: copies of slow ones have room in a
    /// queue that others have filled.
    pub fn is_slow(&mut self, at: Time, bytes: &Bytes) -> bool {
        self.allowance.take(at, bytes.len() as u64)
    }
}

/// The bytes that a direction may still send as a slow one.
#[derive(Debug)]
struct Allowance {
    left: u64,
    at: Time,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance { left: MAX_ALLOWANCE_BYTES, at: Time::ZERO }
    }
}

impl Allowance {
    /// Uses `bytes` of the allowance. Returns false, with nothing left, if there are fewer.
    fn take(&mut self, at: Time, bytes: u64) -> bool {
        let millis = u64::try_from(at.since(self.at).as_millis()).unwrap_or(u64::MAX);
        let earned = millis.saturating_mul(SLOW_BYTES_PER_SECOND) / 1000;
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(MAX_ALLOWANCE_BYTES);
            self.at = at;
        }
        let is_enough = self.left >= bytes;
        self.left = self.left.saturating_sub(bytes);
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn allowance_grows_with_time_up_to_its_limit() {
        let mut allowance = Allowance::default();
        assert!(allowance.take(at(0), MAX_ALLOWANCE_BYTES));
        assert!(!allowance.take(at(0), 1), "nothing is left");
        assert!(allowance.take(at(1), SLOW_BYTES_PER_SECOND));
        assert!(!allowance.take(at(1), 1));
        assert!(!allowance.take(at(1000), MAX_ALLOWANCE_BYTES + 1), "no more than the limit");
        assert!(allowance.take(at(2000), MAX_ALLOWANCE_BYTES));
    }

    #[test]
    fn fast_direction_has_no_allowance() {
        let mut allowance = Allowance::default();
        let slow = (1..2000).filter(|n| allowance.take(Time(n * 1_000_000), 1 << 10)).count();
        assert!(slow < 450, "{slow} of 2000 kB in 2 s");
    }
}
