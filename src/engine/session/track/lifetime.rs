//! The end of a track, and its neighbours on other streams of the client.

use xdscope_wire::event::{StreamId, Time};

/// When a track ended, and where the client continues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifetime {
    /// When the stream ended.
    pub(crate) ended: Option<Time>,
    /// The earlier stream of the client with which the track continues.
    pub(crate) predecessor: Option<StreamId>,
    /// When a later stream of the client took over the type, after the end.
    pub(crate) replaced: Option<Time>,
}

impl Lifetime {
    /// Returns `now`, or the end of the stream: nothing is waited for after that.
    pub(crate) fn clock(&self, now: Time) -> Time {
        self.ended.map_or(now, |at| now.min(at))
    }

    /// Returns the time for the timers of the resources: a client keeps them when the stream ends,
    /// until a later stream takes over (docs/protocol.md#g-02).
    pub(crate) fn ttl_clock(&self, now: Time) -> Time {
        self.replaced.map_or(now, |at| now.min(at))
    }
}
