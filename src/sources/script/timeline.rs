use std::time::Duration;

use crate::wire::event::Time;

/// The clock of a script: where each line stands in time.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    now: Time,
    /// `notime`: everything happens at zero.
    pub untimed: bool,
}

/// From one message to the next, where a line has no time.
const STEP: Duration = Duration::from_millis(10);

impl Timeline {
    pub(super) fn new(untimed: bool) -> Self {
        Timeline { now: Time::ZERO, untimed }
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// A message or the end of a stream: [`STEP`] after what was before, if it has no time of its own.
    pub(super) fn step(&mut self, at: Option<Time>) -> Time {
        if !self.untimed {
            self.now = at.unwrap_or_else(|| self.now.after(STEP)).max(self.now);
        }
        self.now
    }

    /// The opening of a stream takes no time of its own.
    pub(super) fn open(&mut self, at: Option<Time>) -> Time {
        self.now = at.unwrap_or(self.now).max(self.now);
        self.now
    }

    pub(super) fn advance(&mut self, by: Duration) -> Time {
        self.now = self.now.after(by);
        self.now
    }
}
