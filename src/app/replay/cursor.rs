//! Forward by handling what comes next; back by a checkpoint and handling again.

use std::collections::VecDeque;
use std::io::Read;
use std::time::Duration;

use crate::app::watched::{Checkpoint, Watched};
use crate::content::Catalog;
use crate::event::{Clock, Seq, Time};
use crate::lint::{self, Finding};
use crate::record::{Loaded, Reading, RecordReadError};
use crate::session::Meaning;
use crate::store::{self, Options, Store};
use crate::wire::{Frame, What};

/// Checkpoints of a source, at most: going back handles no more than one in so many of its frames again.
const CHECKPOINTS: usize = 64;
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
    start: Position,
    end: Time,
    /// Messages from before the frames that are held.
    before: u64,
    spacing: usize,
    checkpoints: Vec<(usize, Checkpoint)>,
    /// Played and not used up yet, where there are no times.
    beat: Duration,
}

impl Cursor {
    /// At the start of a source that was read.
    pub fn new(loaded: Loaded, options: Options, meaning: Meaning, rules: lint::Options) -> Cursor {
        let mut held = Held::new(loaded.catalog, loaded.clock, options, meaning, rules);
        held.take(loaded.frames);
        held.into_cursor(loaded.end)
    }

    /// At the start of a recording, which is never in memory as a whole; with what a person must know of it. Tells how
    /// many bytes of it are read.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read(
        (catalog, mut recording): (Catalog, Reading<impl Read>),
        options: Options,
        meaning: Meaning,
        rules: lint::Options,
        tell: &dyn Fn(u64),
    ) -> Result<(Cursor, Vec<String>), RecordReadError> {
        let mut held = Held::new(catalog, recording.clock(), options, meaning, rules);
        let mut frames = Vec::new();
        let mut more = true;
        while more {
            more = recording.next(held.store.catalog_mut(), &mut frames)?;
            held.take(std::mem::take(&mut frames));
            tell(recording.position());
        }
        let (end, notices) = recording.finish();
        Ok((held.into_cursor(end), notices))
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

    /// Where the cursor can go first.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Messages that are from before that: only what became of them is known.
    pub fn before(&self) -> u64 {
        self.before
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
        self.before + self.messages.len() as u64
    }

    /// After message `n` and what stands before the next one, as `--at` means it; `None` if it is not held.
    pub fn of_message(&self, n: Seq) -> Option<Position> {
        let number = usize::try_from(n.0.checked_sub(self.before)?).ok();
        let number = number.filter(|number| *number <= self.messages.len())?;
        let frames = self.messages.get(number).copied().unwrap_or(self.frames.len());
        let last = frames.checked_sub(1).and_then(|last| self.frames.get(last));
        Some(Position { frames, now: last.map_or(self.start.now, |last| last.at) })
    }

    /// At a time, with all that came until then.
    pub fn of_time(&self, now: Time) -> Position {
        let now = now.min(self.end).max(self.start.now);
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

    /// Goes there: from where it is, or from a checkpoint that is nearer.
    pub fn seek(&mut self, to: Position) {
        let known = self.checkpoints.partition_point(|(frames, _)| *frames <= to.frames);
        let nearest = known.checked_sub(1).and_then(|at| self.checkpoints.get(at));
        // Within a silence the nearest one may be here, and only the clock has to go back.
        if let Some((frames, checkpoint)) =
            nearest.filter(|(frames, _)| to < self.at || *frames > self.at.frames)
        {
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
            let silent = now.since(before.map_or(self.start.now, |frame| frame.at));
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

/// Frames on their way into a cursor: the newest ones within the limit of memory, what became of the rest.
struct Held {
    store: Watched,
    frames: VecDeque<Frame>,
    /// Bytes that each of these takes up, all of them, and may.
    weights: VecDeque<usize>,
    bytes: usize,
    limit: usize,
    /// The list that came last: the same one again is the same allocation.
    list: u128,
    before: u64,
}

impl Held {
    fn new(catalog: Catalog, clock: Clock, options: Options, meaning: Meaning, rules: lint::Options) -> Held {
        let limit = options.history;
        // What the history drops could not be cut. Its messages are those of the frames, or dropped with them.
        let mut store = Store::new(catalog, clock, Options { history: usize::MAX, ..options });
        store.set_meaning(meaning);
        let store = Watched::new(store, rules);
        Held { store, frames: VecDeque::new(), weights: VecDeque::new(), bytes: 0, limit, list: 0, before: 0 }
    }

    fn take(&mut self, frames: Vec<Frame>) {
        for frame in frames {
            let weight = self.weight(&frame);
            self.bytes += weight;
            self.weights.push_back(weight);
            self.frames.push_back(frame);
        }
        if self.bytes <= self.limit {
            return;
        }
        // Some more than needed, so that this is rare.
        while self.bytes > self.limit / 8 * 7 {
            let Some(frame) = self.frames.pop_front() else { break };
            self.bytes -= self.weights.pop_front().unwrap_or(0);
            self.before += u64::from(matches!(frame.what, What::Message(_)));
            self.store.handle(frame);
        }
        self.store.drop_bodies();
    }

    fn into_cursor(self, end: Time) -> Cursor {
        let Held { store, frames, before, .. } = self;
        let frames = Vec::from(frames);
        let start = Position { frames: 0, now: store.now() };
        let message = |(i, frame): (usize, &Frame)| matches!(frame.what, What::Message(_)).then_some(i);
        Cursor {
            messages: frames.iter().enumerate().filter_map(message).collect(),
            at: start,
            start,
            end: frames.last().map_or(end, |last| last.at.max(end)).max(start.now),
            before,
            spacing: frames.len().div_ceil(CHECKPOINTS).max(SPACING),
            checkpoints: vec![(0, store.checkpoint())],
            beat: Duration::ZERO,
            store,
            frames,
        }
    }

    /// Bytes that a frame takes up in memory, about.
    fn weight(&mut self, frame: &Frame) -> usize {
        let mut bytes = size_of::<Frame>() + size_of::<usize>();
        if let What::Message(message) = &frame.what {
            bytes += store::weight(message);
            if let Some(list) = message.resources().filter(|list| list.fingerprint() != self.list) {
                self.list = list.fingerprint();
                bytes += list.len() * 4;
            }
        }
        bytes
    }
}
