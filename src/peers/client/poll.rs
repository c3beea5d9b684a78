//! REST polls (group D): when a type is asked for again.

use crate::wire::Message;
use crate::wire::content::Catalog;
use crate::wire::event::Time;

use super::{Client, Effect, Key, Lane, Life};

/// The polls of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Poll {
    /// There is nothing to ask for, or no way to.
    Idle,
    /// The next is due then.
    Waiting(Time),
    /// One has no answer yet; there is never a second (row D-03).
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
    /// The poll of this lane was answered by "not modified" (304).
    pub fn handle_unchanged(&mut self, now: Time, lane: Lane) {
        if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
            state.backoff.reset();
        }
        self.polled(now, lane, true);
    }

    /// The poll of this lane has its answer, so another may follow.
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

    /// Polls a type, if it is time for that.
    pub(super) fn poll_due(&mut self, now: Time, key: &Key, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        if track.poll.due().is_some_and(|until| until <= now) {
            track.poll = Poll::Idle;
            self.poll(key, catalog);
        }
    }

    /// What is news is answered at once; a server that repeats itself is asked again after the delay.
    pub(super) fn poll_after_verdict(&mut self, now: Time, key: &Key, message: &Message, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        if track.is_news(message) {
            self.poll(key, catalog);
        } else if let (Poll::Idle, Some(state)) = (track.poll, self.lanes.get_mut(track.lane.0 as usize)) {
            track.poll = Poll::Waiting(now.after(state.backoff.spread(self.config.poll_delay)));
        }
    }

    /// Interest has changed, or the lane was opened. A poll that the server holds would not say so before it is answered:
    /// it is given up.
    pub(super) fn settle_poll(&mut self, key: &Key, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key) else { return };
        let lane = track.lane;
        match track.poll {
            Poll::Asked if track.is_told() => {}
            Poll::Asked => {
                track.poll = Poll::Idle;
                self.effects.push_back(Effect::Close { lane });
                if let Some(state) = self.lanes.get_mut(lane.0 as usize) {
                    state.life = Life::Waiting(Time::ZERO);
                }
            }
            Poll::Waiting(_) if track.is_told() => {}
            Poll::Idle | Poll::Waiting(_) => self.poll(key, catalog),
        }
    }

    fn poll(&mut self, key: &Key, catalog: &Catalog) {
        let Some(track) = self.tracks.get_mut(key).filter(|track| track.may_poll()) else { return };
        let lane = track.lane;
        let open = self.lanes.get(lane.0 as usize).is_some_and(|lane| matches!(lane.life, Life::Open { .. }));
        if open && track.poll != Poll::Asked {
            let request = track.next_poll();
            self.send(lane, &key.url, request, catalog);
        }
    }
}
