//! Keepalives of a connection, as the PINGs that passed tell them (row I-12).

use std::time::Duration;

use crate::wire::event::{Side, Time};

/// A side that sends a PING from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    pub by: Side,
    pub every: Duration,
    /// The newest of them.
    pub last: Time,
}

/// PINGs of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pings {
    last: Option<Time>,
    gap: Option<Duration>,
    /// The last gap was as long as the one before it: they come by the clock.
    regular: bool,
}

impl Pings {
    pub(crate) fn note(&mut self, at: Time) {
        let gap = self.last.map(|last| at.since(last));
        // Clients spread theirs by up to 15 %.
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

    /// Row I-12.
    #[test]
    fn three_at_even_distances_are_a_keepalive() {
        assert_eq!(after(&[5, 35]), None);
        assert_eq!(after(&[5, 35, 65]), Some(Duration::from_secs(30)));
        assert_eq!(after(&[5, 35, 69]), Some(Duration::from_secs(34)));
        assert_eq!(after(&[5, 35, 45]), None);
        assert_eq!(after(&[5, 35, 65, 125]), None);
    }
}
