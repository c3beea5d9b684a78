//! The session file of a live run.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::content::Catalog;
use crate::record::{Header, Writer, create};
use crate::wire::Frame;

/// What is new reaches the file at least this often; `kill -9` loses no more than that.
const FLUSH: Duration = Duration::from_millis(100);

/// Writes frames to the session file. A write that fails ends the recording, never the run.
pub struct Recorder {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
    flushed: Instant,
    dirty: bool,
    error: Option<String>,
}

impl Recorder {
    /// Creates the file, readable by its owner only.
    pub fn create(path: &Path, header: &Header) -> io::Result<Recorder> {
        let file = BufWriter::new(create(path)?);
        let writer = Writer::new(file, header)?;
        Ok(Recorder { path: path.to_owned(), writer, flushed: Instant::now(), dirty: true, error: None })
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

    /// Brings to the file what is new, if it is time.
    pub fn flush(&mut self) {
        if self.error.is_none() && self.dirty && self.flushed.elapsed() >= FLUSH {
            let result = self.writer.flush();
            self.note(result);
            self.flushed = Instant::now();
            self.dirty = false;
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error = Some(format!("recording to {} stopped: {error}", self.path.display()));
        }
    }

    pub fn bytes(&self) -> u64 {
        self.writer.bytes_written()
    }

    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Completes the file; its size.
    pub fn finish(mut self) -> u64 {
        let result = self.writer.finish();
        self.note(result);
        if let Some(error) = &self.error {
            tracing::error!("{error}");
        }
        self.writer.bytes_written()
    }
}
