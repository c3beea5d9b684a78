//! The analysis of a live run: reads the journal into the store.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::live_state::LiveState;
use super::process::running_thread::RunningThread;
use super::recording::journal::{Journal, NextPart};
use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint::Finding;
use xdscope_sources::record::JournalReader;
use xdscope_wire::event::{Seq, Time};
use xdscope_wire::{Frame, FramePayload};

/// How often the clock moves on without traffic, so that ages and overdue answers show up.
/// Timers of rules move the clock too.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes of messages to store before the store lock is released, whether or not another thread
/// waits.
const MAX_LOCKED_BYTES: usize = 1 << 20;

/// The shortest time to hold the store lock, so that frequent readers do not stop the analysis.
const MIN_LOCKED_TIME: Duration = Duration::from_millis(4);

/// How long the rest may be analysed after a run without a tap has ended.
const LAST_ANALYSIS_TIME: Duration = Duration::from_secs(5);

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
    shown_rows: usize,
    shown_findings: usize,
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
        AnalysisWorker {
            shared,
            journal,
            clock,
            sink,
            reader,
            frames,
            shown_rows: 0,
            shown_findings: 0,
            next_timer: None,
        }
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
                NextPart::End(at) => {
                    self.batch(|_, _, _| at);
                    return self.show_all();
                }
                NextPart::Abandoned => return self.show_all(),
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
    ///
    /// A row whose node is about to be stated waits, with those after it, so that its line is that
    /// of a replay.
    fn batch(&mut self, fill: impl FnOnce(&mut Analysis, &mut JournalReader, &mut VecDeque<Frame>) -> Time) {
        let shared = self.shared.clone();
        let mut store = shared.store();
        let before = store.rows();
        let now = fill(&mut store, &mut self.reader, &mut self.frames);
        self.journal.finish_events((store.rows() - before) as u64);
        store.advance(now);
        self.next_timer = store.next_timer().map(|at| at.since(now));
        self.show(&store, store.settled_rows(self.shown_rows));
        drop(store);
        shared.note_change();
    }

    /// Passes all rows to the sink: nothing is stated any more.
    fn show_all(&mut self) {
        let shared = self.shared.clone();
        let store = shared.store();
        self.show(&store, store.rows());
    }

    /// Passes rows up to `rows` to the sink, and the findings about them.
    fn show(&mut self, store: &Analysis, rows: usize) {
        let is_shown = |finding: &&Finding| {
            let row_of = |n: &Seq| store.row_of(*n);
            finding.messages.iter().filter_map(row_of).all(|row| row < rows)
        };
        let new = store.findings().get(self.shown_findings..).unwrap_or_default();
        let findings = self.shown_findings + new.iter().take_while(is_shown).count();
        // The sink is called without new rows too, to notice that its reader is gone.
        if let Some(sink) = &mut self.sink
            && sink(store, self.shown_rows..rows, self.shown_findings..findings).is_err()
        {
            self.sink = None;
            self.shared.note_unread();
        }
        (self.shown_rows, self.shown_findings) = (rows, findings);
    }
}

impl Drop for AnalysisWorker {
    /// Nobody reads on, also after a panic.
    fn drop(&mut self) {
        self.journal.abandon();
    }
}

/// A running analysis. It ends when its journal has ended.
pub(super) struct RunningAnalysis {
    pub(super) journal: Arc<Journal>,
    shared: Arc<LiveState>,
    thread: Option<RunningThread>,
}

impl RunningAnalysis {
    /// Starts a thread that calls `prepare`, then reads the journal.
    pub(super) fn start(
        worker: AnalysisWorker,
        prepare: impl FnOnce() + Send + 'static,
    ) -> io::Result<RunningAnalysis> {
        let (journal, shared) = (worker.journal.clone(), worker.shared.clone());
        let thread = RunningThread::start("analysis", move || {
            prepare();
            worker.run();
        })?;
        Ok(RunningAnalysis { journal, shared, thread: Some(thread) })
    }

    /// Waits until the rest is analysed, or until `deadline`, and then for `abandon` at most until
    /// the thread has ended. Call after the journal has ended.
    pub(super) fn end(&mut self, deadline: Instant, abandon: Duration) {
        let Some(thread) = self.thread.take() else { return };
        if !thread.wait(deadline) {
            self.journal.abandon();
            thread.wait(Instant::now() + abandon);
        }
        self.shared.note_unanalysed(self.journal.waiting_events());
        thread.report("the analysis panicked; the recording is kept");
    }

    /// Ends the analysis of a run without a tap, within [`LAST_ANALYSIS_TIME`].
    pub(super) fn join(&mut self) {
        self.end(Instant::now() + LAST_ANALYSIS_TIME, LAST_ANALYSIS_TIME);
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
        store.skip_messages(reader.take_skipped());
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
    use std::sync::Mutex;

    use super::*;
    use crate::app::recording::journal::JournalInput;
    use xdscope_engine::lint;
    use xdscope_engine::store::{MessageFact, Options, Store};
    use xdscope_sources::record::JournalWriter;
    use xdscope_wire::content::Catalog;
    use xdscope_wire::event::{Clock, StreamId};
    use xdscope_wire::pb::put_len_field;
    use xdscope_wire::{Message, MessageShape, Open};

    /// A worker, the writer of its journal, and the rows that its sink was given.
    struct JournaledRun {
        worker: AnalysisWorker,
        writer: JournalWriter<JournalInput>,
        catalog: Catalog,
        rows: Arc<Mutex<Vec<String>>>,
    }

    impl JournaledRun {
        /// Starts with `limit` bytes for records in memory.
        fn start(limit: usize) -> JournaledRun {
            let journal = Arc::new(Journal::new(limit, None));
            let store = Store::new(Catalog::in_memory(), Clock::default(), Options::default());
            let shared = Arc::new(LiveState::new(Analysis::new(store, lint::Options::default())));
            let rows: Arc<Mutex<Vec<String>>> = Arc::default();
            let given = rows.clone();
            let sink: Sink = Box::new(move |store, rows, _| {
                let text = |fact: MessageFact| {
                    format!("#{} {:?} {}", fact.stream.0, fact.kind, fact.node.as_deref().unwrap_or("-"))
                };
                let new = rows.filter_map(|row| store.row(row)).map(text);
                given.lock().unwrap().extend(new);
                Ok(())
            });
            let writer = JournalWriter::new(JournalInput(journal.clone()));
            let worker = AnalysisWorker::new(shared, journal, Arc::new(|| None), Some(sink));
            JournaledRun { worker, writer, catalog: Catalog::in_memory(), rows }
        }

        fn write(&mut self, millis: u64, stream: u32, what: FramePayload) {
            let frame = Frame { at: Time(millis * 1_000_000), stream: StreamId(stream), what };
            self.writer.write(&frame, &self.catalog);
            self.writer.flush();
        }

        /// Has everything analysed. Returns the rows that the sink was given since the last call.
        fn analyse(&mut self) -> Vec<String> {
            while let NextPart::Part { records, begins_segment } = self.worker.journal.next(Duration::ZERO) {
                self.worker.part(records, begins_segment);
            }
            std::mem::take(&mut self.rows.lock().unwrap())
        }

        fn open(&mut self, millis: u64, stream: u32) -> Vec<String> {
            let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
            let open = Open { method: method.into(), ..Open::default() };
            self.write(millis, stream, FramePayload::Open(Box::new(open)));
            self.analyse()
        }

        fn request(&mut self, millis: u64, stream: u32, node: &str) -> Vec<String> {
            self.write_request(millis, stream, node);
            self.analyse()
        }

        fn write_request(&mut self, millis: u64, stream: u32, node: &str) {
            let (mut inside, mut request) = (Vec::new(), Vec::new());
            put_len_field(&mut inside, 1, node.as_bytes());
            put_len_field(&mut request, 2, &inside);
            put_len_field(&mut request, 4, b"type.googleapis.com/envoy.config.cluster.v3.Cluster");
            let message = Message::parse(MessageShape::SotwRequest, &request, &mut self.catalog);
            self.write(millis, stream, FramePayload::Message(Arc::new(message)));
        }
    }

    /// The row of a stream's beginning has the node, as in a replay.
    #[test]
    fn rows_wait_a_moment_for_the_node_of_their_stream() {
        let mut run = JournaledRun::start(1 << 20);
        assert_eq!(run.open(0, 1), [""; 0]);
        assert_eq!(run.open(1, 2), [""; 0]);
        assert_eq!(run.request(2, 2, "b"), [""; 0], "rows stay in order");
        assert_eq!(run.request(3, 1, "a"), ["#1 Open a", "#2 Open b", "#2 Subscribe b", "#1 Subscribe a"]);
        assert_eq!(run.open(10, 3), [""; 0]);
        assert_eq!(run.open(1_200, 4), ["#3 Open -"], "a client that says nothing");
        run.worker.show_all();
        assert_eq!(std::mem::take(&mut *run.rows.lock().unwrap()), ["#4 Open -"]);
    }

    /// The session file has all messages, and the live run the numbers of the file.
    #[test]
    fn messages_behind_a_full_journal_keep_their_numbers() {
        let mut run = JournaledRun::start(1);
        run.open(0, 1);
        run.request(1, 1, "a");
        (2..9).for_each(|millis| run.write_request(millis, 1, "a"));
        let rows = run.analyse();
        assert_eq!(rows, ["#1 Repeat a"], "the others have no room");
        assert_eq!(run.request(10, 1, "a"), ["#1 Gap a", "#1 Repeat a"]);
        let store = run.worker.shared.store();
        let numbers: Vec<_> = (0..store.rows()).filter_map(|row| Some(store.row(row)?.n?.0)).collect();
        assert_eq!((numbers, store.messages()), (vec![1, 2, 9], 9));
        let same: Vec<_> = (1..=9).filter(|n| store.message(Seq(*n)).is_some()).collect();
        assert_eq!(same, [1, 2, 9]);
    }

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
