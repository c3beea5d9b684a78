//! A live source: stores, records and shows frames. A thread drains a tap's copies into it.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::net::tap::CopyQueue;
use crate::sources::observe::{Pipeline, TapCopy};
use crate::wire::Frame;
use crate::wire::event::Time;

use super::analysis::Analysis;
use super::recorder::Recorder;

/// How often the clock moves on without traffic, so that overdue answers show up.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

/// Bytes to decode before the store lock is released, whether or not another thread waits.
const MAX_LOCKED_BYTES: usize = 1 << 20;

/// The shortest time to hold the store lock, so that frequent readers do not stop the analysis.
const MIN_LOCKED_TIME: Duration = Duration::from_millis(4);

/// Niceness of the analysis thread (Linux). Where cores are short, the view lags and traffic does
/// not.
#[cfg(target_os = "linux")]
const ANALYSIS_NICENESS: i32 = 12;

/// Called after each batch with the timeline rows and findings that it added.
///
/// An error ends the calls, for instance when a pipe is closed.
pub type Sink = Box<dyn FnMut(&Analysis, Range<usize>, Range<usize>) -> io::Result<()> + Send>;

/// The state that the analysis shares with screens and printers.
pub struct LiveState {
    store: Mutex<Analysis>,
    /// Ticket lock: held while waiting for the store, so that waiters take turns.
    next: Mutex<()>,
    revision: AtomicU64,
    recorded: AtomicU64,
    /// The error that stopped the recording.
    failed: Mutex<Option<String>>,
    /// The error that keeps the source from its server at present.
    trouble: Mutex<Option<String>>,
    /// The reader of the sink is gone.
    unread: AtomicBool,
}

impl LiveState {
    /// Locks the store. Traffic goes on meanwhile.
    pub fn store(&self) -> MutexGuard<'_, Analysis> {
        // Without the ticket, a thread that locks again at once would starve the others.
        let _next = self.next.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.store.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns whether a thread waits for the store.
    fn is_wanted(&self) -> bool {
        matches!(self.next.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Returns the store. The caller holds the last reference.
    pub(super) fn into_store(self) -> Analysis {
        self.store.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns a number that changes whenever the store may have.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Returns the size of the session file in bytes.
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Returns the error that stopped the recording.
    pub fn recording_error(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Returns the error that keeps the source from its server: step, attempt, back-off.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(super) fn set_trouble(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = trouble;
    }

    fn fail(&self, error: String) {
        *self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
    }

    /// Returns whether the reader of the event lines is gone.
    pub fn unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }
}

/// The analysis thread. It ends when the tap has stopped and all copies are drained.
pub struct Live {
    pub shared: Arc<LiveState>,
    thread: JoinHandle<()>,
}

impl Live {
    pub fn start(
        copies: Arc<CopyQueue>,
        store: Analysis,
        pipeline: Pipeline,
        recorder: Option<Recorder>,
        sink: Option<Sink>,
    ) -> io::Result<Live> {
        let keep = LiveSink::new(store, recorder, sink);
        let shared = keep.shared.clone();
        let mut work = AnalysisWorker { keep, pipeline, frames: Vec::new() };
        let thread = std::thread::Builder::new().name("analysis".into()).spawn(move || {
            // Traffic goes first. Fails without the permission, and changes nothing then.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(ANALYSIS_NICENESS);
            let mut batch = Vec::new();
            while copies.drain(&mut batch, work.keep.tick()) {
                work.batch(&mut batch, &copies);
            }
            work.batch(&mut batch, &copies);
            work.keep.finish();
        })?;
        Ok(Live { shared, thread })
    }

    /// Waits for the thread to end. Call after the tap has stopped.
    pub fn join(self) -> Arc<LiveState> {
        if self.thread.join().is_err() {
            tracing::error!("the analysis thread panicked; what it had recorded is kept");
        }
        self.shared
    }
}

struct AnalysisWorker {
    keep: LiveSink,
    pipeline: Pipeline,
    frames: Vec<Frame>,
}

impl AnalysisWorker {
    fn batch(&mut self, batch: &mut Vec<TapCopy>, copies: &CopyQueue) {
        let (pipeline, frames, shared) = (&mut self.pipeline, &mut self.frames, self.keep.shared.clone());
        let mut rest = batch.drain(..).peekable();
        loop {
            self.keep.batch(|into| {
                let take = |copied| {
                    pipeline.handle(copied, into.store.catalog_mut(), frames);
                    frames.drain(..).for_each(|frame| into.take(frame));
                };
                let begun = Instant::now();
                let (at, bytes) =
                    take_part(&mut rest, || begun.elapsed() >= MIN_LOCKED_TIME && shared.is_wanted(), take);
                copies.analysed(bytes);
                // The clock stays at the last copy while copies remain: an overdue answer may be
                // among them.
                if rest.peek().is_some() { at } else { copies.now() }
            });
            if rest.peek().is_none() {
                return;
            }
        }
    }
}

/// Takes at least one copy, until [`MAX_LOCKED_BYTES`] bytes are taken or `stop`. Returns the time
/// of the last one, and the bytes of all.
fn take_part(
    rest: &mut impl Iterator<Item = TapCopy>,
    stop: impl Fn() -> bool,
    mut take: impl FnMut(TapCopy),
) -> (Time, usize) {
    let (mut bytes, mut at) = (0, Time::ZERO);
    for copied in rest {
        bytes += copied.event.size();
        at = copied.at;
        take(copied);
        if bytes >= MAX_LOCKED_BYTES || stop() {
            break;
        }
    }
    (at, bytes)
}

/// The destinations of a live source's frames: session file, store, printer.
pub(super) struct LiveSink {
    pub shared: Arc<LiveState>,
    recorder: Option<Recorder>,
    sink: Option<Sink>,
    /// Timeline rows and findings that the sink has been given.
    shown: (usize, usize),
}

/// The destinations while the store is locked.
pub(super) struct Ingest<'a> {
    pub store: &'a mut Analysis,
    recorder: &'a mut Option<Recorder>,
}

impl Ingest<'_> {
    /// Records a frame and folds it into the store.
    pub(super) fn take(&mut self, frame: Frame) {
        if let Some(recorder) = self.recorder {
            recorder.write(&frame, self.store.catalog());
        }
        self.store.handle(frame);
    }
}

impl LiveSink {
    pub(super) fn new(store: Analysis, recorder: Option<Recorder>, sink: Option<Sink>) -> LiveSink {
        let shared = Arc::new(LiveState {
            store: Mutex::new(store),
            next: Mutex::new(()),
            revision: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
            failed: Mutex::new(None),
            trouble: Mutex::new(None),
            unread: AtomicBool::new(false),
        });
        LiveSink { shared, recorder, sink, shown: (0, 0) }
    }

    /// Returns how long to wait for traffic.
    pub(super) fn tick(&self) -> Duration {
        self.recorder.as_ref().and_then(Recorder::due).map_or(TICK_INTERVAL, |due| due.min(TICK_INTERVAL))
    }

    /// Takes the frames of `fill`, which returns the time, then passes new rows to the sink.
    pub(super) fn batch(&mut self, fill: impl FnOnce(&mut Ingest<'_>) -> Time) {
        let shared = self.shared.clone();
        let mut store = shared.store();
        let now = fill(&mut Ingest { store: &mut store, recorder: &mut self.recorder });
        store.advance(now);
        let now_shown = (store.rows(), store.findings().len());
        if let Some(sink) = &mut self.sink
            && now_shown > self.shown
            && sink(&store, self.shown.0..now_shown.0, self.shown.1..now_shown.1).is_err()
        {
            self.sink = None;
            shared.unread.store(true, Ordering::Relaxed);
        }
        self.shown = now_shown;
        drop(store);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush(now);
            shared.recorded.store(recorder.bytes(), Ordering::Relaxed);
            if let Some(error) = recorder.error() {
                shared.fail(error.to_string());
            }
        }
        shared.revision.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn finish(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            match recorder.finish() {
                Ok(size) => self.shared.recorded.store(size, Ordering::Relaxed),
                Err(error) => self.shared.fail(error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lint;
    use crate::engine::store::{Options, Store};
    use crate::sources::observe::{ConnId, TapEvent};
    use crate::wire::content::{Catalog, MemoryBodies};
    use crate::wire::event::{Clock, Dir};

    fn shared() -> Arc<LiveState> {
        let catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
        let store = Store::new(catalog, Clock { epoch: None, untimed: false }, Options::default());
        LiveSink::new(Analysis::new(store, lint::Options::default()), None, None).shared
    }

    #[test]
    fn stops_after_a_part() {
        let copied = |at| TapCopy {
            conn: ConnId(1),
            at: Time(at),
            event: TapEvent::Bytes { dir: Dir::Req, bytes: vec![0; MAX_LOCKED_BYTES / 4].into() },
        };
        let taken = |stop: &dyn Fn() -> bool| {
            let (mut rest, mut taken) = ((1..=9).map(copied), 0);
            let (at, _) = take_part(&mut rest, stop, |_| taken += 1);
            (at, taken, rest.count())
        };
        assert_eq!(taken(&|| true), (Time(1), 1, 8));
        assert_eq!(taken(&|| false), (Time(4), 4, 5));
    }

    #[test]
    fn knows_of_waiters_until_they_have_the_store() {
        let shared = shared();
        let held = shared.store();
        assert!(!shared.is_wanted());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| drop(shared.store()));
            while !shared.is_wanted() {
                std::thread::yield_now();
            }
            drop(held);
            waits.join().expect("he got them");
        });
        assert!(!shared.is_wanted());
    }
}
