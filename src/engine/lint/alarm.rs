//! Timers of rules.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use xdscope_wire::event::Time;

/// The purpose of a timer. Each runs at most once at a time per stream and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A response has no verdict.
    Unanswered,
    /// Requested names have no answer.
    Waiting,
    /// Requested names seem not to exist.
    Missing,
    /// A TTL expires.
    Ttl,
    /// A name was unsubscribed under a wildcard: `docs/protocol.md#f-26`.
    Reclassify,
    /// Targets of redirects and members of lists are not requested.
    Targets,
    /// A resource waits for another.
    Warming,
    /// A new stream has had the time for its first request.
    Opened,
    /// A new stream has had the time to state its subscriptions.
    Settled,
    /// A client has had the time to request names again that its resources in force need.
    Unsubscribed,
    /// A client of gRPC has had the time to request the clusters of its routes.
    Clusters,
    /// Routes from an earlier stream have had the time to change.
    Routes,
    /// A resource that nothing may refer to.
    Unreferenced,
    /// A client that has clusters may never request listeners.
    Listeners,
    /// A stream without keepalives.
    Silent,
    /// Stated resources that no response has mentioned: `docs/protocol.md#f-17`.
    Claims,
    /// A stream may outlive those of its client that failed.
    Outlived,
}

impl Alarm {
    pub(super) const COUNT: usize = Alarm::Outlived as usize + 1;
}

/// A timer that runs. The order is that of expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Time,
    /// Index of the stream.
    pub(super) stream: usize,
    /// Index of the track on the stream, if the timer belongs to one.
    pub(super) track: Option<usize>,
    pub(super) alarm: Alarm,
}

/// All timers that run.
#[derive(Clone, Default)]
pub(super) struct AlarmQueue(BinaryHeap<Reverse<Due>>);

impl AlarmQueue {
    /// Sets a timer. A timer at the end of time would expire forever, and never expires.
    pub(super) fn set(&mut self, due: Due) {
        if due.at < Time::MAX {
            self.0.push(Reverse(due));
        }
    }

    /// Estimates the memory of the timers, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.0.len() * size_of::<Due>()
    }

    /// Returns when the next timer expires.
    pub(super) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse(next)| next.at)
    }

    /// Takes out the next timer if `is_due` says that its time has come.
    pub(super) fn pop(&mut self, is_due: impl Fn(Time) -> bool) -> Option<Due> {
        let Reverse(next) = self.0.peek()?;
        if !is_due(next.at) {
            return None;
        }
        self.0.pop().map(|Reverse(next)| next)
    }
}
