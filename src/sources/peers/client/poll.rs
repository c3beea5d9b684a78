//! REST polls: the time of the next poll of a type.

use xdscope_wire::Message;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Time;

use super::{Client, Effect, Lane, Life, TrackKey};

/// The state of the polls of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Poll {
    /// There is nothing to poll for, or the lane is not open.
    Idle,
    /// The next poll is due at this time.
    Waiting(Time),
    /// A poll has no response yet. There is never a second one (docs/protocol.md#d-03).
    Asked,
}

impl Poll {
    pub(super) fn due(self) -> Option<Time> {
        match self {
            Poll::Waiting(until) => Some(until),
            Poll::Idle | Poll::Asked => None,
        }
    }
}

impl Client {
    /// Reports a "not modified" (304) response to the lane's poll.
    pub fn handle_unchanged(&mut self, now: Time, lane: Lane) {
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.backoff.reset();
        }
        self.polled(now, lane, true);
    }

    /// Notes the response to the lane's poll, so that another poll may follow.
    pub(super) fn polled(&mut self, now: Time, lane: Lane, unchanged: bool) {
        let delay = self.config.poll_delay;
        let Some(state) = self.lanes.get_mut(lane.0 as usize) else { return };
        for track in self.tracks.values_mut().filter(|track| track.lane == lane) {
            if track.poll == Poll::Asked {
                track.poll = Poll::Waiting(now.after(state.backoff.spread(delay)));
                track.answered |= unchanged;
            }
        }
    }

    /// Polls a type if the poll is due.
    pub(super) fn poll_due(&mut self, now: Time, key: &TrackKey, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        if track.poll.due().is_some_and(|until| until <= now) {
            track.poll = Poll::Idle;
            self.poll(key, catalog);
        }
    }

    /// Schedules the poll that carries a verdict: at once after news, after the delay otherwise.
    pub(super) fn poll_after_verdict(
        &mut self,
        now: Time,
        key: &TrackKey,
        message: &Message,
        catalog: &Catalog,
    ) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        if track.is_news(message) {
            self.poll(key, catalog);
        } else if let (Poll::Idle, Some(state)) = (track.poll, self.lanes.get_mut(track.lane.0 as usize)) {
            track.poll = Poll::Waiting(now.after(state.backoff.spread(self.config.poll_delay)));
        }
    }

    /// Polls after a subscription change or the opening of a lane.
    ///
    /// A poll that the server is holding open does not have the change, so it is aborted.
    pub(super) fn settle_poll(&mut self, key: &TrackKey, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        let lane = track.lane;
        match track.poll {
            Poll::Asked if track.is_subscription_sent() => {}
            Poll::Asked => {
                track.poll = Poll::Idle;
                self.effects.push_back(Effect::Close { lane });
                if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
                    state.life = Life::Waiting(Time::ZERO);
                }
            }
            Poll::Waiting(_) if track.is_subscription_sent() => {}
            Poll::Idle | Poll::Waiting(_) => self.poll(key, catalog),
        }
    }

    /// Sends the next poll of a type, unless one is under way.
    fn poll(&mut self, key: &TrackKey, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key).filter(|track| track.may_poll()) else { return };
        let lane = track.lane;
        let open = self.lanes.get(lane.0 as usize).is_some_and(|lane| matches!(lane.life, Life::Open { .. }));
        if open && track.poll != Poll::Asked {
            let request = track.next_poll();
            self.send(lane, &key.url, request, catalog);
        }
    }
}
