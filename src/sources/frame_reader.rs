//! Sources that are read piece by piece, so that they need not fit into memory.

use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;

use crate::SchemaCodec;
use crate::open::{self, SourceError, SourceFormat, Spec};
use crate::pcap::{self, CaptureReader};
use crate::record::raw::{self, LineReader};
use crate::record::{RecordReadError, RecordingReader};
use xdscope_schema::Schema;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Clock, Time};

/// A source that is read in order, some frames at a time.
pub trait FrameReader {
    /// Returns the meaning of the times.
    fn clock(&self) -> Clock;
    /// Appends the next frames to `out`, and their content to the catalog that came with the
    /// reader. Returns false at the end of the source.
    ///
    /// # Errors
    /// The source can't be read.
    fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, SourceError>;
    /// Marks the contents as used to which the reader refers.
    fn mark(&mut self, used: &mut UsedContent);
    /// Forgets contents that the catalog has dropped.
    fn forget(&mut self, _used: &UsedContent) {}
    /// Returns how many bytes are read.
    fn position(&self) -> u64;
    /// Whether the source was recorded with `--keep-secrets`.
    fn has_secrets(&self) -> bool {
        false
    }
    /// Returns the time at which the source ends, and messages to the user about damage.
    fn finish(self: Box<Self>) -> (Time, Vec<String>);
}

/// A source at its first frame.
pub struct StartedSource<'a> {
    /// The catalog that the frames refer to.
    pub catalog: Catalog,
    /// The recognised format.
    pub format: SourceFormat,
    /// The frames.
    pub frames: Box<dyn FrameReader + 'a>,
}

/// Starts reading a recording, raw JSONL or a capture. Returns `None` for other formats, and for
/// what is not a file or a folder with recordings.
///
/// # Errors
/// The file can't be read, or its header is damaged.
pub fn start<'a>(spec: &Spec, codec: &'a SchemaCodec) -> Result<Option<StartedSource<'a>>, SourceError> {
    let name = spec.name.clone();
    if !spec.path.is_file() && !spec.path.is_dir() && open::first_of_session(&spec.path).is_none() {
        return Ok(None);
    }
    let started = open::start_recording(&spec.path).map_err(|error| SourceError::recording(&name, error))?;
    if let Some((catalog, reading)) = started {
        let frames = Box::new(NamedRecording { spec: spec.clone(), reading });
        return Ok(Some(StartedSource { catalog, format: SourceFormat::Recording, frames }));
    }
    if let Some(capture) = open::capture_file(&spec.path) {
        let (file, position) = capture.into_parts();
        let started = pcap::start(file, &spec.capture_options(&codec.0));
        let (catalog, reading) =
            started.map_err(|source| SourceError::Capture { name: name.clone(), source })?;
        let frames = Box::new(NamedCapture { name, reading, position });
        return Ok(Some(StartedSource { catalog, format: SourceFormat::Capture, frames }));
    }
    let Some(file) = open::raw_file(&spec.path) else { return Ok(None) };
    let started = raw::start(file, &spec.raw_options(codec));
    let (catalog, reading) = started.map_err(|source| SourceError::Io { name: name.clone(), source })?;
    let frames = Box::new(NamedLines { name, reading });
    Ok(Some(StartedSource { catalog, format: SourceFormat::Raw, frames }))
}

/// Starts reading the files of one session, in order.
///
/// # Errors
/// The first file can't be read, or is not a recording.
pub fn start_session(files: &[PathBuf]) -> Result<StartedSource<'static>, SourceError> {
    let spec = Spec::new(files.first().cloned().unwrap_or_default());
    let failed = |error| SourceError::recording(&spec.name, error);
    let started = open::start_session(files.iter().cloned().collect()).map_err(failed)?;
    let (catalog, reading) = started.ok_or_else(|| failed(RecordReadError::Unknown))?;
    let frames = Box::new(NamedRecording { spec, reading });
    Ok(StartedSource { catalog, format: SourceFormat::Recording, frames })
}

/// Whether [`start`] reads a source.
pub(super) fn can_start(spec: &Spec, schema: &Arc<Schema>) -> Result<bool, SourceError> {
    Ok(start(spec, &SchemaCodec(schema.clone()))?.is_some())
}

struct NamedRecording<R> {
    spec: Spec,
    reading: RecordingReader<R>,
}

impl<R: Read> FrameReader for NamedRecording<R> {
    fn clock(&self) -> Clock {
        self.reading.clock()
    }

    fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, SourceError> {
        let failed = |error: RecordReadError| SourceError::recording(&self.spec.name, error);
        self.reading.next(catalog, out).map_err(failed)
    }

    fn mark(&mut self, used: &mut UsedContent) {
        self.reading.mark(used);
    }

    fn forget(&mut self, used: &UsedContent) {
        self.reading.forget(used);
    }

    fn position(&self) -> u64 {
        self.reading.position()
    }

    fn has_secrets(&self) -> bool {
        self.reading.has_secrets()
    }

    fn finish(self: Box<Self>) -> (Time, Vec<String>) {
        let clock = self.reading.clock();
        let (last, notices) = self.reading.finish();
        (self.spec.end(clock, last), notices)
    }
}

struct NamedCapture<R, P> {
    name: String,
    reading: CaptureReader<R>,
    position: P,
}

impl<R: Read, P: Fn() -> u64> FrameReader for NamedCapture<R, P> {
    fn clock(&self) -> Clock {
        self.reading.clock()
    }

    fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, SourceError> {
        let failed =
            |source: std::io::Error| SourceError::Capture { name: self.name.clone(), source: source.into() };
        self.reading.next(catalog, out).map_err(failed)
    }

    fn mark(&mut self, used: &mut UsedContent) {
        self.reading.mark(used);
    }

    fn position(&self) -> u64 {
        (self.position)()
    }

    fn finish(self: Box<Self>) -> (Time, Vec<String>) {
        self.reading.finish()
    }
}

struct NamedLines<'a, R> {
    name: String,
    reading: LineReader<'a, R>,
}

impl<R: BufRead> FrameReader for NamedLines<'_, R> {
    fn clock(&self) -> Clock {
        self.reading.clock()
    }

    fn next(&mut self, catalog: &mut Catalog, out: &mut Vec<Frame>) -> Result<bool, SourceError> {
        let failed = |source| SourceError::Io { name: self.name.clone(), source };
        self.reading.next(catalog, out).map_err(failed)
    }

    fn mark(&mut self, used: &mut UsedContent) {
        self.reading.mark(used);
    }

    fn position(&self) -> u64 {
        self.reading.position()
    }

    fn finish(self: Box<Self>) -> (Time, Vec<String>) {
        self.reading.finish()
    }
}
