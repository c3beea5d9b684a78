//! Metrics, probes, viewers, and messages to a service manager: what tells others about a run.

use std::path::PathBuf;
use std::sync::Arc;

use xdscope_present::text::shell_word;

use crate::app::attach::SharedSession;
use crate::app::live_state::LiveState;
use crate::app::monitor::{Monitor, MonitoredRun};
use crate::app::process::notify::ServiceManager;
use crate::cli::args::{LiveFlags, ServiceFlags};
use crate::cli::error::{CliError, Exit};
use crate::cli::peer::connect;
use crate::cli::terminal::io::Io;
use crate::net::attach::AttachAccess;
use crate::net::token::Token;
use crate::net::transport::Address;

/// An address for `--metrics`.
const EXAMPLE: &str = "--metrics 127.0.0.1:9909";

/// A run as others see it.
pub(super) struct Service {
    monitor: Option<Monitor>,
    session: Option<SharedSession>,
    manager: ServiceManager,
    is_forwarding: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Service {
    /// Listens for scrapes, probes and viewers, before the run starts.
    ///
    /// # Errors
    /// `--metrics` or `--attach` is no address, cannot be listened on, or lacks what viewers show.
    pub(super) fn start(flags: &LiveFlags, io: &mut Io<'_>) -> Result<Service, CliError> {
        let manager = ServiceManager::of_env(&io.env, std::process::id());
        let mut service = Service { monitor: None, session: None, manager, is_forwarding: Arc::new(|| true) };
        if let Some((address, access)) = viewers(flags)? {
            let session = SharedSession::start(address, access).map_err(|error| {
                CliError::new(Exit::Connection, format!("--attach: {error}"))
                    .because(error)
                    .next("--attach with another port or path; port 0 takes a free one")
            })?;
            service.session = Some(session);
        }
        let Some(address) = address(&flags.service)? else { return Ok(service) };
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
        if let Some(session) = &self.session {
            if !is_quiet {
                let address = session.address();
                io.say(&format!("viewers: xdscope attach {}", shell_word(&address)));
            }
            session.set_run(run.shared.clone(), run.recording.clone());
        }
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
        recording: Option<&PathBuf>,
        source: &str,
        is_quiet: bool,
        io: &mut Io<'_>,
    ) {
        let run = MonitoredRun::of_reader(shared.clone(), recording.cloned());
        self.begin(run, source, is_quiet, io);
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
    /// The run has ended, and its session file is complete: viewers get its end.
    fn drop(&mut self) {
        self.stop();
        if let Some(session) = &self.session {
            session.finish();
        }
    }
}

/// The address of `--metrics`.
pub(super) fn address(flags: &ServiceFlags) -> Result<Option<Address>, CliError> {
    let Some(text) = &flags.metrics else { return Ok(None) };
    match Address::listen(text) {
        Ok(address) => Ok(Some(address)),
        Err(error) => Err(CliError::usage(format!("--metrics: {error}")).next(EXAMPLE)),
    }
}

/// The address of `--attach`, and who may read the session there.
pub(super) fn viewers(flags: &LiveFlags) -> Result<Option<(Address, AttachAccess)>, CliError> {
    let service = &flags.service;
    let Some(text) = &service.attach else { return Ok(None) };
    let wrong = |why: String| CliError::usage(format!("--attach: {why}"));
    let address = Address::listen(text)
        .map_err(|error| wrong(error.to_string()).next("--attach unix:/run/xdscope.sock"))?;
    if flags.no_record {
        return Err(CliError::usage("--attach shows the session file, and --no-record keeps none")
            .next("--record FILE"));
    }
    let is_socket = matches!(address, Address::Unix(_));
    if !is_socket && flags.keep_secrets {
        return Err(wrong("with --keep-secrets the session has secrets".to_owned())
            .next("--attach unix:/path: only this user can connect to it"));
    }
    if !is_socket && service.attach_token_file.is_none() && service.attach_client_ca.is_none() {
        return Err(wrong(format!("everyone who can connect to {address} could read the session"))
            .next("--attach-token-file FILE")
            .next("--attach unix:/path: only this user can connect to it"));
    }
    if !address.is_local() && service.attach_cert.is_none() {
        return Err(wrong(format!("without TLS, others on the way to {address} can read the token"))
            .next("--attach-cert FILE --attach-key FILE"));
    }
    let token = service.attach_token_file.clone().map(Token::File);
    if let Some(Err(error)) = token.as_ref().map(Token::header) {
        return Err(CliError::unreadable(format!("--attach-token-file: {error}")));
    }
    Ok(Some((address, AttachAccess { tls: connect::for_viewers(service)?, token })))
}
