//! A running tap or control plane, with its analysis and session file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::net::serve;
use crate::net::tap::{
    Arms, Config, CopyQueue, Counters, HoldDesk, ListenError, MAX_QUEUED_BYTES, SharedFaults, Tap, Tls,
};
use crate::net::transport::Address;
use xdscope_engine::store;
use xdscope_schema::Schema;
use xdscope_sources::observe::Pipeline;
use xdscope_wire::content::Redact;
use xdscope_wire::h2::Changes;
use xdscope_wire::text::plural;

use super::analysis_thread::Sink;
use super::live::{Decoding, Live};
use super::live_state::LiveState;
use super::monitor::MonitoredRun;
use super::run_config::{DECODER_DIVISOR, RunConfig, RunParts};
pub(crate) use super::run_config::{MIN_QUEUED_BYTES, QUEUE_DIVISOR};
pub use super::run_config::{StartError, meaning};
use crate::app::process::editor::private_folder;
use crate::app::recording::journal::Journal;
use crate::app::recording::recording_file::SessionFile;
use crate::app::recording::spool::Spool;

/// Memory of what does not grow with the facts: caches, descriptors, compressors and unfinished
/// messages.
const FIXED_BYTES: usize = 48 << 20;

/// One part in this many of the memory is for what the allocator adds to the bytes that are
/// counted: in a soak, regions of 120 MB had 80 to 90 MB of blocks.
const ALLOCATOR_DIVISOR: usize = 3;

/// One part in this many of the counted memory is for facts that are new since old ones were
/// dropped.
const GROWTH_DIVISOR: usize = 5;

/// One part in this many of the memory is for unfinished messages.
pub(crate) const UNFINISHED_DIVISOR: usize = 8;

/// The least limit of unfinished messages, in bytes.
pub(crate) const MIN_UNFINISHED_BYTES: usize = 8 << 20;

/// Connections with several streams get no more once one stream is open for this many bytes of the
/// memory. An open stream with one type takes about 13 kB in decoder, analysis and rules together.
pub(crate) const STREAM_DIVISOR: usize = 32 << 10;

/// The analysis has at least one part in this many of the memory.
const ANALYSIS_DIVISOR: usize = 8;

/// One part in this many of the memory is for the messages that armed connections buffer, while
/// the tap is or may be armed. The analysis has as much less.
const ARMED_DIVISOR: usize = 2;

/// The listening side of a run.
pub enum Front {
    /// A relay to control planes.
    Tap {
        /// Pairs of listen and upstream addresses.
        maps: Vec<(Address, Address)>,
        connect_timeout: Duration,
        tls: Tls,
        /// Changes to the headers of requests.
        changes: Option<Arc<Changes>>,
        /// Faults, which arm the tap.
        faults: Option<SharedFaults>,
        /// The messages that a person holds, who arms the tap; `None`: nobody can.
        desk: Option<Arc<HoldDesk>>,
    },
    /// A control plane on this address.
    Serve {
        listen: Address,
        /// The name of the served source.
        from: String,
        tls: Option<Arc<crate::net::tls::Server>>,
        control: serve::Control,
        say: serve::Say,
        /// Faults, which act on the streams of clients.
        faults: Option<SharedFaults>,
    },
}

/// A control plane behind an armed tap of its own: `serve` with faults.
///
/// The actions and rows are those of a tap. Clients of `serve` without faults reach the control
/// plane directly.
struct Backend {
    /// Ends with the run.
    _serve: Tap,
    /// The folder of the socket between both.
    _folder: TempDir,
}

impl Front {
    /// Returns the first server behind a tap.
    pub fn upstream(&self) -> Option<&Address> {
        match self {
            Front::Tap { maps, .. } => maps.first().map(|(_, upstream)| upstream),
            Front::Serve { .. } => None,
        }
    }

    /// Returns the faults of the run.
    pub fn faults(&self) -> Option<&SharedFaults> {
        match self {
            Front::Tap { faults, .. } | Front::Serve { faults, .. } => faults.as_ref(),
        }
    }

    /// Returns the highest limit of copies in memory, in bytes.
    fn max_queued_bytes(&self) -> usize {
        match self {
            Front::Tap { .. } => MAX_QUEUED_BYTES,
            Front::Serve { .. } => serve::MAX_QUEUED_BYTES,
        }
    }

    /// Returns the desk of held messages, if there is one.
    fn desk(&self) -> Option<Arc<HoldDesk>> {
        match self {
            Front::Tap { desk, .. } => desk.clone(),
            Front::Serve { .. } => None,
        }
    }

    /// Starts listening. Returns the tap, a description of the server behind each listener, and the
    /// control plane if it is behind a tap.
    ///
    /// `queue` limits the bytes of copies, and `memory` the bytes that armed connections buffer.
    fn start(
        self,
        queue: Option<usize>,
        schema: &Arc<Schema>,
        memory: usize,
    ) -> Result<(Tap, Vec<String>, Option<Backend>), ListenError> {
        let armed = |faults: &Option<SharedFaults>| {
            let count = faults.as_ref().map(|faults| faults.lock().len());
            count.map(|count| format!(" ({})", plural(count, "fault"))).unwrap_or_default()
        };
        match self {
            Front::Tap { maps, connect_timeout, tls, changes, faults, desk } => {
                // Part of the title, so that screens, event lines and the recording name the
                // changed headers.
                let given = changes.as_ref().map(|changes| changes.names().join(", "));
                let given = given.map(|names| format!(" (gets {names} from here)")).unwrap_or_default();
                let armed = armed(&faults);
                let behind =
                    maps.iter().map(|(_, upstream)| format!(" → {upstream}{given}{armed}")).collect();
                let is_used = faults.is_some() || desk.is_some();
                let (faults, schema) = (faults.unwrap_or_default(), schema.clone());
                let arms = is_used.then(|| Arms { faults, desk, schema, memory });
                let config = Config { maps, queue, connect_timeout, tls, changes, arms };
                Ok((Tap::start(config)?, behind, None))
            }
            Front::Serve { listen, from, tls, control, say, faults } => {
                let behind = vec![format!(" from {from}{}", armed(&faults))];
                let schema = schema.clone();
                let config = serve::Config { listen, queue, tls, control, say, schema };
                match faults {
                    None => Ok((serve::start(config)?, behind, None)),
                    Some(faults) => {
                        let (tap, backend) = serve_behind_tap(config, faults, memory)?;
                        Ok((tap, behind, Some(backend)))
                    }
                }
            }
        }
    }
}

/// Creates the spool. A tap works without one.
fn open_spool(folder: &Path, size: u64) -> Option<Spool> {
    let spool = Spool::create(folder, size);
    spool.inspect_err(|error| tracing::warn!("no spool in {}: {error}", folder.display())).ok()
}

/// Starts a control plane on a private socket, and an armed tap in front of it.
fn serve_behind_tap(
    config: serve::Config,
    faults: SharedFaults,
    memory: usize,
) -> Result<(Tap, Backend), ListenError> {
    let serve::Config { listen, queue, tls, control, say, schema } = config;
    let folder = private_folder().map_err(|source| ListenError { address: listen.clone(), source })?;
    let socket = Address::Unix(folder.path().join("xds.sock"));
    let serve = serve::start(serve::Config {
        listen: socket.clone(),
        queue: None,
        tls: None,
        control,
        say,
        schema: schema.clone(),
    })?;
    let tap = Tap::start(Config {
        maps: vec![(listen, socket)],
        queue,
        connect_timeout: BACKEND_TIMEOUT,
        tls: Tls { listen: tls, ..Tls::default() },
        changes: None,
        arms: Some(Arms { faults, desk: None, schema, memory }),
    })?;
    Ok((tap, Backend { _serve: serve, _folder: folder }))
}

/// The timeout of the connection between a tap and the control plane of the same process.
const BACKEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Limits of the copies between relay and analysis.
#[derive(Clone, Debug)]
pub struct CopyLimits {
    /// Bytes in memory; `None`: an eighth of `--memory`, within limits.
    pub memory: Option<usize>,
    /// The folder and the size of the spool file in bytes; `None`: no spool.
    pub spool: Option<(PathBuf, u64)>,
    /// How long a run that stops may take for what is not recorded or analysed.
    pub drain: Duration,
}

/// Default of [`CopyLimits::drain`].
pub const DRAIN_TIME: Duration = Duration::from_secs(5);

impl Default for CopyLimits {
    fn default() -> Self {
        CopyLimits { memory: None, spool: None, drain: DRAIN_TIME }
    }
}

/// The listening side of a run and its settings.
pub struct Options {
    pub front: Front,
    /// Decode messages; otherwise relay and count only.
    pub decode: bool,
    /// The path and the open session file; `None` with `--no-record`.
    pub record: Option<SessionFile>,
    pub keep_secrets: bool,
    pub copies: CopyLimits,
    pub store: store::Options,
    pub schema: Arc<Schema>,
    /// The first word of the title: `tap` in `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub verb: &'static str,
}

/// The sources of the figures of a running tap.
#[derive(Clone)]
pub struct TapMeter {
    counters: Arc<Counters>,
    copies: Arc<CopyQueue>,
    journal: Arc<Journal>,
}

impl TapMeter {
    /// Returns the median and the 99th percentile of the delay that the tap adds.
    pub fn added_delay(&self) -> Option<(Duration, Duration)> {
        self.counters.added_delay.percentiles()
    }

    /// Returns the bytes that are not analysed yet: copies of traffic, and the records of decoded
    /// copies.
    pub fn backlog(&self) -> u64 {
        self.copies.backlog() + self.journal.backlog()
    }
}

/// Bytes that the facts about a tap may take.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    pub idle: usize,
    /// While messages of armed streams are or may be buffered.
    pub armed: usize,
}

impl Budgets {
    /// Returns the bytes that facts may take: fewer from arming until the last armed stream ends.
    pub fn with(self, desk: &HoldDesk) -> usize {
        if desk.needs_memory() { self.armed } else { self.idle }
    }
}

/// A running tap.
pub struct Running {
    pub tap: Tap,
    /// `None` with `--no-decode`.
    pub shared: Option<Arc<LiveState>>,
    live: Option<Live>,
    drain: Duration,
    /// Whether traffic is relayed, not answered.
    is_relay: bool,
    /// The control plane, if there is a tap in front of it.
    backend: Option<Backend>,
    /// The messages that a person holds.
    pub desk: Option<Arc<HoldDesk>>,
    /// Bytes that facts may take: while the tap is not armed, and while it is.
    budgets: Budgets,
    pub recording: Option<PathBuf>,
    /// The listeners and the servers behind them: `127.0.0.1:18001 → cp.mesh:15010`.
    pub listening: Vec<String>,
    /// The title of the run: `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub source: String,
}

/// Returns the bytes of `memory` for what grows with the facts.
pub(crate) fn growing_bytes(memory: usize) -> usize {
    memory - FIXED_BYTES.min(memory / 8 * 3)
}

/// Returns the bytes that the facts of decoder and analysis may take together, of `memory`.
/// `copies` is the part of copies that are not decoded yet.
fn counted_bytes(memory: usize, copies: usize) -> usize {
    let growing = growing_bytes(memory);
    let counted = (growing - growing / ALLOCATOR_DIVISOR).saturating_sub(copies);
    counted - counted / GROWTH_DIVISOR
}

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let is_relay = matches!(options.front, Front::Tap { .. });
        let (has_faults, desk) = (options.front.faults().is_some(), options.front.desk());
        let memory = options.store.history;
        let share = (memory / QUEUE_DIVISOR).max(MIN_QUEUED_BYTES).min(options.front.max_queued_bytes());
        let queue = options.decode.then(|| options.copies.memory.unwrap_or(share));
        let (tap, behind, backend) = options.front.start(queue, &options.schema, memory / ARMED_DIVISOR)?;
        let least = memory / ANALYSIS_DIVISOR;
        let counted = counted_bytes(memory, share);
        let idle = (counted - counted / DECODER_DIVISOR).max(least);
        let armed = idle.saturating_sub(memory / ARMED_DIVISOR).max(least);
        let budgets = Budgets { idle: if has_faults { armed } else { idle }, armed };
        let pairs = tap.listening.iter().zip(&behind);
        let listening: Vec<String> = pairs.map(|(listen, behind)| format!("{listen}{behind}")).collect();
        let source = format!("{} {}", options.verb, listening.join(", "));
        let CopyLimits { spool, drain, .. } = options.copies;
        let live = match tap.copies.clone() {
            None => None,
            Some(copies) => {
                let history = desk.as_ref().map_or(budgets.idle, |desk| budgets.with(desk));
                let config = RunConfig {
                    record: options.record,
                    keep_secrets: options.keep_secrets,
                    seed: None,
                    store: store::Options { history, ..options.store },
                    schema: options.schema.clone(),
                    source: source.clone(),
                    limits_search: true,
                };
                let RunParts { redactor, catalog, analysis, recorder } = config.parts(copies.clock())?;
                // Headers are redacted in any case.
                let pipeline = Pipeline::new(move |name, value| redactor.metadata(name, value))
                    .with_max_unfinished((memory / UNFINISHED_DIVISOR).max(MIN_UNFINISHED_BYTES))
                    .with_max_streams(memory / STREAM_DIVISOR)
                    .with_rest(options.schema);
                let budget = (counted / DECODER_DIVISOR).max(least / DECODER_DIVISOR);
                let spool = spool.and_then(|(folder, size)| open_spool(&folder, size));
                let decoding = Decoding { pipeline, catalog, recorder, budget, spool };
                Some(Live::start(copies, analysis, decoding, sink).map_err(StartError::Thread)?)
            }
        };
        Ok(Running {
            tap,
            shared: live.as_ref().map(|live| live.shared.clone()),
            recording: live.as_ref().and_then(|live| live.recording.clone()),
            live,
            drain,
            is_relay,
            backend,
            desk,
            budgets,
            listening,
            source,
        })
    }

    /// Returns the sources of the tap's figures; `None` for a control plane, or with `--no-decode`.
    pub fn meter(&self) -> Option<TapMeter> {
        let (true, Some(copies), Some(live)) = (self.is_relay, self.tap.copies.clone(), &self.live) else {
            return None;
        };
        Some(TapMeter { counters: self.tap.counters.clone(), copies, journal: live.analysis.journal.clone() })
    }

    /// Returns the sources of the figures of the run.
    pub fn monitored(&self) -> MonitoredRun {
        MonitoredRun {
            shared: self.shared.clone(),
            tap: (self.is_relay && self.tap.copies.is_some()).then(|| self.tap.counters.clone()),
            spool: self.live.as_ref().and_then(|live| live.analysis.journal.spool()),
            recording: self.recording.clone(),
            is_forwarding: Arc::new(self.tap.is_running()),
        }
    }

    /// Returns the memory that facts may take.
    pub fn budgets(&self) -> Budgets {
        self.budgets
    }

    /// Returns what stops the tap and has the recorder complete the session file at once, for a
    /// run that hangs elsewhere.
    pub fn finisher(&self) -> impl FnOnce() + Send + 'static {
        let (stop, deadline) = (self.tap.stopper(), self.live.as_ref().map(|live| live.deadline.clone()));
        move || {
            if let Some(deadline) = deadline {
                // A run that does not hang has set a deadline.
                let _ = deadline.set(Instant::now());
            }
            stop();
        }
    }

    /// Stops the tap and completes the session file, within [`CopyLimits::drain`]. Returns its path
    /// and size.
    pub fn stop(self) -> Option<(PathBuf, u64)> {
        // A busy machine needs the rest of the time to end the threads.
        let deadline = Instant::now() + self.drain / 5 * 4;
        drop(self.tap);
        drop(self.backend);
        self.live?.stop(deadline).kept()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_leave_memory_for_everything_else() {
        let mb = |memory: usize, copies: usize| counted_bytes(memory << 20, copies << 20) >> 20;
        assert_eq!(mb(128, 16), 29);
        assert_eq!(mb(512, 64), 196);
        assert_eq!(mb(64, 16), 8);
        assert_eq!(mb(16, 16), 0, "recorder and analysis have a least part in any case");
    }
}
