//! Folding of a source while it is read, so that recordings and captures need not fit into memory.

use std::path::Path;
use std::sync::Arc;

use crate::engine::store::Store;
use crate::schema::Schema;
use crate::sources::evidence::Evidence;
use crate::sources::open::{self, Source, SourceError, SourceFormat, Spec};
use crate::sources::pcap::{self, CaptureError};
use crate::sources::record::{self, Loaded};
use crate::wire::Frame;
use crate::wire::content::{Catalog, UsedContent};
use crate::wire::event::{Clock, Time, TypeUrl};

/// A receiver of frames, in recorded order.
pub trait FrameSink {
    /// The catalog that holds the content of the frames.
    fn catalog_mut(&mut self) -> &mut Catalog;
    /// Takes the next frame.
    fn handle(&mut self, frame: Frame);
    /// Moves the clock on to `now`, without a frame.
    fn advance(&mut self, now: Time);
    /// Drops old facts if all of them take too much memory, and returns the contents that are still
    /// in use. `mark` marks those in use outside of the receiver.
    fn drop_old(&mut self, _mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        None
    }
    /// Whether the rest of the source need not be read.
    fn is_done(&self) -> bool {
        false
    }
}

impl FrameSink for Store {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.catalog_mut()
    }
    fn handle(&mut self, frame: Frame) {
        self.handle(frame);
    }
    fn advance(&mut self, now: Time) {
        self.advance(now);
    }
    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.is_over_budget().then(|| self.drop_old_facts(mark))
    }
}

/// A receiver of the position in a file while [`fold`] reads it.
pub trait ReadProgress {
    /// Called once, with the size of the file in bytes; 0 if there is none.
    fn start(&mut self, size: u64);
    /// Called often; `position` computes the number of bytes read.
    fn update(&mut self, position: &dyn Fn() -> u64);
}

/// A source at its end.
pub struct Folded<T> {
    /// The result of the fold.
    pub facts: T,
    /// The descriptors that the source was read with.
    pub schema: Arc<Schema>,
    /// Types, or single names of a type, that a live server did not answer; empty for offline
    /// sources.
    pub unanswered: Vec<(TypeUrl, Option<String>)>,
    /// Damage, a truncated tail, lines skipped: one sentence each.
    pub notices: Vec<String>,
    /// Whether the source was recorded with `--keep-secrets`.
    pub has_secrets: bool,
    /// Name for messages, as the user typed it.
    pub name: String,
    /// The recognised format.
    pub format: SourceFormat,
    /// Size of the file in bytes; `None` for folders, pipes and servers.
    pub size: Option<u64>,
    evidence: Evidence,
}

impl<T> Folded<T> {
    /// Refuses a source that holds nothing of xDS.
    ///
    /// # Errors
    /// [`SourceError::Empty`] for an empty file, or a session of other protocols only.
    pub fn check_content(&self) -> Result<(), SourceError> {
        self.evidence.check(&self.name, self.format)
    }

    /// Converts the result.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Folded<U> {
        let Folded { facts, schema, unanswered, notices, has_secrets, name, format, size, evidence } = self;
        let facts = convert(facts);
        Folded { facts, schema, unanswered, notices, has_secrets, name, format, size, evidence }
    }

    /// Passes the result on if the source has messages.
    ///
    /// # Errors
    /// [`SourceError::NoMessages`] for the dump of a client, which lists applied resources only.
    pub fn with_messages(self) -> Result<Folded<T>, SourceError> {
        self.format.check_messages(&self.name)?;
        Ok(self)
    }
}

/// Folds a file or folder into what `begin` makes of its catalog and clock.
///
/// # Errors
/// As for [`open`](super::open).
pub fn fold<T: FrameSink>(
    spec: &Spec,
    schema: &Arc<Schema>,
    progress: &mut dyn ReadProgress,
    begin: impl FnOnce(Catalog, Clock) -> T,
) -> Result<Folded<T>, SourceError> {
    progress.start(open::size_of(&spec.path));
    if let Some(recording) = start_recording(&spec.path, &spec.name)? {
        return fold_recording(recording, spec, schema, progress, begin);
    }
    if let Some(capture) = open::capture_file(&spec.path) {
        return fold_capture(capture, spec, schema, progress, begin);
    }
    Ok(open::open(spec, schema)?.fold(begin))
}

/// Whether [`fold`] reads the source piece by piece.
pub(super) fn is_folded(spec: &Spec) -> Result<bool, SourceError> {
    Ok(start_recording(&spec.path, &spec.name)?.is_some() || open::capture_file(&spec.path).is_some())
}

impl Source {
    /// Folds a source that is in memory.
    pub fn fold<T: FrameSink>(self, begin: impl FnOnce(Catalog, Clock) -> T) -> Folded<T> {
        let Source { name, format, loaded, schema, unanswered, size } = self;
        let Loaded { catalog, clock, frames, end, notices, secrets } = loaded;
        let mut facts = begin(catalog, clock);
        let mut evidence = Evidence::default();
        for frame in frames {
            evidence.note(&frame);
            facts.handle(frame);
        }
        facts.advance(end);
        Folded { facts, schema, unanswered, notices, has_secrets: secrets, name, format, size, evidence }
    }
}

/// A recording at its first frame, with the catalog that its frames refer to.
struct StartedRecording<R> {
    catalog: Catalog,
    reading: record::RecordingReader<R>,
}

fn start_recording(
    path: &Path,
    name: &str,
) -> Result<Option<StartedRecording<impl std::io::Read>>, SourceError> {
    if !path.is_file() && !path.is_dir() {
        return Ok(None);
    }
    let started = open::start_recording(path).map_err(|source| SourceError::recording(name, source))?;
    Ok(started.map(|(catalog, reading)| StartedRecording { catalog, reading }))
}

fn fold_recording<T: FrameSink>(
    recording: StartedRecording<impl std::io::Read>,
    spec: &Spec,
    schema: &Arc<Schema>,
    progress: &mut dyn ReadProgress,
    begin: impl FnOnce(Catalog, Clock) -> T,
) -> Result<Folded<T>, SourceError> {
    let failed = |source| SourceError::recording(&spec.name, source);
    let StartedRecording { catalog, mut reading } = recording;
    let mut facts = begin(catalog, reading.clock());
    let (mut frames, mut evidence) = (Vec::new(), Evidence::default());
    while reading.next(facts.catalog_mut(), &mut frames).map_err(failed)? {
        for frame in frames.drain(..) {
            evidence.note(&frame);
            facts.handle(frame);
        }
        if let Some(used) = facts.drop_old(&mut |used| reading.mark(used)) {
            reading.forget(&used);
        }
        progress.update(&|| reading.position());
        if facts.is_done() {
            break;
        }
    }
    let has_secrets = reading.has_secrets();
    let (end, notices) = reading.finish();
    facts.advance(end);
    let folded = folded(facts, spec, schema, notices, (SourceFormat::Recording, evidence));
    Ok(Folded { has_secrets, ..folded })
}

fn fold_capture<T: FrameSink>(
    capture: open::CaptureFile,
    spec: &Spec,
    schema: &Arc<Schema>,
    progress: &mut dyn ReadProgress,
    begin: impl FnOnce(Catalog, Clock) -> T,
) -> Result<Folded<T>, SourceError> {
    let failed = |source: CaptureError| SourceError::Capture { name: spec.name.clone(), source };
    let (file, position) = capture.into_parts();
    let (catalog, mut reading) = pcap::start(file, &spec.capture_options(schema)).map_err(failed)?;
    let mut facts = begin(catalog, reading.clock());
    let (mut frames, mut evidence) = (Vec::new(), Evidence::default());
    while reading.next(facts.catalog_mut(), &mut frames).map_err(|error| failed(error.into()))? {
        for frame in frames.drain(..) {
            evidence.note(&frame);
            facts.handle(frame);
        }
        facts.drop_old(&mut |used| reading.mark(used));
        progress.update(&position);
        if facts.is_done() {
            break;
        }
    }
    let (end, notices) = reading.finish();
    facts.advance(end);
    Ok(folded(facts, spec, schema, notices, (SourceFormat::Capture, evidence)))
}

fn folded<T>(
    facts: T,
    spec: &Spec,
    schema: &Arc<Schema>,
    notices: Vec<String>,
    (format, evidence): (SourceFormat, Evidence),
) -> Folded<T> {
    let (name, schema) = (spec.name.clone(), schema.clone());
    let size = spec.path.is_file().then(|| open::size_of(&spec.path));
    let (unanswered, has_secrets) = (Vec::new(), false);
    Folded { facts, schema, unanswered, notices, has_secrets, name, format, size, evidence }
}
