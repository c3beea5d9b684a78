//! One turn of the event loop: messages in, a frame out when one is due.
//!
//! Independent of a terminal, so that the time from key to frame can be measured without one.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::painter::{Painter, blank};
use crate::data::Feed;
use crate::shell::effect::{Effect, Msg};
use crate::shell::model::Model;
use crate::shell::settle::search;
use crate::shell::update::update_all;
use crate::shell::view::view;

/// The interval between frames that only new facts ask for.
const FRAME_INTERVAL: Duration = Duration::from_millis(33);
/// The interval between frames on a slow link.
const SLOW_FRAME_INTERVAL: Duration = Duration::from_millis(200);
/// The interval between frames that keys ask for: shorter than a person sees, longer than the
/// repeat interval of a held key.
const KEY_FRAME_INTERVAL: Duration = Duration::from_millis(8);
/// The time after a key within which the user is considered to be typing.
const TYPING_TIMEOUT: Duration = Duration::from_millis(300);
/// The share of a frame that a search gets.
const SEARCH_TIME: Duration = Duration::from_millis(4);

/// A wait for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The longest wait; `None`: until a key or a message comes.
    pub timeout: Option<Duration>,
    /// A change of the facts ends the wait.
    pub for_changes: bool,
}

impl Wait {
    /// Takes the keys that are there.
    pub(crate) const NONE: Wait = Wait { timeout: Some(Duration::ZERO), for_changes: false };
    /// Waits for a key or a message.
    pub(crate) const FOR_MESSAGE: Wait = Wait { timeout: None, for_changes: false };
}

/// The screens of a feed, painted on `W`.
pub struct Screens<W: Write> {
    pub model: Model,
    pub painter: Painter<W>,
    frame: Duration,
    /// The time of the last frame.
    painted: Option<Instant>,
    /// The time of the last frame that a key asked for.
    answered: Option<Instant>,
    /// A key waits for its frame.
    has_key: bool,
    /// The revision of the facts that the model shows.
    revision: Option<u64>,
    /// A frame is due.
    is_dirty: bool,
}

impl<W: Write> Screens<W> {
    /// `slow_link`: at most five frames a second.
    pub fn new(model: Model, out: W, slow_link: bool) -> Screens<W> {
        Screens {
            model,
            painter: Painter::new(out),
            frame: if slow_link { SLOW_FRAME_INTERVAL } else { FRAME_INTERVAL },
            painted: None,
            answered: None,
            has_key: true,
            revision: None,
            is_dirty: true,
        }
    }

    /// Returns how long to wait for a key.
    pub fn wait(&self, feed: &dyn Feed) -> Wait {
        if self.painted.is_none() {
            Wait::NONE
        } else if self.is_dirty || self.model.is_searching() {
            Wait { timeout: Some(Duration::from_millis(2)), for_changes: false }
        } else if self.model.common.paused.is_some() && !self.model.common.info.is_holding() {
            Wait::FOR_MESSAGE
        } else if self.revision != Some(feed.revision()) {
            let passed = self.painted.map_or(self.frame, |painted| painted.elapsed());
            Wait { timeout: Some(self.frame.saturating_sub(passed)), for_changes: false }
        } else {
            Wait { timeout: feed.poll_interval().map(|poll| poll.max(self.frame)), for_changes: true }
        }
    }

    /// A frame is due.
    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Handles messages and changed facts. Returns the actions for the event loop.
    pub fn turn(&mut self, feed: &dyn Feed, mut messages: Vec<Msg>) -> Vec<Effect> {
        self.has_key |= messages
            .iter()
            .any(|m| matches!(m, Msg::Key(_) | Msg::Mouse(_) | Msg::Resize(..) | Msg::Paste(_)));
        let now = feed.revision();
        let is_changed = self.revision != Some(now);
        // Held messages have their own time, also while the rows are paused.
        let is_shown = self.model.common.paused.is_none() || self.model.common.info.is_holding();
        if is_changed && is_shown && is_over(self.painted, self.frame) {
            self.revision = Some(now);
            messages.push(Msg::Info(Box::new(feed.info())));
        }
        let mut effects = Vec::new();
        let model = &mut self.model;
        model.common.refresh.is_typing = !is_over(self.answered, TYPING_TIMEOUT);
        if !messages.is_empty() || model.is_searching() {
            self.is_dirty = true;
            feed.read(&mut |data| {
                let start = Instant::now();
                // Keys come before the search.
                while messages.is_empty() && model.is_searching() && start.elapsed() < SEARCH_TIME {
                    if !search(model, data) {
                        break;
                    }
                }
                if messages.is_empty() {
                    messages.push(Msg::Changed);
                }
                effects.extend(update_all(model, std::mem::take(&mut messages), data));
            });
        }
        effects
    }

    /// Paints a frame if one is due.
    ///
    /// # Errors
    /// `W` cannot be written.
    pub fn paint(&mut self) -> io::Result<()> {
        let due = if self.has_key {
            is_over(self.answered, KEY_FRAME_INTERVAL)
        } else {
            is_over(self.painted, self.frame)
        };
        if self.is_dirty && due {
            let mut next = blank(self.model.common.size);
            let cursor = view(&self.model, &mut next);
            self.painter.paint(next, cursor)?;
            self.painted = Some(Instant::now());
            if std::mem::take(&mut self.has_key) {
                self.answered = self.painted;
            }
            self.is_dirty = false;
        }
        Ok(())
    }
}

fn is_over(since: Option<Instant>, time: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= time)
}
