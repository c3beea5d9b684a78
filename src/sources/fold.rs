//! Folding of a source while it is read, so that recordings and captures need not fit into memory.

use std::sync::Arc;

use crate::evidence::Evidence;
use crate::frame_reader::{StartedSource, start};
use crate::open::{self, Source, SourceError, SourceFormat, Spec};
use crate::record::Loaded;
use crate::schema_codec::SchemaCodec;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::{Clock, Time, TypeUrl};

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

impl FrameSink for Analysis {
    fn catalog_mut(&mut self) -> &mut Catalog {
        Store::catalog_mut(self)
    }
    fn handle(&mut self, frame: Frame) {
        self.handle(frame);
    }
    fn advance(&mut self, now: Time) {
        self.advance(now);
    }
    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        Analysis::drop_old(self, mark)
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
    let codec = SchemaCodec(schema.clone());
    let Some(StartedSource { catalog, format, mut frames }) = start(spec, &codec)? else {
        return Ok(open::open(spec, schema)?.fold(begin));
    };
    let mut facts = begin(catalog, frames.clock());
    let (mut some, mut evidence) = (Vec::new(), Evidence::default());
    while frames.next(facts.catalog_mut(), &mut some)? {
        for frame in some.drain(..) {
            evidence.note(&frame);
            facts.handle(frame);
        }
        if let Some(used) = facts.drop_old(&mut |used| frames.mark(used)) {
            frames.forget(&used);
        }
        progress.update(&|| frames.position());
        if facts.is_done() {
            break;
        }
    }
    let has_secrets = frames.has_secrets();
    let (end, notices) = frames.finish();
    facts.advance(end);
    let (name, schema, unanswered) = (spec.name.clone(), schema.clone(), Vec::new());
    let size = spec.path.is_file().then(|| open::size_of(&spec.path));
    Ok(Folded { facts, schema, unanswered, notices, has_secrets, name, format, size, evidence })
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
