//! The threads of a tap or control plane: decoder and analysis, and one that spools while the
//! decoder is busy.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::net::tap::CopyQueue;
use xdscope_engine::analysis::Analysis;
use xdscope_sources::observe::Pipeline;
use xdscope_wire::content::Catalog;

use super::analysis_thread::{AnalysisWorker, RunningAnalysis, Sink};
use super::live_state::LiveState;
use super::process::running_thread::RunningThread;
use super::recording::DecoderWorker;
use super::recording::frame_sink::FrameSink;
use super::recording::journal::{JOURNAL_DIVISOR, Journal};
use super::recording::pending::PendingParts;
use super::recording::recorder::Recorder;
use super::recording::spool::{Spool, SpoolReader};

/// Niceness of the analysis thread (Linux). Where cores are short, the view lags and traffic does
/// not.
#[cfg(target_os = "linux")]
const ANALYSIS_NICENESS: i32 = 12;

/// How long the decoder may take to count what is left and to complete the file.
const FINISH_TIMEOUT: Duration = Duration::from_millis(500);

/// How long the analysis may take to notice that the rest is not wanted.
const ABANDON_TIMEOUT: Duration = Duration::from_millis(200);

/// The threads of a live source: the decoder and the analysis. They end when the tap has stopped
/// and all copies are drained.
pub struct Live {
    pub shared: Arc<LiveState>,
    /// The first session file; `None`: the run is not recorded.
    pub recording: Option<PathBuf>,
    /// The time until which copies are recorded and analysed after the tap has stopped.
    pub(super) deadline: Arc<OnceLock<Instant>>,
    decoder: RunningThread,
    pub(super) analysis: RunningAnalysis,
}

/// The parts that the decoder of a live source works with.
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
        let recording = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let spool = spool.map(Arc::new);
        let journal = Arc::new(Journal::new(copies.limit() / JOURNAL_DIVISOR, spool.clone()));
        let shared = Arc::new(LiveState::new(store));
        let deadline: Arc<OnceLock<Instant>> = Arc::default();
        let pending = Arc::new(PendingParts::new(copies.clone(), spool.clone()));
        let to_spool = spool.is_some().then(|| pending.clone());
        let frames = FrameSink::new(catalog, recorder, journal.clone(), shared.clone(), budget);
        let spool = spool.map(SpoolReader::new);
        let decoder = DecoderWorker::new(pending, pipeline, frames, spool, deadline.clone());
        let clock = move || {
            let now = copies.now();
            copies.is_idle().then_some(now)
        };
        let worker = AnalysisWorker::new(shared.clone(), journal, Arc::new(clock), sink);
        if let Some(pending) = to_spool {
            std::thread::Builder::new()
                .name("spool".into())
                .spawn(move || pending.fill_when_nearly_full())?;
        }
        let decoder = RunningThread::start("decoder", move || decoder.run())?;
        let analysis = RunningAnalysis::start(worker, || {
            // Traffic goes first. Fails without the permission, and changes nothing then.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(ANALYSIS_NICENESS);
        })?;
        Ok(Live { shared, recording, deadline, decoder, analysis })
    }

    /// Waits until everything is recorded and analysed, or until `deadline`. Call after the tap has
    /// stopped.
    ///
    /// The recording has all traffic, also the part that is not analysed by then.
    pub fn stop(mut self, deadline: Instant) -> Arc<LiveState> {
        let _ = self.deadline.set(deadline);
        // Completing the file takes a moment.
        self.decoder.wait(deadline + FINISH_TIMEOUT);
        self.analysis.end(deadline, ABANDON_TIMEOUT);
        self.decoder.report("the decoder panicked; what it had written is kept");
        self.shared
    }
}

#[cfg(test)]
pub(super) mod tests;
