//! Timers that decide states.

use crate::session::Track;
use xdscope_wire::event::Time;

use crate::store::Store;

impl Store {
    /// Returns when the last running timer of a state expires; `None` if none runs.
    ///
    /// Visits every missing name of the open streams.
    pub fn last_timer(&self) -> Option<Time> {
        let tracks = self.engine.open_streams().flat_map(|stream| stream.tracks_shown());
        tracks.filter_map(|track| self.last_timer_of(track)).filter(|at| *at > self.now).max()
    }

    fn last_timer_of(&self, track: &Track) -> Option<Time> {
        let names = track.waiting.iter().filter(|(_, request)| request.is_owed());
        let names = names.map(|(_, request)| request.since);
        let wildcard = track.wildcard_owed().map(|(at, _)| at);
        let requested = names.chain(wildcard).max();
        let missing = requested.zip(self.limits.resource_timeout).map(|(at, limit)| at.after(limit));
        let pushed = track.responses.pending().map(|response| track.verdict_due_from(response.at)).max();
        let stale = pushed.zip(self.limits.stale_after).map(|(at, limit)| at.after(limit));
        missing.max(stale)
    }
}
