//! Keepalives of a connection, derived from PINGs (docs/protocol.md#i-12).

use std::time::Duration;

use xdscope_wire::event::{Side, Time};

/// A side that sends PINGs at regular intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// The side that sends the PINGs.
    pub by: Side,
    /// The interval.
    pub every: Duration,
    /// When the newest PING was seen.
    pub last: Time,
}

/// PINGs of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pings {
    last: Option<Time>,
    gap: Option<Duration>,
    /// Whether the last two intervals are about equal.
    regular: bool,
}

impl Pings {
    pub(crate) fn note(&mut self, at: Time) {
        let gap = self.last.map(|last| at.since(last));
        // Clients add a jitter of up to 15 %.
        let alike = |(one, other): (Duration, Duration)| one.abs_diff(other) * 5 <= one.max(other);
        self.regular = self.gap.zip(gap).is_some_and(alike);
        (self.last, self.gap) = (Some(at), gap);
    }

    pub(crate) fn keepalive(&self, by: Side) -> Option<Keepalive> {
        let (last, every) = self.last.zip(self.gap)?;
        self.regular.then_some(Keepalive { by, every, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(secs: &[u64]) -> Option<Duration> {
        let mut pings = Pings::default();
        secs.iter().for_each(|at| pings.note(Time::ZERO.after(Duration::from_secs(*at))));
        pings.keepalive(Side::Client).map(|keepalive| keepalive.every)
    }

    /// docs/protocol.md#i-12.
    #[test]
    fn detects_keepalive_after_three_regular_pings() {
        assert_eq!(after(&[5, 35]), None);
        assert_eq!(after(&[5, 35, 65]), Some(Duration::from_secs(30)));
        assert_eq!(after(&[5, 35, 69]), Some(Duration::from_secs(34)));
        assert_eq!(after(&[5, 35, 45]), None);
        assert_eq!(after(&[5, 35, 65, 125]), None);
    }
}
