//! One turn of the loop: messages in, a frame out when one is due. It knows of no terminal, so that what a key takes
//! can be measured without one.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::tui::data::Feed;
use crate::tui::shell::model::Model;
use crate::tui::shell::painter::{Painter, blank};
use crate::tui::shell::update::{Effect, Msg, search, update_all};
use crate::tui::shell::view::view;

/// Between two frames that only new facts ask for.
const FRAME: Duration = Duration::from_millis(33);
const SLOW_FRAME: Duration = Duration::from_millis(200);
/// Between two frames that keys ask for: below what a person sees, above what a held key needs.
const KEY_FRAME: Duration = Duration::from_millis(8);
/// After a key the next one comes within this time, if somebody types.
const TYPING: Duration = Duration::from_millis(300);
/// Ages tick this often.
const TICK: Duration = Duration::from_secs(1);
/// A search for matching rows has this much of each frame.
const SEARCH: Duration = Duration::from_millis(4);
/// A held screen looks for messages from outside this often.
const HELD: Duration = Duration::from_millis(250);

/// The screens over a feed, painted on `W`.
pub struct Screens<W: Write> {
    pub model: Model,
    pub painter: Painter<W>,
    frame: Duration,
    painted: Option<Instant>,
    /// When a key was answered last.
    answered: Option<Instant>,
    /// A key has not been answered by a frame yet.
    keyed: bool,
    /// The facts that the model was brought in line with, and when.
    revision: Option<u64>,
    changed: Instant,
    dirty: bool,
}

impl<W: Write> Screens<W> {
    /// `slow_link`: at most five frames a second.
    pub fn new(model: Model, out: W, slow_link: bool) -> Screens<W> {
        Screens {
            model,
            painter: Painter::new(out),
            frame: if slow_link { SLOW_FRAME } else { FRAME },
            painted: None,
            answered: None,
            keyed: true,
            revision: None,
            changed: Instant::now(),
            dirty: true,
        }
    }

    /// How long to wait for a key.
    pub fn wait(&self) -> Duration {
        if self.painted.is_none() {
            Duration::ZERO
        } else if self.dirty || self.model.searching() {
            Duration::from_millis(2)
        } else if self.model.paused.is_some() {
            HELD
        } else {
            self.frame
        }
    }

    /// A frame is wanted.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Takes in messages, and what has changed of the facts. What the loop has to do.
    pub fn turn(&mut self, feed: &dyn Feed, mut messages: Vec<Msg>) -> Vec<Effect> {
        self.keyed |= messages.iter().any(|m| matches!(m, Msg::Key(_) | Msg::Resize(..) | Msg::Paste(_)));
        let now = feed.revision();
        let due = self.revision != Some(now) || self.changed.elapsed() >= TICK;
        if due && self.model.paused.is_none() && is_over(self.painted, self.frame) {
            (self.revision, self.changed) = (Some(now), Instant::now());
            messages.push(Msg::Info(Box::new(feed.info())));
        }
        let mut effects = Vec::new();
        let model = &mut self.model;
        model.at_keys = !is_over(self.answered, TYPING);
        if !messages.is_empty() || model.searching() {
            self.dirty = true;
            feed.read(&mut |data| {
                let start = Instant::now();
                // A key comes first.
                while messages.is_empty() && model.searching() && start.elapsed() < SEARCH {
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

    /// Paints if a frame is wanted and due.
    ///
    /// # Errors
    /// `W` can't be written.
    pub fn paint(&mut self) -> io::Result<()> {
        let due = match self.keyed {
            true => is_over(self.answered, KEY_FRAME),
            false => is_over(self.painted, self.frame),
        };
        if self.dirty && due {
            let mut next = blank(self.model.size);
            let cursor = view(&self.model, &mut next);
            self.painter.paint(next, cursor)?;
            self.painted = Some(Instant::now());
            if std::mem::take(&mut self.keyed) {
                self.answered = self.painted;
            }
            self.dirty = false;
        }
        Ok(())
    }
}

fn is_over(since: Option<Instant>, time: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= time)
}
