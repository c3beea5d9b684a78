//! Forward by handling what comes next; back by a checkpoint and handling again.

use std::time::Duration;

use crate::app::watched::{Checkpoint, Watched};
use crate::event::{Seq, Time};
use crate::lint::{self, Finding};
use crate::record::Loaded;
use crate::session::Meaning;
use crate::store::{Options, Store};
use crate::wire::{Frame, What};

/// Checkpoints of a source, at most: going back handles no more than one in so many of its frames again.
const CHECKPOINTS: usize = 32;
/// Frames between two of them, at least.
const SPACING: usize = 64;
/// Without times a message is played each so often.
const BEAT: Duration = Duration::from_millis(500);

/// A place in a source: so many frames were handled, and the clock stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub frames: usize,
    pub now: Time,
}

/// A source, and how far it has been handled.
pub struct Cursor {
    store: Watched,
    frames: Vec<Frame>,
    /// The place of each message among the frames.
    messages: Vec<usize>,
    at: Position,
    end: Time,
    spacing: usize,
    checkpoints: Vec<(usize, Checkpoint)>,
    /// Played and not used up yet, where there are no times.
    beat: Duration,
}

impl Cursor {
    /// At the start: nothing is handled.
    pub fn new(loaded: Loaded, options: Options, meaning: Meaning, rules: lint::Options) -> Cursor {
        let Loaded { catalog, clock, frames, end, .. } = loaded;
        // The messages are in memory as long as the frames are; a history that dropped some could not be cut.
        let mut store = Store::new(catalog, clock, Options { history: usize::MAX, ..options });
        store.set_meaning(meaning);
        let store = Watched::new(store, rules);
        let message = |(i, frame): (usize, &Frame)| matches!(frame.what, What::Message(_)).then_some(i);
        Cursor {
            messages: frames.iter().enumerate().filter_map(message).collect(),
            at: Position { frames: 0, now: Time::ZERO },
            end: frames.last().map_or(end, |last| last.at.max(end)),
            spacing: frames.len().div_ceil(CHECKPOINTS).max(SPACING),
            checkpoints: vec![(0, store.checkpoint())],
            beat: Duration::ZERO,
            store,
            frames,
        }
    }

    /// The facts at the cursor.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the rules say at the cursor.
    pub fn findings(&self) -> &[Finding] {
        self.store.findings()
    }

    pub fn position(&self) -> Position {
        self.at
    }

    /// Where the source's clock stops.
    pub fn end(&self) -> Position {
        Position { frames: self.frames.len(), now: self.end }
    }

    pub fn is_at_end(&self) -> bool {
        self.at.frames == self.frames.len()
    }

    /// Messages in all of the source.
    pub fn messages(&self) -> u64 {
        self.messages.len() as u64
    }

    /// After message `n` and what stands before the next one, as `--at` means it; `None` if there is none.
    pub fn of_message(&self, n: Seq) -> Option<Position> {
        let number = usize::try_from(n.0).ok().filter(|number| *number <= self.messages.len())?;
        let frames = self.messages.get(number).copied().unwrap_or(self.frames.len());
        let last = frames.checked_sub(1).and_then(|last| self.frames.get(last));
        Some(Position { frames, now: last.map_or(Time::ZERO, |last| last.at) })
    }

    /// At a time, with all that came until then.
    pub fn of_time(&self, now: Time) -> Position {
        let now = now.min(self.end);
        Position { frames: self.frames.partition_point(|frame| frame.at <= now), now }
    }

    /// One message back or on; `None` if there is none.
    pub fn step(&self, on: bool) -> Option<Position> {
        let so_far = Seq(self.store.messages());
        if on {
            let next = self.of_message(Seq(so_far.0 + 1));
            return next.or((!self.is_at_end()).then(|| self.end()));
        }
        // Within a silence the message before it comes first.
        let here = self.of_message(so_far)?;
        if here < self.at { Some(here) } else { self.of_message(Seq(so_far.0.checked_sub(1)?)) }
    }

    /// Goes there.
    pub fn seek(&mut self, to: Position) {
        if to < self.at {
            let known = self.checkpoints.partition_point(|(frames, _)| *frames <= to.frames);
            let Some((frames, checkpoint)) = known.checked_sub(1).and_then(|at| self.checkpoints.get(at))
            else {
                return;
            };
            // Within a silence the nearest one may be here, and only the clock has to go back.
            self.store.restore(checkpoint);
            self.at.frames = *frames;
        }
        while self.at.frames < to.frames && self.handle() {}
        self.store.advance(to.now);
        self.at.now = self.store.now();
        self.beat = Duration::ZERO;
    }

    /// Handles the next frame.
    fn handle(&mut self) -> bool {
        let Some(frame) = self.frames.get(self.at.frames) else { return false };
        self.store.handle(frame.clone());
        self.at = Position { frames: self.at.frames + 1, now: self.store.now() };
        let newest = self.checkpoints.last().map_or(0, |(frames, _)| *frames);
        if self.at.frames >= newest + self.spacing {
            self.checkpoints.push((self.at.frames, self.store.checkpoint()));
        }
        true
    }

    /// Lets so much of the source's time pass, silences cut to `idle`. False at the end.
    pub fn play(&mut self, by: Duration, idle: Duration) -> bool {
        if self.store.clock().untimed {
            let beats = self.beat + by;
            let due = beats.as_nanos() / BEAT.as_nanos();
            for _ in 0..due {
                let Some(next) = self.step(true) else { return false };
                self.seek(next);
            }
            self.beat = beats.saturating_sub(BEAT * u32::try_from(due).unwrap_or(u32::MAX));
            return !self.is_at_end();
        }
        let mut left = by;
        loop {
            let now = self.at.now;
            let next = self.frames.get(self.at.frames).map_or(self.end, |frame| frame.at);
            let before = self.at.frames.checked_sub(1).and_then(|last| self.frames.get(last));
            let silent = now.since(before.map_or(Time::ZERO, |frame| frame.at));
            let wait = next.since(now).min(idle.saturating_sub(silent));
            if left < wait {
                let nanos = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
                self.store.advance(Time(now.0.saturating_add(nanos)));
                self.at.now = self.store.now();
                return true;
            }
            left -= wait;
            if !self.handle() {
                self.store.advance(self.end);
                self.at.now = self.store.now();
                return false;
            }
        }
    }
}
