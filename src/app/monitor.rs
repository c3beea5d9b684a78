//! The figures and the health of a live run, for `--metrics`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use crate::net::lock;
use crate::net::monitor::{MonitorServer, Monitored};
use crate::net::tap::{Counters, ListenError};
use crate::net::transport::Address;
use xdscope_present::metrics::{self, ExpositionFormat, RunFigures, ShownCounters};

use super::live_state::LiveState;
use super::recording::spool::Spool;

/// Figures are read again once they are this many times as old as reading them took: the analysis
/// waits for a scrape for at most a tenth of the time, however many scrapes there are.
const AGE_FACTOR: u32 = 9;

/// A run whose figures are served.
pub struct MonitoredRun {
    /// `None`: nothing is analysed.
    pub shared: Option<Arc<LiveState>>,
    /// The counters of a tap that copies traffic.
    pub tap: Option<Arc<Counters>>,
    pub(super) spool: Option<Arc<Spool>>,
    /// The first session file; `None`: the run is not recorded.
    pub recording: Option<PathBuf>,
    /// Whether the thread that accepts and forwards is running.
    pub is_forwarding: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The server of a run's figures. It listens before the run starts, and ends when it is dropped.
pub struct Monitor {
    state: Arc<MonitorState>,
    server: MonitorServer,
}

#[derive(Default)]
struct MonitorState {
    run: OnceLock<MonitoredRun>,
    is_stopping: AtomicBool,
    scrape: Mutex<Scrape>,
}

/// The figures of the newest scrape.
#[derive(Default)]
struct Scrape {
    figures: RunFigures,
    /// Time at which the figures get too old.
    next: Option<Instant>,
    shown: ShownCounters,
}

impl Monitor {
    /// Serves the figures of a run that is about to start.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn start(listen: Address) -> Result<Monitor, ListenError> {
        let state = Arc::new(MonitorState::default());
        let server = MonitorServer::start(listen, state.clone())?;
        Ok(Monitor { state, server })
    }

    /// Returns the address of the metrics, with its port.
    pub fn url(&self) -> String {
        match self.server.address() {
            Some(Address::Unix(path)) => format!("unix:{} (path /metrics)", path.display()),
            Some(address) => format!("http://{address}/metrics"),
            None => String::new(),
        }
    }

    /// Says that the run has started.
    pub fn set_run(&self, run: MonitoredRun) {
        if let Some(shared) = &run.shared {
            // Messages are counted from the first figures on.
            drop(shared.store().figures());
        }
        // A monitor has one run.
        let _ = self.state.run.set(run);
    }

    /// Says that the run ends: no new connections are to come.
    pub fn stop(&self) {
        self.state.is_stopping.store(true, Ordering::Relaxed);
    }
}

impl MonitorState {
    fn scrape(&self) -> MutexGuard<'_, Scrape> {
        lock(&self.scrape)
    }
}

impl MonitoredRun {
    /// Returns a run that forwards nothing: a client, or files that are read as they change.
    pub fn of_reader(shared: Arc<LiveState>, recording: Option<PathBuf>) -> MonitoredRun {
        let shared = Some(shared);
        MonitoredRun { shared, tap: None, spool: None, recording, is_forwarding: Arc::new(|| true) }
    }

    /// Reads the figures. The analysis waits meanwhile; traffic goes on.
    fn figures(&self) -> RunFigures {
        RunFigures {
            version: env!("CARGO_PKG_VERSION"),
            protocol: self.shared.as_ref().map(|shared| shared.store().figures()),
            added_delay: self.tap.as_ref().map(|tap| tap.added_delay.histogram()),
            spool: self.spool.as_ref().map(|spool| spool.used()),
            recording: match &self.shared {
                Some(shared) if self.recording.is_some() => Some(shared.recorded()),
                _ => None,
            },
        }
    }
}

impl Monitored for MonitorState {
    fn metrics(&self, format: ExpositionFormat) -> String {
        let mut scrape = self.scrape();
        let begun = Instant::now();
        if scrape.next.is_none_or(|next| begun >= next) {
            scrape.figures = match self.run.get() {
                Some(run) => run.figures(),
                None => RunFigures { version: env!("CARGO_PKG_VERSION"), ..RunFigures::default() },
            };
            let took: Duration = begun.elapsed();
            scrape.next = Some(Instant::now() + took * AGE_FACTOR);
        }
        let Scrape { figures, shown, .. } = &mut *scrape;
        metrics::write(figures, format, shown)
    }

    fn live(&self) -> Result<(), &'static str> {
        match self.run.get() {
            Some(run) if !(run.is_forwarding)() && !self.is_stopping.load(Ordering::Relaxed) => {
                Err("connections are not forwarded any more")
            }
            _ => Ok(()),
        }
    }

    fn ready(&self) -> Result<(), &'static str> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err("the run is ending");
        }
        if self.run.get().is_none() {
            return Err("the run is starting");
        }
        self.live()
    }
}

#[cfg(test)]
mod tests;
