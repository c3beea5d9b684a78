//! The rhythm of REST polls: a client gives its verdict with its next poll (docs/protocol.md#d-02).

use std::time::Duration;

use xdscope_wire::event::Time;

use crate::session::track::Track;

/// Time that a client may wait before its second poll, when its rhythm is not known yet.
const USUAL_POLL_WAIT: Duration = Duration::from_secs(60);

impl Track {
    /// Remembers how long the client took to poll again after a response.
    pub(crate) fn note_poll(&mut self, at: Time) {
        let waited = self.responses.pending().map(|response| at.since(response.at)).max();
        self.traffic.longest_poll_wait = self.traffic.longest_poll_wait.max(waited);
    }

    /// Returns the time that a client may wait before its next poll: twice its longest wait so far.
    /// Zero for streams, whose verdicts do not wait for a poll.
    pub(crate) fn poll_wait(&self) -> Duration {
        match self.traffic.longest_poll_wait {
            _ if !self.polled => Duration::ZERO,
            Some(longest) => longest.saturating_mul(2),
            None => USUAL_POLL_WAIT,
        }
    }
}
