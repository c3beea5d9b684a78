//! A tap with everything behind it: relay, analysis, session file.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::content::{Catalog, MemoryBodies, Redact};
use crate::net::tap::{Address, Config, ListenError, QUEUE, Tap, Tls};
use crate::observe::Pipeline;
use crate::record::Header;
use crate::schema::Schema;
use crate::schema::redact::Redactor;
use crate::session::Meaning;
use crate::store::{self, Store};

use super::live::{Live, Shared, Sink};
use super::recorder::Recorder;
use super::watched::{Watched, bounded};

/// What to tap and how to keep it.
pub struct Options {
    /// Listen and upstream addresses.
    pub maps: Vec<(Address, Address)>,
    /// Forward and count only.
    pub decode: bool,
    /// The session file; `None` with `--no-record`.
    pub record: Option<(PathBuf, File)>,
    pub keep_secrets: bool,
    pub store: store::Options,
    pub connect_timeout: Duration,
    pub tls: Tls,
    pub schema: Arc<Schema>,
    /// The first word of what the run says of itself: `tap` in `tap 127.0.0.1:18001 → cp.mesh:15010`.
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

/// A tap at work.
pub struct Running {
    pub tap: Tap,
    /// `None` with `--no-decode`.
    pub shared: Option<Arc<Shared>>,
    live: Option<Live>,
    pub recording: Option<PathBuf>,
    /// What it says of itself: `tap 127.0.0.1:18001 → cp.mesh:15010`.
    pub source: String,
}

impl Running {
    pub fn start(options: Options, sink: Option<Sink>) -> Result<Running, StartError> {
        let queue = options.decode.then_some(QUEUE);
        let upstreams: Vec<Address> = options.maps.iter().map(|(_, upstream)| upstream.clone()).collect();
        let (maps, connect_timeout, tls) = (options.maps, options.connect_timeout, options.tls);
        let tap = Tap::start(Config { maps, queue, connect_timeout, tls })?;
        let pairs: Vec<String> = tap
            .listening
            .iter()
            .zip(&upstreams)
            .map(|(listen, upstream)| format!("{listen} → {upstream}"))
            .collect();
        let source = format!("{} {}", options.verb, pairs.join(", "));
        let Some(copies) = tap.copies.clone() else {
            return Ok(Running { tap, shared: None, live: None, recording: None, source });
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
        let store = Watched::new(store, rules);
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
        Ok(Running { tap, shared: Some(live.shared.clone()), live: Some(live), recording, source })
    }

    /// Stops the tap and completes the session file; its path and size.
    pub fn stop(self) -> Option<(PathBuf, u64)> {
        drop(self.tap);
        let shared = self.live?.join();
        Some((self.recording?, shared.recorded()))
    }
}

/// What the schema knows of contents: whether pushes whose bytes differ are the same, and whether a client can take them.
pub fn meaning(schema: Arc<Schema>) -> Meaning {
    schema
}
