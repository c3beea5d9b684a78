//! Sources that are read several times, so that they need not fit into memory.

use std::sync::Arc;

use crate::evidence::Evidence;
use crate::fold::{Folded, FrameSink, ReadProgress, fold};
use crate::frame_reader::can_start;
use crate::open::{self, Source, SourceError, Spec};
use crate::record::Loaded;
use crate::replay_until::{Limit, SourceSpan, is_message};
use crate::row_sink::Timeline;
use xdscope_engine::store::Store;
use xdscope_schema::Schema;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, MemoryBodies, UsedContent, next_drop};
use xdscope_wire::event::{Clock, Seq, Time};

/// A source that can be read again from its start.
///
/// A recording, raw JSONL or capture is read from its file each time. Other sources are in memory.
pub struct Passes {
    spec: Spec,
    schema: Arc<Schema>,
    /// Bytes that a pass without facts may take for contents.
    budget: usize,
    /// A source that is in memory.
    source: Option<Source>,
}

impl Passes {
    /// Opens a file or folder of any format.
    ///
    /// # Errors
    /// As for [`open`](super::open).
    pub fn open(spec: &Spec, schema: &Arc<Schema>, budget: usize) -> Result<Passes, SourceError> {
        let source = if can_start(spec, schema)? { None } else { Some(open::open(spec, schema)?) };
        Ok(Passes { spec: spec.clone(), schema: schema.clone(), budget, source })
    }

    /// Reads a source that is in memory.
    pub fn new(source: Source, budget: usize) -> Passes {
        let spec = Spec { name: source.name.clone(), ..Spec::new("") };
        Passes { spec, schema: source.schema.clone(), budget, source: Some(source) }
    }

    /// Returns the descriptors of the source.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the name of the source for messages, as the user typed it.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Reads the source from its start into what `begin` makes of its catalog and clock.
    ///
    /// # Errors
    /// As for [`fold`](super::fold).
    pub fn fold<T: FrameSink>(
        &mut self,
        progress: &mut dyn ReadProgress,
        begin: impl FnOnce(Catalog, Clock) -> T,
    ) -> Result<Folded<T>, SourceError> {
        let Some(source) = &mut self.source else {
            return fold(&self.spec, &self.schema, progress, begin);
        };
        let loaded = &mut source.loaded;
        let again = Catalog::new(loaded.catalog.seed(), None, Box::new(MemoryBodies::default()));
        let copy = Loaded {
            catalog: std::mem::replace(&mut loaded.catalog, again),
            clock: loaded.clock,
            frames: loaded.frames.clone(),
            end: loaded.end,
            notices: loaded.notices.clone(),
            secrets: loaded.secrets,
        };
        let copy = Source {
            name: source.name.clone(),
            format: source.format,
            size: source.size,
            loaded: copy,
            schema: source.schema.clone(),
            unanswered: source.unanswered.clone(),
        };
        Ok(copy.fold(begin))
    }

    /// Returns the catalog of a pass, for the next pass over a source in memory.
    pub fn give_back(&mut self, catalog: Catalog) {
        if let Some(source) = &mut self.source {
            source.loaded.catalog = catalog;
        }
    }

    /// Reads what is needed to find positions.
    ///
    /// # Errors
    /// As for [`fold`](super::fold).
    pub fn span(&mut self, progress: &mut dyn ReadProgress) -> Result<SourceSpan, SourceError> {
        if let Some(source) = &self.source {
            return Ok(SourceSpan::from_loaded(&source.loaded));
        }
        let budget = self.budget;
        let folded = self.fold(progress, |catalog, clock| SpanSink {
            contents: BoundedCatalog::new(catalog, budget),
            span: SourceSpan { clock, ..SourceSpan::default() },
        })?;
        Ok(folded.facts.span)
    }

    /// Recognises the source, up to its first traces of xDS.
    ///
    /// # Errors
    /// As for [`fold`](super::fold).
    pub fn look(&mut self, progress: &mut dyn ReadProgress) -> Result<Folded<()>, SourceError> {
        let budget = self.budget;
        let folded = self.fold(progress, |catalog, _| EvidenceSink {
            contents: BoundedCatalog::new(catalog, budget),
            evidence: Evidence::default(),
        })?;
        Ok(folded.map(|sink| self.give_back(sink.contents.catalog)))
    }
}

/// A catalog of a pass that keeps nothing but counts.
pub struct BoundedCatalog {
    catalog: Catalog,
    budget: usize,
    drop_at: usize,
}

impl BoundedCatalog {
    /// `budget`: bytes that contents and names may take.
    pub fn new(catalog: Catalog, budget: usize) -> BoundedCatalog {
        BoundedCatalog { catalog, budget, drop_at: budget }
    }

    /// Returns the contents.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the catalog.
    pub fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Returns the contents, to add some.
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }

    /// Drops the contents that `mark` does not mark, if all of them take too much memory. Returns
    /// those that are still in use.
    pub fn drop_old(&mut self, mark: impl FnOnce(&mut UsedContent)) -> Option<UsedContent> {
        if self.catalog.memory() <= self.drop_at {
            return None;
        }
        let mut used = UsedContent::default();
        mark(&mut used);
        let used = self.catalog.retain(used);
        self.drop_at = next_drop(self.budget, self.catalog.memory());
        Some(used)
    }
}

/// A pass that finds positions.
struct SpanSink {
    contents: BoundedCatalog,
    span: SourceSpan,
}

impl FrameSink for SpanSink {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.span.note(&frame);
    }

    fn advance(&mut self, now: Time) {
        self.span.end = self.span.end.max(now);
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.contents.drop_old(mark)
    }
}

/// A pass that ends with the first trace of xDS.
struct EvidenceSink {
    contents: BoundedCatalog,
    evidence: Evidence,
}

impl FrameSink for EvidenceSink {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.contents.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        self.evidence.note(&frame);
    }

    fn advance(&mut self, _now: Time) {}

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        self.contents.drop_old(mark)
    }

    fn is_done(&self) -> bool {
        self.evidence.has_xds()
    }
}

/// Facts that stop at a position.
pub struct Until<T> {
    facts: T,
    limit: Limit,
    /// Number of the last message that the source has had.
    n: Seq,
    is_past: bool,
    /// Whether old facts were dropped behind the position.
    has_dropped: bool,
}

/// A store that stops at a position.
pub type StoreUntil = Until<Store>;

impl<T> Until<T> {
    /// Stops facts about nothing yet at `limit`.
    pub fn new(facts: T, limit: Limit) -> Until<T> {
        Until { facts, limit, n: Seq(0), is_past: false, has_dropped: false }
    }

    /// Returns the facts at the position.
    pub fn into_facts(self) -> T {
        self.facts
    }
}

impl<T: Timeline> Timeline for Until<T> {
    fn store(&self) -> &Store {
        self.facts.store()
    }

    fn is_full(&self) -> bool {
        self.facts.is_full()
    }

    fn drop_unused(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> UsedContent {
        self.facts.drop_unused(mark)
    }
}

impl<T: Timeline> FrameSink for Until<T> {
    fn catalog_mut(&mut self) -> &mut Catalog {
        self.facts.catalog_mut()
    }

    fn handle(&mut self, frame: Frame) {
        if self.is_past {
            return;
        }
        self.n.0 += u64::from(is_message(&frame));
        self.is_past = !self.limit.includes(&frame, self.n);
        if !self.is_past {
            self.facts.handle(frame);
        }
    }

    fn advance(&mut self, end: Time) {
        match self.limit {
            Limit::All => self.facts.advance(end),
            Limit::Time(last) => self.facts.advance(last),
            Limit::Message(_) => {}
        }
    }

    fn drop_old(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> Option<UsedContent> {
        if !self.facts.is_full() {
            return None;
        }
        // Behind the position, contents of the rest of the source are dropped. Old facts only make
        // room for them once.
        if self.is_past && std::mem::replace(&mut self.has_dropped, true) {
            return Some(self.facts.drop_unused(mark));
        }
        self.facts.drop_old(mark)
    }
}
