//! The session file of a live run.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::recording_file;
use crate::sources::record::{Header, Writer};
use crate::wire::Frame;
use crate::wire::content::{Catalog, UsedContent};
use crate::wire::event::Time;

/// How often new frames reach the file: `kill -9` loses no more than this.
const FLUSH_INTERVAL: Duration = Duration::from_millis(100);

/// A recording that a write error stopped.
#[derive(Debug, thiserror::Error)]
#[error("recording to {} stopped: {source}", .path.display())]
pub struct RecordingStopped {
    path: PathBuf,
    source: io::Error,
}

/// Writes frames to the session file. A write error ends the recording, not the run.
pub struct Recorder {
    path: PathBuf,
    writer: Writer,
    flushed: Instant,
    dirty: bool,
    error: Option<RecordingStopped>,
}

impl Recorder {
    /// Begins a recording in an empty file.
    pub fn new(path: PathBuf, file: File, header: Header) -> io::Result<Recorder> {
        let writer = recording_file::writer(file, header)?;
        Ok(Recorder { path, writer, flushed: Instant::now(), dirty: true, error: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&mut self, frame: &Frame, catalog: &Catalog) {
        if self.error.is_none() {
            let result = self.writer.write(frame, catalog);
            self.note(result);
            self.dirty = true;
        }
    }

    /// Marks the contents of the newest responses as used.
    pub fn mark(&self, used: &mut UsedContent) {
        self.writer.mark(used);
    }

    /// Forgets contents that the catalog has dropped.
    pub fn forget(&mut self, used: &UsedContent) {
        self.writer.forget(used);
    }

    /// Writes new frames to the file, if it is time.
    pub fn flush(&mut self, now: Time) {
        self.writer.advance(now);
        if self.error.is_none() && self.dirty && self.flushed.elapsed() >= FLUSH_INTERVAL {
            let result = self.writer.flush();
            self.note(result);
            self.flushed = Instant::now();
            self.dirty = false;
        }
    }

    /// Returns when [`flush`](Recorder::flush) has something to do; `None`: not before the next
    /// frame.
    pub fn due(&self) -> Option<Duration> {
        (self.dirty && self.error.is_none()).then(|| FLUSH_INTERVAL.saturating_sub(self.flushed.elapsed()))
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(source) = result {
            self.error = Some(RecordingStopped { path: self.path.clone(), source });
        }
    }

    pub fn bytes(&self) -> u64 {
        self.writer.bytes_written()
    }

    pub fn error(&self) -> Option<&RecordingStopped> {
        self.error.as_ref()
    }

    /// Completes the file. Returns its size.
    ///
    /// # Errors
    /// The file is not complete.
    pub fn finish(self) -> Result<u64, RecordingStopped> {
        let Recorder { path, writer, .. } = self;
        let size = writer.finish().and_then(|()| std::fs::metadata(&path)).map(|file| file.len());
        size.map_err(|source| RecordingStopped { path, source })
    }
}
