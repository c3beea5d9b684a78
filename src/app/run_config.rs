//! The store, rules, session file and clock of a run without a tap.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::record::Header;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Clock, Time};

use super::analysis_thread::{AnalysisWorker, Sink};
use super::live::RunningThread;
use super::live_state::LiveState;
use super::tap::{DECODER_DIVISOR, MIN_QUEUED_BYTES, QUEUE_DIVISOR, StartError, meaning};
use crate::app::recording::frame_sink::FrameSink;
use crate::app::recording::journal::{JOURNAL_DIVISOR, Journal};
use crate::app::recording::recorder::Recorder;
use crate::app::recording::recording_file::SessionFile;
use xdscope_engine::analysis::{Analysis, bounded};

/// The settings of a run.
pub(super) struct RunConfig {
    /// The path and the open session file; `None`: no recording.
    pub record: Option<SessionFile>,
    pub keep_secrets: bool,
    /// The key of content ids and redacted secrets; `None`: random.
    pub seed: Option<u64>,
    pub store: store::Options,
    pub schema: Arc<Schema>,
    /// The title of the run, such as `watch cp.mesh:15010`.
    pub source: String,
}

/// A run that has begun.
pub(super) struct StartedRun {
    pub frames: FrameSink,
    pub shared: Arc<LiveState>,
    pub analysis: RunningAnalysis,
    pub recording: Option<PathBuf>,
    pub clock: Clock,
    pub start: Instant,
    /// Redacts headers and messages for users, also if the run keeps secrets.
    pub redactor: Arc<Redactor>,
}

impl RunConfig {
    pub(super) fn begin(self, sink: Option<Sink>) -> Result<StartedRun, StartError> {
        let random =
            || getrandom::u64().map_err(|error| StartError::Thread(io::Error::other(error.to_string())));
        let seed = self.seed.map_or_else(random, Ok)?;
        let redactor = Arc::new(Redactor::new(self.schema.clone(), seed));
        let redact = (!self.keep_secrets).then(|| redactor.clone() as Arc<dyn Redact>);
        let new_catalog = || Catalog::new(seed, redact.clone(), Box::new(MemoryBodies::default()));
        let unix_time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let epoch = unix_time.ok().and_then(|time| i128::try_from(time.as_nanos()).ok());
        let (clock, start) = (Clock { epoch, untimed: false }, Instant::now());
        let memory = self.store.history;
        let decoder_bytes = memory / DECODER_DIVISOR;
        let limits = store::Options { history: memory - decoder_bytes, ..self.store };
        let mut store = Store::new(new_catalog(), clock, limits);
        store.set_meaning(meaning(self.schema.clone()));
        let store = Analysis::new(store, bounded(&self.schema));
        let recorder = match self.record {
            None => None,
            Some(session) => {
                let header = Header {
                    created: epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
                    seed,
                    keep_secrets: self.keep_secrets,
                    tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).into(),
                    source: self.source,
                    clock,
                };
                let path = session.path.clone();
                let recorder = Recorder::new(session, header);
                Some(recorder.map_err(|source| StartError::Record { path, source })?)
            }
        };
        let recording = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let shared = Arc::new(LiveState::new(store));
        let queue = (memory / QUEUE_DIVISOR).max(MIN_QUEUED_BYTES);
        let journal = Arc::new(Journal::with_patient_writer(queue / JOURNAL_DIVISOR));
        let frames = FrameSink::new(new_catalog(), recorder, journal.clone(), shared.clone(), decoder_bytes);
        let writer = journal.clone();
        let journal_clock = move || {
            let now = since(start);
            writer.is_writer_idle().then_some(now)
        };
        let worker = AnalysisWorker::new(shared.clone(), journal.clone(), Arc::new(journal_clock), sink);
        let thread = RunningThread::start("analysis", move || worker.run()).map_err(StartError::Thread)?;
        let analysis = RunningAnalysis { journal, shared: shared.clone(), thread: Some(thread) };
        Ok(StartedRun { frames, shared, analysis, recording, clock, start, redactor })
    }
}

/// The analysis thread of a run without a tap. It ends when the journal has ended.
pub(super) struct RunningAnalysis {
    pub journal: Arc<Journal>,
    shared: Arc<LiveState>,
    thread: Option<RunningThread>,
}

/// How long the rest may be analysed after the run has ended.
const LAST_ANALYSIS_TIME: Duration = Duration::from_secs(5);

impl RunningAnalysis {
    /// Waits until the rest is analysed, or for [`LAST_ANALYSIS_TIME`]. Call after the journal has
    /// ended.
    pub(super) fn join(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + LAST_ANALYSIS_TIME;
        if !thread.wait(deadline) {
            self.journal.abandon();
            thread.wait(deadline + LAST_ANALYSIS_TIME);
        }
        self.shared.note_unanalysed(self.journal.waiting_events());
        thread.report("the analysis panicked; the recording is kept");
    }
}

/// Returns the time since the start of the run, in whole microseconds.
///
/// Recordings keep microseconds, and a replay must have the times of the run.
pub(super) fn since(start: Instant) -> Time {
    Time(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_mul(1000))
}
