use std::time::Duration;

use xdscope_wire::event::Time;

/// The clock of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    now: Time,
    /// Whether the script has `notime`: everything happens at time zero.
    pub untimed: bool,
}

/// The time between messages without a time of their own.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(10);

impl Timeline {
    pub(super) fn new(untimed: bool) -> Self {
        Timeline { now: Time::ZERO, untimed }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Advances to a message or the end of a stream: to its own time, or by [`MESSAGE_INTERVAL`].
    pub(super) fn step(&mut self, at: Option<Time>) -> Time {
        if !self.untimed {
            self.now = at.unwrap_or_else(|| self.now.after(MESSAGE_INTERVAL)).max(self.now);
        }
        self.now
    }

    /// Advances to the opening of a stream, which takes no time unless it states one.
    pub(super) fn open(&mut self, at: Option<Time>) -> Time {
        self.now = at.unwrap_or(self.now).max(self.now);
        self.now
    }

    pub(super) fn advance(&mut self, by: Duration) -> Time {
        self.now = self.now.after(by);
        self.now
    }
}
