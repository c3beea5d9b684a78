//! The store, rules and session file of a run, and the clock of a run without a tap.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use xdscope_engine::store::{self, SchemaSemantics, SharedSemantics, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::record::Header;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::Clock;

use super::analysis_thread::{AnalysisWorker, RunningAnalysis, Sink};
use super::live_state::LiveState;
use crate::app::recording::frame_sink::FrameSink;
use crate::app::recording::journal::{JOURNAL_DIVISOR, Journal};
use crate::app::recording::recorder::Recorder;
use crate::app::recording::recording_file::SessionFile;
use crate::app::recording::search_limit::LimitedRedactor;
use crate::net::clock::RunClock;
use crate::net::tap::ListenError;
use xdscope_engine::analysis::{Analysis, bounded};

/// One part in this many of the counted memory is for the decoder, the rest for the analysis.
pub(super) const DECODER_DIVISOR: usize = 4;

/// One part in this many of the memory is for copies of traffic that are not decoded yet, up to
/// the highest limit of the listening side.
pub(crate) const QUEUE_DIVISOR: usize = 8;

/// The least limit of copies in memory, in bytes: a burst that the decoder cannot take at once.
pub(crate) const MIN_QUEUED_BYTES: usize = 16 << 20;

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
    /// Whether the search for secrets may take a limited time, as traffic does not wait for it.
    pub limits_search: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot create the session file {path}")]
    Record {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot start")]
    Thread(#[source] io::Error),
}

/// Parts with which the threads of a run decode, record and analyse.
pub(super) struct RunParts {
    /// Redacts headers and messages for users, also if the run keeps secrets.
    pub redactor: Arc<Redactor>,
    /// The contents of the thread that decodes.
    pub catalog: Catalog,
    pub analysis: Analysis,
    pub recorder: Option<Recorder>,
}

/// A run that has begun.
pub(super) struct StartedRun {
    pub frames: FrameSink,
    pub shared: Arc<LiveState>,
    pub analysis: RunningAnalysis,
    pub recording: Option<PathBuf>,
    pub clock: RunClock,
    /// Redacts headers and messages for users, also if the run keeps secrets.
    pub redactor: Arc<Redactor>,
}

impl RunConfig {
    /// Creates the parts of a run whose times have this meaning.
    pub(super) fn parts(self, clock: Clock) -> Result<RunParts, StartError> {
        let seed = match self.seed {
            Some(seed) => seed,
            None => {
                getrandom::u64().map_err(|error| StartError::Thread(io::Error::other(error.to_string())))?
            }
        };
        let redactor = Arc::new(Redactor::new(self.schema.clone(), seed));
        let new_catalog = || {
            let redact: Option<Arc<dyn Redact>> = match self.keep_secrets {
                true => None,
                // Each thread has a limit of its own.
                false if self.limits_search => Some(Arc::new(LimitedRedactor::new(redactor.clone()))),
                false => Some(redactor.clone()),
            };
            Catalog::new(seed, redact, Box::new(MemoryBodies::default()))
        };
        let mut store = Store::new(new_catalog(), clock, self.store);
        store.set_meaning(meaning(self.schema.clone()));
        let analysis = Analysis::new(store, bounded(&self.schema));
        let catalog = new_catalog();
        let header = Header {
            created: clock.epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
            seed,
            keep_secrets: self.keep_secrets,
            tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).into(),
            source: self.source,
            clock,
        };
        let recorder = self.record.map(|session| open_recorder(session, header)).transpose()?;
        Ok(RunParts { redactor, catalog, analysis, recorder })
    }

    /// Starts the analysis of a run without a tap.
    pub(super) fn begin(self, sink: Option<Sink>) -> Result<StartedRun, StartError> {
        let clock = RunClock::start();
        let memory = self.store.history;
        let decoder_bytes = memory / DECODER_DIVISOR;
        let store = store::Options { history: memory - decoder_bytes, ..self.store };
        let config = RunConfig { store, ..self };
        let RunParts { redactor, catalog, analysis, recorder } = config.parts(clock.meaning())?;
        let recording = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let shared = Arc::new(LiveState::new(analysis));
        let queue = (memory / QUEUE_DIVISOR).max(MIN_QUEUED_BYTES);
        let journal = Arc::new(Journal::with_patient_writer(queue / JOURNAL_DIVISOR));
        let frames = FrameSink::new(catalog, recorder, journal.clone(), shared.clone(), decoder_bytes);
        let writer = journal.clone();
        let journal_clock = move || {
            let now = clock.now();
            writer.is_writer_idle().then_some(now)
        };
        let worker = AnalysisWorker::new(shared.clone(), journal, Arc::new(journal_clock), sink);
        let analysis = RunningAnalysis::start(worker, || ()).map_err(StartError::Thread)?;
        Ok(StartedRun { frames, shared, analysis, recording, clock, redactor })
    }
}

/// Returns the semantics of contents: which pushes are equal, and which a client can accept.
pub fn meaning(schema: Arc<Schema>) -> SharedSemantics {
    Arc::new(SchemaSemantics::new(schema))
}

/// Creates the recorder of a session.
fn open_recorder(session: SessionFile, header: Header) -> Result<Recorder, StartError> {
    let path = session.path.clone();
    Recorder::new(session, header).map_err(|source| StartError::Record { path, source })
}
