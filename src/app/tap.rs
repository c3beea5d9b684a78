//! A running tap or control plane, with its analysis and session file.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::store::{self, Store};
use crate::engine::store::{SchemaSemantics, SharedSemantics};
use crate::net::serve;
use crate::net::tap::{Address, Config, CopyQueue, Counters, ListenError, MAX_QUEUED_BYTES, Tap, Tls};
use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::sources::observe::Pipeline;
use crate::sources::record::Header;
use crate::wire::content::{Catalog, MemoryBodies, Redact};
use crate::wire::h2::Changes;

use super::analysis::{Analysis, bounded};
use super::live::{Live, LiveState, Sink};
use super::recorder::Recorder;

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
    },
    /// A control plane on this address.
    Serve {
        listen: Address,
        /// The name of the served source.
        from: String,
        tls: Option<Arc<crate::net::tls::Server>>,
        control: serve::Control,
        say: serve::Say,
    },
}

impl Front {
    /// Returns the first server behind a tap.
    pub fn upstream(&self) -> Option<&Address> {
        match self {
            Front::Tap { maps, .. } => maps.first().map(|(_, upstream)| upstream),
            Front::Serve { .. } => None,
        }
    }

    /// Starts listening. Returns the tap, and a description of the server behind each listener.
    fn start(self, decode: bool, schema: &Arc<Schema>) -> Result<(Tap, Vec<String>), ListenError> {
        match self {
            Front::Tap { maps, connect_timeout, tls, changes } => {
                let queue = decode.then_some(MAX_QUEUED_BYTES);
                // Part of the title, so that screens, event lines and the recording name the
                // changed headers.
                let given = changes.as_ref().map(|changes| changes.names().join(", "));
                let given = given.map(|names| format!(" (gets {names} from here)")).unwrap_or_default();
                let behind = maps.iter().map(|(_, upstream)| format!(" → {upstream}{given}")).collect();
                Ok((Tap::start(Config { maps, queue, connect_timeout, tls, changes })?, behind))
            }
            Front::Serve { listen, from, tls, control, say } => {
                let queue = decode.then_some(serve::MAX_QUEUED_BYTES);
                let config =
                    serve::Config { listen: vec![listen], queue, tls, control, say, schema: schema.clone() };
                Ok((serve::start(config)?, vec![format!(" from {from}")]))
            }
        }
    }
}

/// The listening side of a run and its settings.
pub struct Options {
    pub front: Front,
    /// Decode messages; otherwise relay and count only.
    pub decode: bool,
    /// The path and the open session file; `None` with `--no-record`.
    pub record: Option<(PathBuf, File)>,
    pub keep_secrets: bool,
    pub store: store::Options,
    pub schema: Arc<Schema>,
    /// The first word of the title: `tap` in `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub verb: &'static str,
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

/// The sources of the figures of a running tap.
#[derive(Clone)]
pub struct TapMeter {
    counters: Arc<Counters>,
    copies: Arc<CopyQueue>,
}

impl TapMeter {
    /// Returns the median and the 99th percentile of the delay that the tap adds.
    pub fn added_delay(&self) -> Option<(Duration, Duration)> {
        self.counters.added_delay.percentiles()
    }

    /// Returns the bytes of traffic that are not analysed yet.
    pub fn backlog(&self) -> u64 {
        self.copies.backlog() as u64
    }
}

/// A running tap.
pub struct Running {
    pub tap: Tap,
    /// `None` with `--no-decode`.
    pub shared: Option<Arc<LiveState>>,
    live: Option<Live>,
    /// Whether traffic is relayed, not answered.
    is_relay: bool,
    pub recording: Option<PathBuf>,
    /// The listeners and the servers behind them: `127.0.0.1:18001 → cp.mesh:15010`.
    pub listening: Vec<String>,
    /// The title of the run: `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub source: String,
}

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let is_relay = matches!(options.front, Front::Tap { .. });
        let (tap, behind) = options.front.start(options.decode, &options.schema)?;
        let pairs = tap.listening.iter().zip(&behind);
        let listening: Vec<String> = pairs.map(|(listen, behind)| format!("{listen}{behind}")).collect();
        let source = format!("{} {}", options.verb, listening.join(", "));
        let Some(copies) = tap.copies.clone() else {
            return Ok(Running {
                tap,
                shared: None,
                live: None,
                is_relay,
                recording: None,
                listening,
                source,
            });
        };
        let seed =
            getrandom::u64().map_err(|error| StartError::Thread(io::Error::other(error.to_string())))?;
        let redact: Option<Arc<dyn Redact>> = (!options.keep_secrets)
            .then(|| Arc::new(Redactor::new(options.schema.clone(), seed)) as Arc<dyn Redact>);
        let catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
        let clock = copies.clock();
        let mut store = Store::new(catalog, clock, options.store);
        store.set_meaning(meaning(options.schema.clone()));
        let rules = bounded(&options.schema);
        let store = Analysis::new(store, rules);
        let recorder = match options.record {
            None => None,
            Some((path, file)) => {
                let header = Header {
                    created: clock.epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
                    seed,
                    keep_secrets: options.keep_secrets,
                    tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).into(),
                    source: source.clone(),
                    clock,
                };
                let recorder = Recorder::new(path.clone(), file, header);
                Some(recorder.map_err(|source| StartError::Record { path, source })?)
            }
        };
        let recording = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let pipeline = Pipeline::new(crate::schema::redact::metadata).with_rest(options.schema.clone());
        let live = Live::start(copies, store, pipeline, recorder, sink).map_err(StartError::Thread)?;
        let shared = Some(live.shared.clone());
        Ok(Running { tap, shared, live: Some(live), is_relay, recording, listening, source })
    }

    /// Returns the sources of the tap's figures; `None` for a control plane, or with `--no-decode`.
    pub fn meter(&self) -> Option<TapMeter> {
        let copies = self.tap.copies.clone().filter(|_| self.is_relay)?;
        Some(TapMeter { counters: self.tap.counters.clone(), copies })
    }

    /// Stops the tap and completes the session file. Returns its path and size.
    pub fn stop(self) -> Option<(PathBuf, u64)> {
        drop(self.tap);
        let shared = self.live?.join();
        Some((self.recording?, shared.recorded()))
    }
}

/// Returns the semantics of contents: which pushes are equal, and which a client can accept.
pub fn meaning(schema: Arc<Schema>) -> SharedSemantics {
    Arc::new(SchemaSemantics::new(schema))
}
