//! A running xDS client: its streams, its requests, the analysis and the session file.

mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::net::client::{DialError, Server, Streams};
use crate::net::clock::RunClock;
use crate::net::lock;
use xdscope_engine::filter::Filter;
use xdscope_engine::store;
use xdscope_schema::{FieldNames, Schema};
use xdscope_sources::peers::client;
use xdscope_sources::peers::client::{Client, Ruling};
use xdscope_sources::record::Loaded;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{Nonce, Time, TypeUrl};
use xdscope_wire::{Assembler, Frame};

use super::analysis_thread::{RunningAnalysis, Sink};
use super::live_state::LiveState;
use super::run_config::{RunConfig, StartError, StartedRun};
use crate::app::recording::recording_file::SessionFile;
use worker::{ClientSettings, ClientWorker, Polls};

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialSubscription {
    pub type_url: TypeUrl,
    pub wildcard: bool,
    pub names: Vec<String>,
}

/// The way in which responses are accepted or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Reject responses that every client must reject.
    Auto,
    /// Also reject responses that cannot be decoded or violate the constraints of their type.
    Validate,
    /// Hold each response until the user decides.
    Ask,
    /// Never answer.
    Never,
}

/// The identity, servers and settings of a client.
pub struct Options {
    pub server: Server,
    /// Servers of authorities, numbered from 1 as in [`client::Config::authorities`].
    pub others: Vec<Server>,
    pub client: client::Config,
    pub wants: Vec<InitialSubscription>,
    pub ack_policy: AckPolicy,
    /// Responses to reject whatever their contents, with the error message.
    pub refuse: Vec<(Filter, String)>,
    /// The timeout of a REST poll.
    pub poll_timeout: Duration,
    /// The spelling of field names in a poll.
    pub poll_names: FieldNames,
    /// The path and the open session file; `None`: no recording.
    pub record: Option<SessionFile>,
    /// Keep the frames for [`Running::into_loaded`].
    pub collect: bool,
    pub keep_secrets: bool,
    /// The key of content ids and redacted secrets; `None`: random.
    pub seed: Option<u64>,
    pub store: store::Options,
    pub schema: Arc<Schema>,
    /// The title of the run, such as `watch cp.mesh:15010`.
    pub source: String,
}

/// A change of the client's behaviour while it runs.
#[derive(Clone, Debug)]
pub enum Command {
    Subscribe {
        type_url: TypeUrl,
        names: Vec<String>,
    },
    Unsubscribe {
        type_url: TypeUrl,
        names: Vec<String>,
    },
    Wildcard {
        type_url: TypeUrl,
        wanted: bool,
    },
    /// Accept or reject a held response; `None`: the newest.
    Rule {
        type_url: TypeUrl,
        nonce: Option<Nonce>,
        ruling: Ruling,
    },
    /// Reject all further responses of a type with this text; `None`: no more.
    Refuse {
        type_url: TypeUrl,
        text: Option<String>,
    },
    /// Send a request as it is.
    Raw {
        type_url: TypeUrl,
        request: client::RawRequest,
    },
    Reconnect,
}

/// The progress of a client.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The subscriptions have been made.
    pub begun: bool,
    /// All streams are open.
    pub open: bool,
    /// The error of the newest attempt to connect.
    pub failed: Option<DialError>,
    /// The error with which the newest stream ended.
    pub ended: Option<String>,
    /// Types, or names of them, that were requested and not delivered.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
    /// Names that resources refer to and that are not requested, with the reason.
    pub unmapped: Vec<(String, client::Unrequested)>,
    /// A subscription that the client cannot make.
    pub refused: Option<client::Refused>,
    /// Attempts and streams so far.
    pub attempts: u32,
}

/// A running client. Dropping it ends its streams.
pub struct Running {
    pub shared: Arc<LiveState>,
    progress: Arc<Mutex<Progress>>,
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<(Vec<Frame>, Catalog)>>,
    analysis: RunningAnalysis,
    pub recording: Option<PathBuf>,
    clock: RunClock,
}

/// Commands that may wait to be handled.
const MAX_QUEUED_COMMANDS: usize = 64;

/// How long the client waits for the analysis of what it has received.
const ANALYSIS_TIME: Duration = Duration::from_secs(10);

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(StartError::Thread)?;
        let config = RunConfig {
            record: options.record,
            keep_secrets: options.keep_secrets,
            seed: options.seed,
            store: options.store,
            schema: options.schema.clone(),
            source: options.source,
            limits_search: false,
        };
        let StartedRun { frames, shared, analysis, recording, clock, redactor } = config.begin(sink)?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (commands, queue) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let servers: Vec<Server> = [options.server].into_iter().chain(options.others).collect();
        let (streams, events) = Streams::new(servers);
        let worker = ClientWorker {
            settings: ClientSettings {
                ack_policy: options.ack_policy,
                refuse: options.refuse,
                poll_timeout: options.poll_timeout,
                schema: options.schema.clone(),
            },
            clock,
            client: Client::new(options.client),
            streams,
            assembler: Assembler::default(),
            open: BTreeMap::new(),
            passing: BTreeMap::new(),
            refused_types: BTreeMap::new(),
            polls: Polls::new(options.schema, options.poll_names),
            out: Vec::new(),
            frames,
            collected: options.collect.then(Vec::new),
            changed: true,
            progress: progress.clone(),
            redactor,
            shared: shared.clone(),
        };
        let wants = options.wants;
        let thread = std::thread::Builder::new().name("client".into()).spawn(move || {
            let collected = runtime.block_on(worker.run(wants, queue, events));
            // Do not wait for a name that is still being resolved.
            runtime.shutdown_background();
            collected
        });
        let thread = Some(thread.map_err(StartError::Thread)?);
        let commands = Some(commands);
        Ok(Running { shared, progress, commands, thread, analysis, recording, clock })
    }

    /// Returns the progress, once the facts are as new, or after ten seconds. The caller must not
    /// hold the store.
    pub fn progress(&self) -> Progress {
        let progress = lock(&self.progress).clone();
        self.analysis.journal.wait_until_analysed(ANALYSIS_TIME);
        progress
    }

    /// Returns the subscription that the client could not make. Waits for nothing.
    pub fn refused(&self) -> Option<client::Refused> {
        lock(&self.progress).refused.clone()
    }

    /// Returns the time on the run's clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Sends a command. Returns false if the client is too busy or has ended.
    pub fn command(&self, command: Command) -> bool {
        lock(&self.progress).refused = None;
        self.commands.as_ref().is_some_and(|commands| commands.try_send(command).is_ok())
    }

    /// Ends the streams and completes the session file. Returns its path and size.
    pub fn stop(mut self) -> Option<(PathBuf, u64)> {
        self.join();
        self.shared.kept()
    }

    /// Ends the streams. Returns the collected frames, if [`Options::collect`] was set.
    pub fn into_loaded(mut self) -> Option<Loaded> {
        self.analysis.journal.abandon();
        let (frames, catalog) = self.join()?;
        Some(Loaded {
            catalog,
            clock: self.clock.meaning(),
            frames,
            end: self.now(),
            notices: Vec::new(),
            secrets: false,
        })
    }

    fn join(&mut self) -> Option<(Vec<Frame>, Catalog)> {
        self.commands = None;
        let joined = self.thread.take()?.join();
        self.analysis.join();
        if joined.is_err() {
            tracing::error!("the client's thread panicked; what it had recorded is kept");
        }
        joined.ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.join();
    }
}
