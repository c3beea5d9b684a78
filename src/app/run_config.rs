//! The store, rules, session file and clock of a run without a tap.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use xdscope_engine::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_schema::redact::Redactor;
use xdscope_sources::record::Header;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact};
use xdscope_wire::event::{Clock, Time};

use super::live::{LiveSink, Sink};
use super::tap::{StartError, meaning};
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
    pub keep: LiveSink,
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
        let catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let epoch = since.ok().and_then(|since| i128::try_from(since.as_nanos()).ok());
        let (clock, start) = (Clock { epoch, untimed: false }, Instant::now());
        let mut store = Store::new(catalog, clock, self.store);
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
        Ok(StartedRun { keep: LiveSink::new(store, recorder, sink), recording, clock, start, redactor })
    }
}

/// Returns the time since the start of the run.
pub(super) fn since(start: Instant) -> Time {
    Time(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
