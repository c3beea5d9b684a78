//! Metrics, probes and messages to a service manager, which tell others about a run.

use std::sync::Arc;

use crate::app::live_state::LiveState;
use crate::app::monitor::{Monitor, MonitoredRun};
use crate::app::process::notify::ServiceManager;
use crate::cli::args::ServiceFlags;
use crate::cli::error::{CliError, Exit};
use crate::cli::terminal::io::Io;
use crate::net::transport::Address;

/// An address for `--metrics`.
const EXAMPLE: &str = "--metrics 127.0.0.1:9909";

/// A run as others see it.
pub(super) struct Service {
    monitor: Option<Monitor>,
    manager: ServiceManager,
    is_forwarding: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Service {
    /// Listens for scrapes and probes, before the run starts.
    ///
    /// # Errors
    /// `--metrics` is no address, or cannot be listened on.
    pub(super) fn start(flags: &ServiceFlags, io: &mut Io<'_>) -> Result<Service, CliError> {
        let manager = ServiceManager::of_env(&io.env, std::process::id());
        let mut service = Service { monitor: None, manager, is_forwarding: Arc::new(|| true) };
        let Some(text) = &flags.metrics else { return Ok(service) };
        let address: Address = Address::listen(text)
            .map_err(|error| CliError::usage(format!("--metrics: {error}")).next(EXAMPLE))?;
        if !address.is_local() {
            io.say(&format!("warning: everyone who can reach {address} can read the metrics of this run"));
        }
        let monitor = Monitor::start(address).map_err(|error| {
            CliError::new(Exit::Connection, format!("--metrics: {error}"))
                .because(error)
                .next("--metrics with another port; :0 takes a free one")
        })?;
        service.monitor = Some(monitor);
        Ok(service)
    }

    /// Says that the run has started.
    pub(super) fn begin(&mut self, run: MonitoredRun, source: &str, is_quiet: bool, io: &mut Io<'_>) {
        self.is_forwarding = run.is_forwarding.clone();
        if let Some(monitor) = &self.monitor {
            if !is_quiet {
                io.say(&format!("metrics on {}", monitor.url()));
            }
            monitor.set_run(run);
        }
        self.manager.ready(source);
    }

    /// Says that a run has started which forwards nothing.
    pub(super) fn begin_reader(
        &mut self,
        shared: &Arc<LiveState>,
        is_recorded: bool,
        source: &str,
        is_quiet: bool,
        io: &mut Io<'_>,
    ) {
        self.begin(MonitoredRun::of_reader(shared.clone(), is_recorded), source, is_quiet, io);
    }

    /// Tells the service manager from time to time that the run works. Call several times a second.
    pub(super) fn ping(&mut self) {
        let is_forwarding = &self.is_forwarding;
        self.manager.ping(|| is_forwarding());
    }

    /// Says that the run ends, before the end of what is forwarded.
    pub(super) fn stop(&self) {
        if let Some(monitor) = &self.monitor {
            monitor.stop();
        }
        self.manager.stopping();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}
