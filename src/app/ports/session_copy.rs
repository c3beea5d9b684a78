//! A recording of what the dumps of a port have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{PortError, PortOptions};
use crate::app::live_copy::CopyFolder;
use crate::app::recording::recording_file;
use crate::net::clock::RunClock;
use xdscope_engine::applied::DumpFollower;
use xdscope_schema::redact::Redactor;
use xdscope_sources::peers::admin::PortFault;
use xdscope_sources::record::{Header, Writer};
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, MemoryBodies, Redact, UsedContent};

/// The recording, as those of other runs are named.
const FILE: &str = "00001.xdsrec";

/// Writes the changes of dumps to a recording.
pub(super) struct SessionCopy {
    path: PathBuf,
    writer: Writer,
    catalog: Catalog,
    follower: DumpFollower,
    clock: RunClock,
    options: PortOptions,
}

impl SessionCopy {
    pub(super) fn create(folder: &CopyFolder, options: PortOptions) -> Result<SessionCopy, PortError> {
        let path = folder.path().join(FILE);
        let file = recording_file::create(&path)?;
        let seed = getrandom::u64().map_err(|error| std::io::Error::other(error.to_string()))?;
        let redactor: Arc<dyn Redact> = Arc::new(Redactor::new(options.schema.clone(), seed));
        let redact = (!options.keep_secrets).then_some(redactor);
        let catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
        let clock = RunClock::start();
        let header = Header {
            created: clock.meaning().epoch.and_then(|epoch| u64::try_from(epoch).ok()).unwrap_or(0),
            seed,
            keep_secrets: options.keep_secrets,
            tool: concat!("xdscope ", env!("CARGO_PKG_VERSION")).into(),
            source: options.name.clone(),
            clock: clock.meaning(),
        };
        let writer = Writer::in_file(file, header)?;
        Ok(SessionCopy { path, writer, catalog, follower: DumpFollower::default(), clock, options })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what a dump changes.
    pub(super) fn write(&mut self, dump: &[u8]) -> Result<(), PortError> {
        let name = self.options.name.clone();
        let Some(dump) = xdscope_sources::read_dump(&name, dump, &self.options.schema)? else {
            let what = "the answer is not a config dump".to_owned();
            return Err(PortFault { what, is_other_service: true }.into());
        };
        let frames = self.follower.follow(dump, &name, self.clock.now(), &mut self.catalog);
        self.record(&frames)
    }

    /// Ends the streams: the port cannot be read.
    pub(super) fn lose(&mut self, why: &str) {
        let frames = self.follower.end(self.clock.now(), why);
        if let Err(error) = self.record(&frames) {
            tracing::warn!("cannot write the copy: {error}");
        }
    }

    fn record(&mut self, frames: &[Frame]) -> Result<(), PortError> {
        for frame in frames {
            self.writer.write(frame, &self.catalog)?;
        }
        self.writer.advance(self.clock.now());
        self.writer.flush()?;
        if self.catalog.memory() > self.options.memory {
            let mut used = UsedContent::default();
            self.writer.mark(&mut used);
            let used = self.catalog.retain(used);
            self.writer.forget(&used);
        }
        Ok(())
    }
}
