use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::wire::event::Time;

/// What a timer is for. Each runs at most once at a time per stream and type, whatever the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A response has no verdict.
    Unanswered,
    /// Names that were asked for were not answered.
    Waiting,
    /// Names that were asked for do not exist, it seems.
    Missing,
    /// A time to live runs out.
    Ttl,
    /// A name that was given up under a wildcard (row F-26).
    Reclassify,
    /// Targets of redirects and members of lists are not asked for.
    Targets,
    /// A resource waits for another.
    Warming,
    /// A new stream has had the time to say what it wants.
    Settled,
    /// A resource that nothing may refer to.
    Unreferenced,
    /// A stream on which not even keepalives pass.
    Silent,
}

impl Alarm {
    pub(super) const COUNT: usize = 10;
}

/// When, which stream, which track on it, what for.
pub(super) type Due = (Time, usize, Option<usize>, Alarm);

/// All timers that run.
#[derive(Clone, Default)]
pub(super) struct Alarms(BinaryHeap<Reverse<Due>>);

impl Alarms {
    pub(super) fn set(&mut self, due: Due) {
        self.0.push(Reverse(due));
    }

    /// The next one that is due.
    pub(super) fn pop(&mut self, due: impl Fn(Time) -> bool) -> Option<Due> {
        let Reverse(next) = self.0.peek()?;
        if !due(next.0) {
            return None;
        }
        self.0.pop().map(|Reverse(next)| next)
    }
}
