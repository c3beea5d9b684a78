//! A live source: stores, records and shows frames. A tap's copies pass two threads, the decoder
//! and then the analysis; a third one spools while the decoder is busy.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::net::tap::CopyQueue;
use xdscope_sources::observe::Pipeline;
use xdscope_sources::record::JournalReader;
use xdscope_tui::Waker;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::Time;
use xdscope_wire::{Frame, FramePayload};

use super::recording::{Decoder, DecoderWorker};
use crate::app::recording::journal::{JOURNAL_DIVISOR, Journal, NextPart};
use crate::app::recording::pending::PendingParts;
use crate::app::recording::recorder::{FinishedRecording, Recorder};
use crate::app::recording::spool::{Spool, SpoolReader};
use xdscope_engine::analysis::Analysis;

/// How often the clock moves on without traffic, so that ages and overdue answers show up.
/// Timers of rules move the clock too.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of messages to store before the store lock is released, whether or not another thread waits.
const MAX_LOCKED_BYTES: usize = 1 << 20;

/// The shortest time to hold the store lock, so that frequent readers do not stop the analysis.
const MIN_LOCKED_TIME: Duration = Duration::from_millis(4);

/// Niceness of the analysis thread (Linux). Where cores are short, the view lags and traffic does
/// not.
#[cfg(target_os = "linux")]
const ANALYSIS_NICENESS: i32 = 12;

/// How long the decoder may take to count what is left and to complete the file.
const FINISH_TIMEOUT: Duration = Duration::from_millis(500);

/// How long the analysis may take to notice that the rest is not wanted.
const ABANDON_TIMEOUT: Duration = Duration::from_millis(200);

/// Called after each batch with the timeline rows and findings that it added, if any.
///
/// An error ends the calls, for instance when a pipe is closed.
pub type Sink = Box<dyn FnMut(&Analysis, Range<usize>, Range<usize>) -> io::Result<()> + Send>;

/// The state that the analysis shares with screens and printers.
pub struct LiveState {
    store: Mutex<Analysis>,
    /// Ticket lock: held while waiting for the store, so that waiters take turns.
    next: Mutex<()>,
    revision: AtomicU64,
    /// Wakes the screens when the revision changes.
    waker: OnceLock<Waker>,
    recorded: AtomicU64,
    /// The error that stops the recording at present.
    failed: Mutex<Option<String>>,
    /// Messages about the session files that nobody has read yet.
    news: Mutex<Vec<String>>,
    /// The session files in order; the last one is written at present.
    recordings: Mutex<Vec<PathBuf>>,
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

    /// Sets the waker to call whenever the store may have changed. Only the first one counts.
    pub(super) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Returns the size of the session file in bytes.
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Takes messages to the user about the session files.
    pub fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.news.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Returns the session files in order; none before the first frame.
    pub fn recordings(&self) -> Vec<PathBuf> {
        self.recordings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Publishes size, path, errors and messages of the recorder.
    pub(super) fn note_recorder(&self, recorder: &mut Recorder) {
        self.recorded.store(recorder.bytes(), Ordering::Relaxed);
        self.set_failed(recorder.error().map(ToString::to_string));
        let mut recordings = self.recordings.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if recordings.last().map(PathBuf::as_path) != Some(recorder.path()) {
            *recordings = recorder.paths();
        }
        drop(recordings);
        self.add_news(recorder.take_news());
    }

    /// Completes the recording, and publishes what remains of it.
    pub(super) fn finish_recording(&self, recorder: Recorder) {
        let FinishedRecording { paths, bytes, news, error } = recorder.finish();
        self.recorded.store(bytes, Ordering::Relaxed);
        self.set_failed(error.map(|error| error.to_string()));
        *self.recordings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = paths;
        self.add_news(news);
    }

    fn add_news(&self, news: Vec<String>) {
        self.news.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).extend(news);
    }

    /// Returns the last file of the session and the size of all of them; `None` without a
    /// recording, or if the files were removed.
    pub(super) fn kept(&self) -> Option<(PathBuf, u64)> {
        Some((self.recordings().pop()?, self.recorded()))
    }

    /// Returns the error that stops the recording at present.
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

    fn set_failed(&self, error: Option<String>) {
        *self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = error;
    }

    /// Returns whether the reader of the event lines is gone.
    pub fn unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }
}

/// The threads of a live source: the decoder and the analysis. They end when the tap has stopped
/// and all copies are drained.
pub struct Live {
    pub shared: Arc<LiveState>,
    journal: Arc<Journal>,
    deadline: Arc<OnceLock<Instant>>,
    /// The decoder and the analysis.
    threads: [RunningThread; 2],
}

/// A thread, and a channel that closes when the thread ends.
struct RunningThread {
    thread: JoinHandle<()>,
    ended: Receiver<()>,
}

impl RunningThread {
    fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<RunningThread> {
        let (alive, ended) = channel();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            work();
            drop::<Sender<()>>(alive);
        })?;
        Ok(RunningThread { thread, ended })
    }

    /// Waits for the end until `deadline`. Returns whether the thread has ended.
    fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        self.ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
    }

    /// Says that the thread panicked, if it did.
    fn report(self, what: &str) {
        if self.thread.is_finished() && self.thread.join().is_err() {
            tracing::error!("{what}");
        }
    }
}

/// What the decoder of a live source works with.
pub struct Decoding {
    pub pipeline: Pipeline,
    /// Removes secrets.
    pub catalog: Catalog,
    /// `None`: the run is not recorded.
    pub recorder: Option<Recorder>,
    /// Bytes that contents and names may take.
    pub budget: usize,
    pub spool: Option<Spool>,
}

impl Live {
    /// Starts the threads, which decode the copies and analyse their frames.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        copies: Arc<CopyQueue>,
        store: Analysis,
        decoding: Decoding,
        sink: Option<Sink>,
    ) -> io::Result<Live> {
        let Decoding { pipeline, catalog, recorder, budget, spool } = decoding;
        let spool = spool.map(Arc::new);
        let journal = Arc::new(Journal::new(copies.limit() / JOURNAL_DIVISOR, spool.clone()));
        let decoder = Decoder::new(pipeline, catalog, recorder, journal.clone(), budget);
        let keep = LiveSink::new(store, None, sink);
        let (shared, deadline) = (keep.shared.clone(), Arc::default());
        let pending = Arc::new(PendingParts::new(copies.clone(), spool.clone()));
        let to_spool = spool.is_some().then(|| pending.clone());
        let decoder = DecoderWorker {
            pending,
            decoder,
            spool: spool.map(SpoolReader::new),
            journal: journal.clone(),
            shared: shared.clone(),
            deadline: Arc::clone(&deadline),
            late: None,
        };
        let (reader, frames) = (JournalReader::default(), VecDeque::new());
        let analysis = AnalysisWorker { keep, reader, frames, copies, journal: journal.clone() };
        if let Some(pending) = to_spool {
            std::thread::Builder::new()
                .name("spool".into())
                .spawn(move || pending.fill_when_nearly_full())?;
        }
        let threads = [
            RunningThread::start("decoder", move || decoder.run())?,
            RunningThread::start("analysis", move || analysis.run())?,
        ];
        Ok(Live { shared, journal, deadline, threads })
    }

    /// Returns the records that are not analysed yet.
    pub(super) fn journal(&self) -> Arc<Journal> {
        self.journal.clone()
    }

    /// Returns the time until which copies are recorded and analysed after the tap has stopped.
    pub(super) fn deadline(&self) -> Arc<OnceLock<Instant>> {
        self.deadline.clone()
    }

    /// Waits until everything is recorded and analysed, or until `deadline`. Call after the tap has
    /// stopped.
    ///
    /// The recording has all traffic, also the part that is not analysed by then.
    pub fn stop(self, deadline: Instant) -> Arc<LiveState> {
        let _ = self.deadline.set(deadline);
        let [decoder, analysis] = self.threads;
        // Completing the file takes a moment.
        decoder.wait(deadline + FINISH_TIMEOUT);
        if !analysis.wait(deadline) {
            self.journal.abandon();
            analysis.wait(Instant::now() + ABANDON_TIMEOUT);
        }
        decoder.report("the decoder panicked; what it had written is kept");
        analysis.report("the analysis panicked; the recording is kept");
        self.shared
    }
}

/// Reads the journal into the store.
struct AnalysisWorker {
    keep: LiveSink,
    reader: JournalReader,
    /// Frames that are read and not stored yet.
    frames: VecDeque<Frame>,
    copies: Arc<CopyQueue>,
    journal: Arc<Journal>,
}

impl AnalysisWorker {
    fn run(mut self) {
        // Traffic goes first. Fails without the permission, and changes nothing then.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(ANALYSIS_NICENESS);
        loop {
            match self.journal.next(self.keep.tick()) {
                NextPart::Part { records, begins_segment } => self.part(records, begins_segment),
                NextPart::Nothing => {
                    self.journal.trim_spool();
                    if let Some(now) = now_if_idle(&self.copies, &self.journal) {
                        self.keep.batch(|_| now);
                    }
                }
                NextPart::End(at) => return self.keep.batch(|_| at),
                NextPart::Abandoned => return,
            }
        }
    }

    fn part(&mut self, records: Bytes, begins_segment: bool) {
        if begins_segment {
            // The reader refers to no content.
            self.keep.drop_old(|_| {});
        }
        self.reader.begin(records);
        let (reader, frames) = (&mut self.reader, &mut self.frames);
        let (copies, journal, shared) = (&*self.copies, &*self.journal, self.keep.shared.clone());
        let mut has_more = true;
        while has_more && !journal.is_abandoned() {
            self.keep.batch(|into| {
                let begun = Instant::now();
                let is_wanted = || begun.elapsed() >= MIN_LOCKED_TIME && shared.is_wanted();
                let at;
                (at, has_more) = read_some(reader, frames, into, is_wanted);
                // The clock stays at the last frame while others remain: an overdue answer may be
                // among them.
                if has_more { at } else { now_if_idle(copies, journal).unwrap_or(at) }
            });
        }
        if self.keep.is_full() {
            self.journal.want_segment();
        }
    }
}

/// Stores frames of a part, until [`MAX_LOCKED_BYTES`] bytes are stored or `stop`. Returns the time
/// of the last frame, and whether there is more.
fn read_some(
    reader: &mut JournalReader,
    frames: &mut VecDeque<Frame>,
    into: &mut Ingest<'_>,
    stop: impl Fn() -> bool,
) -> (Time, bool) {
    let (mut bytes, mut at) = (0_usize, Time::ZERO);
    while !frames.is_empty() || reader.next(into.store.catalog_mut(), frames) {
        while let Some(frame) = frames.pop_front() {
            at = frame.at;
            bytes = bytes.saturating_add(message_size(&frame));
            into.take(frame);
            if bytes >= MAX_LOCKED_BYTES || stop() {
                return (at, true);
            }
        }
    }
    (at, false)
}

/// Returns the time, unless there are copies before it that are not analysed.
fn now_if_idle(copies: &CopyQueue, journal: &Journal) -> Option<Time> {
    let now = copies.now();
    (copies.is_idle() && journal.is_empty()).then_some(now)
}

/// Returns the bytes of a message, after decompression.
fn message_size(frame: &Frame) -> usize {
    match &frame.what {
        FramePayload::Message(message) => usize::try_from(message.size).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// The destinations of a live source's frames: session file, store, printer.
pub(super) struct LiveSink {
    pub shared: Arc<LiveState>,
    recorder: Option<Recorder>,
    sink: Option<Sink>,
    /// Timeline rows and findings that the sink has been given.
    shown: (usize, usize),
    /// Time from the newest batch to the next timer of a rule.
    next_timer: Option<Duration>,
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
            waker: OnceLock::new(),
            recorded: AtomicU64::new(0),
            failed: Mutex::new(None),
            news: Mutex::new(Vec::new()),
            recordings: Mutex::new(Vec::new()),
            trouble: Mutex::new(None),
            unread: AtomicBool::new(false),
        });
        LiveSink { shared, recorder, sink, shown: (0, 0), next_timer: None }
    }

    /// Returns how long to wait for traffic.
    pub(super) fn tick(&self) -> Duration {
        let recorder = self.recorder.as_ref().and_then(Recorder::due);
        [recorder, self.next_timer].into_iter().flatten().fold(TICK_INTERVAL, Duration::min)
    }

    /// Takes the frames of `fill`, which returns the time, then passes new rows to the sink.
    pub(super) fn batch(&mut self, fill: impl FnOnce(&mut Ingest<'_>) -> Time) {
        let shared = self.shared.clone();
        let mut store = shared.store();
        let now = fill(&mut Ingest { store: &mut store, recorder: &mut self.recorder });
        store.advance(now);
        self.next_timer = store.next_timer().map(|at| at.since(now));
        let now_shown = (store.rows(), store.findings().len());
        // The sink is called without new rows too, to notice that its reader is gone.
        if let Some(sink) = &mut self.sink
            && sink(&store, self.shown.0..now_shown.0, self.shown.1..now_shown.1).is_err()
        {
            self.sink = None;
            shared.unread.store(true, Ordering::Relaxed);
        }
        self.shown = now_shown;
        drop(store);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush(now);
            shared.note_recorder(recorder);
        }
        shared.revision.fetch_add(1, Ordering::AcqRel);
        if let Some(waker) = shared.waker.get() {
            waker.wake();
        }
    }

    /// Whether the facts take more memory than they may.
    pub(super) fn is_full(&self) -> bool {
        self.shared.store().is_full()
    }

    /// Drops old facts, if all of them take more memory than they may. `mark` marks the contents
    /// that are in use outside of the store.
    pub(super) fn drop_old(&mut self, mark: impl FnOnce(&mut UsedContent)) {
        let shared = self.shared.clone();
        let recorder = self.recorder.as_ref();
        let used = shared.store().drop_old(|used| {
            mark(used);
            recorder.iter().for_each(|recorder| recorder.mark(used));
        });
        if let Some((used, recorder)) = used.zip(self.recorder.as_mut()) {
            recorder.forget(&used);
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            self.shared.finish_recording(recorder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xdscope_engine::lint;
    use xdscope_engine::store::{Options, Store};
    use xdscope_wire::content::MemoryBodies;
    use xdscope_wire::event::{Clock, StreamId};
    use xdscope_wire::{Message, MessageShape};

    fn analysis() -> Analysis {
        let catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
        let store = Store::new(catalog, Clock { epoch: None, untimed: false }, Options::default());
        Analysis::new(store, lint::Options::default())
    }

    fn shared() -> Arc<LiveState> {
        LiveSink::new(analysis(), None, None).shared
    }

    fn message() -> Message {
        Message::parse(MessageShape::SotwRequest, &[], &mut Catalog::in_memory())
    }

    #[test]
    fn stops_after_some_bytes() {
        let message = Message { size: (MAX_LOCKED_BYTES / 2) as u64, ..message() };
        let frames = |count| {
            let what = || FramePayload::Message(message.clone().into());
            (1..=count).map(move |at| Frame { at: Time(at), stream: StreamId(1), what: what() })
        };
        let (mut store, mut reader) = (analysis(), JournalReader::default());
        let mut taken = |stop: &dyn Fn() -> bool| {
            let mut queued: VecDeque<Frame> = frames(9).collect();
            let mut into = Ingest { store: &mut store, recorder: &mut None };
            let (at, has_more) = read_some(&mut reader, &mut queued, &mut into, stop);
            (at, has_more, queued.len())
        };
        assert_eq!(taken(&|| true), (Time(1), true, 8));
        assert_eq!(taken(&|| false), (Time(2), true, 7));
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
