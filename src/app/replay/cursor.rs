//! A position in a source: forward by handling frames, back by a checkpoint and handling frames
//! again.

use std::time::Duration;

use super::marks::OverdueSampler;
use super::reading::Reading;
use xdscope_engine::analysis::{Analysis, Checkpoint};
use xdscope_engine::lint::{self, Finding};
use xdscope_engine::session::SharedSemantics;
use xdscope_engine::store::{Options, Store};
use xdscope_sources::record::Loaded;
use xdscope_sources::{COMPARED_DIVISOR, SourceError, StartedSource};
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Clock, Seq, Time};
use xdscope_wire::{Frame, FramePayload};

/// The time between two messages of a source without times.
const UNTIMED_INTERVAL: Duration = Duration::from_millis(500);
/// Estimated memory of a frame that is not a message.
const OTHER_FRAME_BYTES: usize = 512;
/// One part in this many of the memory is for checkpoints, before every other one is dropped.
const CHECKPOINT_DIVISOR: usize = 4;

/// A position in a source: frames handled, and the time of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub frames: usize,
    pub now: Time,
}

/// The last message and the last moment of a source that are read.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    pub message: Seq,
    pub time: Time,
}

/// A source and the position up to which it has been handled.
pub struct Cursor {
    store: Analysis,
    frames: Frames,
    at: Position,
    start: Position,
    end: Time,
    /// Messages before the start.
    before: u64,
    checkpoints: Checkpoints,
    /// For sources without times: playing time that is not used up.
    unused_time: Duration,
}

/// The frames of a source. Its messages are in the store.
#[derive(Default)]
struct Frames {
    count: usize,
    /// Openings, ends and gaps since the first position that the cursor can go to.
    others: Vec<OtherFrame>,
    /// Number of those before.
    dropped: usize,
}

/// A frame that is not a message.
struct OtherFrame {
    place: usize,
    /// Messages before the frame.
    messages: u64,
    frame: Frame,
}

impl Frames {
    fn push(&mut self, frame: &Frame) {
        if !matches!(frame.what, FramePayload::Message(_)) {
            let messages = self.messages();
            self.others.push(OtherFrame { place: self.count, messages, frame: frame.clone() });
        }
        self.count += 1;
    }

    fn messages(&self) -> u64 {
        (self.count - self.dropped - self.others.len()) as u64
    }

    /// Drops the frames before a place, to which the cursor cannot go.
    fn drop_before(&mut self, place: usize) {
        let dropped = self.others.partition_point(|other| other.place < place);
        self.others.drain(..dropped);
        self.dropped += dropped;
    }

    /// Estimates the memory of the frames, in bytes.
    fn memory(&self) -> usize {
        self.others.len() * OTHER_FRAME_BYTES
    }

    /// Returns the frame at a place, or the number of the message there.
    fn get(&self, place: usize) -> Option<Result<&Frame, Seq>> {
        let before = self.others.partition_point(|other| other.place < place);
        match self.others.get(before) {
            _ if place >= self.count => None,
            Some(other) if other.place == place => Some(Ok(&other.frame)),
            _ => Some(Err(Seq((place - self.dropped - before) as u64 + 1))),
        }
    }

    fn time(&self, place: usize, store: &Store) -> Option<Time> {
        match self.get(place)? {
            Ok(frame) => Some(frame.at),
            Err(n) => store.time_of(n),
        }
    }

    /// Returns how many frames came until `now`, if that is after the first `held` frames.
    fn until(&self, now: Time, held: usize, store: &Store) -> usize {
        let (mut low, mut high) = (held, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time(middle, store).is_some_and(|at| at <= now) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }

    /// Returns how many frames come before message `n`, or in all if there is no such message.
    fn before(&self, n: Seq) -> usize {
        let messages = n.0.saturating_sub(1);
        let others = self.dropped + self.others.partition_point(|other| other.messages <= messages);
        usize::try_from(messages).map_or(self.count, |messages| (messages + others).min(self.count))
    }

    /// Returns how many messages are among the first `frames`.
    fn messages_in(&self, frames: usize) -> u64 {
        let others = self.dropped + self.others.partition_point(|other| other.place < frames);
        frames.saturating_sub(others) as u64
    }
}

/// Checkpoints, from which a position is reached without handling all frames before it.
struct Checkpoints {
    all: Vec<PlacedCheckpoint>,
    /// Work since the last checkpoint, and work between two: frames, and weights of large
    /// responses.
    since: usize,
    spacing: usize,
    /// Memory of what each checkpoint does not share with the next one, in bytes. The last one
    /// shares most with the present state.
    memory: usize,
}

/// A checkpoint after a number of frames.
struct PlacedCheckpoint {
    frames: usize,
    state: Checkpoint,
}

impl Checkpoints {
    /// The least number of checkpoints of a source.
    const LEAST: usize = 64;
    const SPACING: usize = 64;
    /// The most work between two checkpoints, which bounds the time of a jump.
    const MAX_SPACING: usize = 8192;
    const ENTRIES: usize = 1024;
    /// Taking a checkpoint visits each stream. One stream costs this part of a frame.
    const STREAM_DIVISOR: usize = 4;

    fn new(start: Checkpoint) -> Checkpoints {
        let all = vec![PlacedCheckpoint { frames: 0, state: start }];
        Checkpoints { all, since: 0, spacing: Checkpoints::SPACING, memory: 0 }
    }

    /// Adds a checkpoint if it is time, and drops every other one when there are twice as many as
    /// needed.
    fn pass(&mut self, frames: usize, work: usize, store: &Analysis) {
        self.since += work;
        if self.since < self.spacing.max(store.stream_ids().len() / Checkpoints::STREAM_DIVISOR) {
            return;
        }
        self.since = 0;
        self.add(frames, store.checkpoint());
        if self.all.len() > 2 * Checkpoints::LEAST {
            self.thin();
        }
    }

    fn add(&mut self, frames: usize, state: Checkpoint) {
        if let Some(last) = self.all.last() {
            self.memory += last.state.own_memory(&state);
        }
        self.all.push(PlacedCheckpoint { frames, state });
    }

    /// Drops every other checkpoint until all have at most `bytes`, or jumps would take too long.
    fn thin_to(&mut self, bytes: usize) {
        while self.memory > bytes && self.spacing < Checkpoints::MAX_SPACING {
            self.thin();
        }
    }

    /// Drops every other checkpoint, unless jumps would take too long without them.
    fn thin(&mut self) {
        if self.spacing >= Checkpoints::MAX_SPACING {
            return;
        }
        let mut number = 0;
        self.all.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.spacing *= 2;
        self.count_memory();
    }

    /// Keeps the checkpoints that `is_kept` accepts, by the frames before them.
    fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        let before = self.all.len();
        self.all.retain(|checkpoint| is_kept(checkpoint.frames));
        if self.all.len() < before {
            self.count_memory();
        }
    }

    fn count_memory(&mut self) {
        let pairs = self.all.iter().zip(self.all.iter().skip(1));
        self.memory = pairs.map(|(earlier, later)| earlier.state.own_memory(&later.state)).sum();
    }

    /// Returns the last checkpoint at or before a frame.
    fn nearest(&self, frames: usize) -> Option<&PlacedCheckpoint> {
        let known = self.all.partition_point(|checkpoint| checkpoint.frames <= frames);
        known.checked_sub(1).and_then(|at| self.all.get(at))
    }
}

impl Cursor {
    /// Returns a cursor at the end of a source in memory, and the times when answers became
    /// overdue.
    pub fn new(
        loaded: Loaded,
        options: Options,
        meaning: SharedSemantics,
        rules: lint::Options,
    ) -> (Cursor, OverdueSampler) {
        let mut builder = CursorBuilder::new(loaded.catalog, loaded.clock, options, meaning, rules);
        for frame in loaded.frames {
            builder.take(frame);
        }
        builder.end(loaded.end)
    }

    /// Reads a source that never is in memory as a whole. Returns a cursor at its end, and notices
    /// for the user.
    ///
    /// `reading` shows the progress and the state so far.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn read(
        source: StartedSource<'_>,
        reading: &Reading,
        until: Option<Until>,
    ) -> Result<((Cursor, OverdueSampler), Vec<String>), SourceError> {
        let StartedSource { catalog, mut frames, .. } = source;
        reading.begin(catalog, frames.clock());
        let (mut some, mut is_cut) = (Vec::new(), false);
        'source: while reading.step(|builder| frames.next(builder.store.catalog_mut(), &mut some))? {
            for frame in some.drain(..) {
                is_cut = !reading.step(|builder| builder.take_until(frame, until)) || reading.is_stopped();
                if is_cut {
                    break 'source;
                }
            }
            if let Some(used) = reading.step(|builder| builder.drop_old(|used| frames.mark(used))) {
                frames.forget(&used);
            }
            reading.report(frames.position());
        }
        let (end, mut notices) = frames.finish();
        if is_cut {
            // They are about the end of the source.
            notices.clear();
        }
        let end = until.map_or(end, |until| until.time);
        Ok((reading.finish().end(end), notices))
    }

    /// Estimates the memory of the facts with all checkpoints, and of the checkpoints, in bytes.
    #[cfg(test)]
    pub(super) fn memory(&self) -> (usize, usize) {
        (self.store.memory() + self.checkpoints.memory, self.checkpoints.memory)
    }

    /// Returns the store at the cursor.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the findings at the cursor.
    pub fn findings(&self) -> &[Finding] {
        self.store.findings()
    }

    pub fn position(&self) -> Position {
        self.at
    }

    /// Returns the first position that the cursor can go to.
    pub fn start(&self) -> Position {
        self.start
    }

    /// Returns the number of messages before that position; the contents of some are dropped.
    pub fn before(&self) -> u64 {
        self.before
    }

    /// Returns the position at the end of the source.
    pub fn end(&self) -> Position {
        Position { frames: self.frames.count, now: self.end }
    }

    pub fn is_at_end(&self) -> bool {
        self.at.frames == self.frames.count
    }

    /// Returns the frames that are not messages: openings, ends, gaps.
    pub fn other_frames(&self) -> impl Iterator<Item = &Frame> {
        self.frames.others.iter().map(|other| &other.frame)
    }

    /// Returns the number of messages in the source.
    pub fn messages(&self) -> u64 {
        self.frames.messages()
    }

    /// Returns the position after message `n` and the frames up to the next message, as `--at`
    /// does.
    ///
    /// `None`: the cursor cannot go there.
    pub fn of_message(&self, n: Seq) -> Option<Position> {
        if n.0 < self.before || n.0 > self.messages() {
            return None;
        }
        let frames = self.frames.before(Seq(n.0 + 1)).max(self.start.frames);
        Some(Position { frames, now: self.frame_before(frames).unwrap_or(self.start.now) })
    }

    /// Returns the time of the last of the first `frames`.
    fn frame_before(&self, frames: usize) -> Option<Time> {
        self.frames.time(frames.checked_sub(1)?, &self.store)
    }

    /// Returns the position at a time, with all frames up to that time.
    pub fn of_time(&self, now: Time) -> Position {
        let now = now.min(self.end).max(self.start.now);
        Position { frames: self.frames.until(now, self.start.frames, &self.store), now }
    }

    /// Returns the number of messages up to a time.
    pub fn messages_until(&self, at: Time) -> u64 {
        self.frames.messages_in(self.frames.until(at, self.start.frames, &self.store))
    }

    /// Returns the position of the next message, or the end; `None` at the end.
    pub fn next_message(&self) -> Option<Position> {
        let next = self.of_message(Seq(self.store.messages() + 1));
        if next.is_none() && !self.is_at_end() { Some(self.end()) } else { next }
    }

    /// Returns the position of the message before; `None` at the start.
    pub fn previous_message(&self) -> Option<Position> {
        let handled = self.store.messages();
        // Between two messages, the last handled message is the one before.
        let last = self.of_message(Seq(handled))?;
        if last < self.at { Some(last) } else { self.of_message(Seq(handled.checked_sub(1)?)) }
    }

    /// Moves to a position, from the current one or from a nearer checkpoint.
    pub fn seek(&mut self, to: Position) {
        let nearest = self.checkpoints.nearest(to.frames);
        // Between two messages the nearest checkpoint may be here, and only the clock goes back.
        let nearest = nearest.filter(|nearest| to < self.at || nearest.frames > self.at.frames);
        if let Some(PlacedCheckpoint { frames, state }) = nearest {
            self.store.restore(state);
            self.at.frames = *frames;
        }
        while self.at.frames < to.frames && self.handle() {}
        self.store.advance(to.now);
        self.at.now = self.store.now();
        self.unused_time = Duration::ZERO;
    }

    /// Handles the next frame.
    fn handle(&mut self) -> bool {
        let frame = match self.frames.get(self.at.frames) {
            Some(Ok(frame)) => frame.clone(),
            Some(Err(n)) => match self.store.frame(n) {
                Some(frame) => frame,
                None => return false,
            },
            None => return false,
        };
        self.store.handle(frame);
        self.at = Position { frames: self.at.frames + 1, now: self.store.now() };
        true
    }

    /// Plays `by` of the source's time, with pauses cut to `idle`. Returns false at the end.
    pub fn play(&mut self, by: Duration, idle: Duration) -> bool {
        if self.store.clock().untimed {
            let time = self.unused_time + by;
            let due = time.as_nanos() / UNTIMED_INTERVAL.as_nanos();
            for _ in 0..due {
                let Some(next) = self.next_message() else { return false };
                self.seek(next);
            }
            self.unused_time = time.saturating_sub(UNTIMED_INTERVAL * u32::try_from(due).unwrap_or(u32::MAX));
            return !self.is_at_end();
        }
        let mut left = by;
        loop {
            let now = self.at.now;
            let next = self.frames.time(self.at.frames, &self.store).unwrap_or(self.end);
            let silent = now.since(self.frame_before(self.at.frames).unwrap_or(self.start.now));
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

/// A source that is being read into a cursor.
pub(super) struct CursorBuilder {
    store: Analysis,
    frames: Frames,
    checkpoints: Checkpoints,
    looks: OverdueSampler,
}

impl CursorBuilder {
    pub(super) fn new(
        catalog: Catalog,
        clock: Clock,
        options: Options,
        meaning: SharedSemantics,
        rules: lint::Options,
    ) -> CursorBuilder {
        let mut store = Store::new(catalog, clock, options);
        store.set_meaning(meaning);
        store.catalog_mut().cache_compared(options.history / COMPARED_DIVISOR);
        let store = Analysis::new(store, rules);
        let checkpoints = Checkpoints::new(store.checkpoint());
        CursorBuilder {
            store,
            frames: Frames::default(),
            checkpoints,
            looks: OverdueSampler::new(clock, &options),
        }
    }

    /// Returns the state so far.
    pub(super) fn store(&self) -> &Analysis {
        &self.store
    }

    /// Takes a frame, unless it comes after `until`. Returns whether it was taken.
    fn take_until(&mut self, frame: Frame, until: Option<Until>) -> bool {
        let messages = self.frames.messages() + u64::from(matches!(frame.what, FramePayload::Message(_)));
        let is_later = until.is_some_and(|until| messages > until.message.0 || frame.at > until.time);
        if !is_later {
            self.take(frame);
        }
        !is_later
    }

    pub(super) fn take(&mut self, frame: Frame) {
        self.looks.until(&mut self.store, self.frames.count, frame.at);
        self.frames.push(&frame);
        let (at, is_end) = (frame.at, matches!(frame.what, FramePayload::End(_)));
        let entries = match &frame.what {
            FramePayload::Message(message) => message.resources().map_or(0, |list| list.len()),
            _ => 0,
        };
        self.store.handle(frame);
        let position = Position { frames: self.frames.count, now: self.store.now().max(at) };
        self.looks.after(&self.store, position, is_end);
        let work = 1 + entries / Checkpoints::ENTRIES;
        self.checkpoints.pass(self.frames.count, work, &self.store);
    }

    /// Drops the oldest messages if all facts take more memory than they may. The cursor cannot go
    /// back to them. Returns the contents that are still in use.
    fn drop_old(&mut self, mark: impl FnOnce(&mut UsedContent)) -> Option<UsedContent> {
        if !self.is_full() {
            return None;
        }
        self.checkpoints.thin_to(self.store.budget() / CHECKPOINT_DIVISOR);
        if !self.is_full() {
            return None;
        }
        let dropped = self.store.dropped();
        self.keep_checkpoints(dropped + (self.frames.messages() - dropped) / 2);
        let checkpoints = self.checkpoints.all.iter_mut().map(|checkpoint| &mut checkpoint.state);
        let used = self.store.drop_old_except(checkpoints, mark);
        self.keep_checkpoints(self.store.dropped());
        let others = self.own_memory();
        self.store.set_next_drop(others);
        Some(used)
    }

    /// Returns whether all facts take more memory than they may.
    fn is_full(&self) -> bool {
        self.store.is_full_beside(self.own_memory())
    }

    /// Estimates the memory of what only the cursor needs, in bytes.
    fn own_memory(&self) -> usize {
        self.checkpoints.memory + self.frames.memory()
    }

    /// Keeps the checkpoints after the first `messages` messages, and at least one.
    fn keep_checkpoints(&mut self, messages: u64) {
        let frames = &self.frames;
        self.checkpoints.retain(|before| frames.messages_in(before) >= messages);
        if self.checkpoints.all.is_empty() {
            self.checkpoints.add(frames.count, self.store.checkpoint());
        }
        self.frames.drop_before(self.first_frame());
    }

    /// Returns the number of frames before the first position that the cursor can go to.
    fn first_frame(&self) -> usize {
        self.checkpoints.all.first().map_or(0, |first| first.frames)
    }

    fn end(mut self, end: Time) -> (Cursor, OverdueSampler) {
        let end = self.store.now().max(end);
        self.looks.until(&mut self.store, self.frames.count, end);
        self.store.advance(end);
        let last = Position { frames: self.frames.count, now: end };
        self.looks.after(&self.store, last, false);
        self.looks.note_ended(&self.store, last);
        // Positions before the first one from which all messages are held cannot be reached.
        self.keep_checkpoints(self.store.dropped());
        let first = self.first_frame();
        let CursorBuilder { store, frames, checkpoints, looks } = self;
        let now = first.checked_sub(1).and_then(|last| frames.time(last, &store));
        let cursor = Cursor {
            at: Position { frames: frames.count, now: end },
            start: Position { frames: first, now: now.unwrap_or(Time::ZERO) },
            end,
            before: frames.messages_in(first),
            checkpoints,
            unused_time: Duration::ZERO,
            store,
            frames,
        };
        (cursor, looks)
    }
}
