//! The analysis of a live run: reads the journal into the store.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::live_state::LiveState;
use super::recording::journal::{Journal, NextPart};
use xdscope_engine::analysis::Analysis;
use xdscope_sources::record::JournalReader;
use xdscope_wire::event::Time;
use xdscope_wire::{Frame, FramePayload};

/// How often the clock moves on without traffic, so that ages and overdue answers show up.
/// Timers of rules move the clock too.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of messages to store before the store lock is released, whether or not another thread
/// waits.
const MAX_LOCKED_BYTES: usize = 1 << 20;

/// The shortest time to hold the store lock, so that frequent readers do not stop the analysis.
const MIN_LOCKED_TIME: Duration = Duration::from_millis(4);

/// Called after each batch with the timeline rows and findings that it added, if any.
///
/// An error ends the calls, for instance when a pipe is closed.
pub type Sink = Box<dyn FnMut(&Analysis, Range<usize>, Range<usize>) -> io::Result<()> + Send>;

/// Returns the time, unless something before it is not in the journal yet.
pub(super) type JournalClock = Arc<dyn Fn() -> Option<Time> + Send + Sync>;

/// Reads the journal into the store.
pub(super) struct AnalysisWorker {
    shared: Arc<LiveState>,
    journal: Arc<Journal>,
    clock: JournalClock,
    sink: Option<Sink>,
    reader: JournalReader,
    /// Frames that are read and not stored yet.
    frames: VecDeque<Frame>,
    /// Timeline rows and findings that the sink has been given.
    shown: (usize, usize),
    /// Time from the newest batch to the next timer of a rule.
    next_timer: Option<Duration>,
}

impl AnalysisWorker {
    /// Creates the work of an analysis, which begins with no messages.
    pub(super) fn new(
        shared: Arc<LiveState>,
        journal: Arc<Journal>,
        clock: JournalClock,
        sink: Option<Sink>,
    ) -> AnalysisWorker {
        let (reader, frames) = (JournalReader::default(), VecDeque::new());
        AnalysisWorker { shared, journal, clock, sink, reader, frames, shown: (0, 0), next_timer: None }
    }

    /// Runs until the journal ends.
    pub(super) fn run(mut self) {
        loop {
            let tick = self.next_timer.unwrap_or(TICK_INTERVAL).min(TICK_INTERVAL);
            match self.journal.next(tick) {
                NextPart::Part { records, begins_segment } => {
                    self.part(records, begins_segment);
                    self.journal.finish_part();
                }
                NextPart::Nothing => {
                    self.journal.trim_spool();
                    if let Some(now) = now_if_idle(&self.clock, &self.journal) {
                        self.batch(|_, _, _| now);
                    }
                }
                NextPart::End(at) => return self.batch(|_, _, _| at),
                NextPart::Abandoned => return,
            }
        }
    }

    fn part(&mut self, records: Bytes, begins_segment: bool) {
        if begins_segment {
            // The reader refers to no content.
            self.shared.store().drop_old(|_| {});
        }
        self.reader.begin(records);
        let (shared, journal, clock) = (self.shared.clone(), self.journal.clone(), self.clock.clone());
        let mut has_more = true;
        while has_more && !journal.is_abandoned() {
            self.batch(|store, reader, frames| {
                let begun = Instant::now();
                let is_wanted = || begun.elapsed() >= MIN_LOCKED_TIME && shared.is_wanted();
                let at;
                (at, has_more) = read_some(reader, frames, store, is_wanted);
                // The clock stays at the last frame while others remain: an overdue answer may be
                // among them.
                if has_more { at } else { now_if_idle(&clock, &journal).unwrap_or(at) }
            });
        }
        if self.shared.store().is_full() {
            self.journal.want_segment();
        }
    }

    /// Changes the store with `fill`, which returns the time, then passes new rows to the sink.
    fn batch(&mut self, fill: impl FnOnce(&mut Analysis, &mut JournalReader, &mut VecDeque<Frame>) -> Time) {
        let mut store = self.shared.store();
        let now = fill(&mut store, &mut self.reader, &mut self.frames);
        store.advance(now);
        self.next_timer = store.next_timer().map(|at| at.since(now));
        let now_shown = (store.rows(), store.findings().len());
        // The sink is called without new rows too, to notice that its reader is gone.
        if let Some(sink) = &mut self.sink
            && sink(&store, self.shown.0..now_shown.0, self.shown.1..now_shown.1).is_err()
        {
            self.sink = None;
            self.shared.note_unread();
        }
        self.shown = now_shown;
        drop(store);
        self.shared.note_change();
    }
}

impl Drop for AnalysisWorker {
    /// Nobody reads on, also after a panic.
    fn drop(&mut self) {
        self.journal.abandon();
    }
}

/// Returns the time, unless something before it is not read from the journal yet.
fn now_if_idle(clock: &JournalClock, journal: &Journal) -> Option<Time> {
    let now = clock()?;
    journal.is_empty().then_some(now)
}

/// Stores frames of a part, until [`MAX_LOCKED_BYTES`] bytes are stored or `stop`. Returns the time
/// of the last frame, and whether there is more.
fn read_some(
    reader: &mut JournalReader,
    frames: &mut VecDeque<Frame>,
    store: &mut Analysis,
    stop: impl Fn() -> bool,
) -> (Time, bool) {
    let (mut bytes, mut at) = (0_usize, Time::ZERO);
    while !frames.is_empty() || reader.next(store.catalog_mut(), frames) {
        while let Some(frame) = frames.pop_front() {
            at = frame.at;
            bytes = bytes.saturating_add(message_size(&frame));
            store.handle(frame);
            if bytes >= MAX_LOCKED_BYTES || stop() {
                return (at, true);
            }
        }
    }
    (at, false)
}

/// Returns the bytes of a message, after decompression.
fn message_size(frame: &Frame) -> usize {
    match &frame.what {
        FramePayload::Message(message) => usize::try_from(message.size).unwrap_or(usize::MAX),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_engine::lint;
    use xdscope_engine::store::{Options, Store};
    use xdscope_wire::content::Catalog;
    use xdscope_wire::event::{Clock, StreamId};
    use xdscope_wire::{Message, MessageShape};

    #[test]
    fn stops_after_some_bytes() {
        let mut catalog = Catalog::in_memory();
        let message = Message::parse(MessageShape::SotwRequest, &[], &mut catalog);
        let message = Arc::new(Message { size: (MAX_LOCKED_BYTES / 2) as u64, ..message });
        let frame = |at| {
            let what = FramePayload::Message(message.clone());
            Frame { at: Time(at), stream: StreamId(1), what }
        };
        let store = Store::new(catalog, Clock::default(), Options::default());
        let mut store = Analysis::new(store, lint::Options::default());
        let mut taken = |stop: &dyn Fn() -> bool| {
            let (mut reader, mut queued) = (JournalReader::default(), (1..=9).map(frame).collect());
            let (at, has_more) = read_some(&mut reader, &mut queued, &mut store, stop);
            (at, has_more, queued.len())
        };
        assert_eq!(taken(&|| true), (Time(1), true, 8));
        assert_eq!(taken(&|| false), (Time(2), true, 7));
    }
}
