//! A store together with the rules: the state of live runs and replays.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::lint::{self, Finding, Lint, Reference};
use crate::metrics::{Figures, MessageCounters, RowsBefore};
use crate::problems::{ProblemFact, problems};
use crate::store::{self, Store};
use xdscope_schema::Schema;
use xdscope_schema::links;
use xdscope_wire::Frame;
use xdscope_wire::content::{Catalog, UsedContent, next_drop};
use xdscope_wire::event::Time;
use xdscope_wire::xdstp::lists;

/// Distinct contents up to which live runs and replays check references.
///
/// Beyond this number a push would cost too much while traffic or a user waits, and rules about
/// references report nothing. `xdscope lint` on the recording has no limit.
const MAX_LIVE_CONTENTS: usize = 20_000;
/// Distinct contents up to which live runs and replays check constraints, which visits each field.
const MAX_LIVE_CONSTRAINED: usize = 1_000;

/// Returns the rules for live runs and screens, with limits on the contents that they check.
pub fn bounded(schema: &Arc<Schema>) -> lint::Options {
    lint::Options {
        contents: Some(MAX_LIVE_CONTENTS),
        constrained: Some(MAX_LIVE_CONSTRAINED),
        ..rules(schema)
    }
}

/// Returns the rules with the descriptors' knowledge of types, references and constraints.
pub fn rules(schema: &Arc<Schema>) -> lint::Options {
    let names = Mutex::new(links::ReferenceFinder::new(schema.clone()));
    let links = move |any: &[u8]| {
        let found = names.lock().unwrap_or_else(PoisonError::into_inner).references(any);
        let reference = |found: links::FoundReference| Reference {
            kind: found.kind,
            name: found.name,
            source: found.source,
            cluster: found.cluster,
            routes: found.routes,
            is_validated: found.is_validated,
        };
        found.into_iter().map(reference).collect()
    };
    let (types, of_constraints) = (schema.clone(), schema.clone());
    let constraints = move |any: &[u8]| {
        let published = lists::published(any);
        of_constraints.violations("google.protobuf.Any", published.as_deref().unwrap_or(any)).ok()
    };
    lint::Options {
        links: Some(Arc::new(links)),
        constraints: Some(Arc::new(constraints)),
        types: Some(Arc::new(move |name: &str| types.has_message(name))),
        ..lint::Options::default()
    }
}

/// A store and the rules that watch it. Dereferences to the store.
pub struct Analysis {
    store: Store,
    lint: Lint,
    /// Bytes from which old facts are dropped.
    drop_at: usize,
    /// Bytes that facts may take.
    budget: usize,
    /// Counts for monitoring, of a source that is monitored.
    counters: Option<MessageCounters>,
}

/// A checkpoint of the store and the rules.
pub struct Checkpoint {
    store: store::Checkpoint,
    lint: Lint,
}

impl Checkpoint {
    /// Estimates the memory of what the checkpoint does not share with another one, in bytes.
    ///
    /// Takes time in proportion to the number of streams and types.
    pub fn own_memory(&self, other: &Checkpoint) -> usize {
        self.store.own_memory(&other.store) + self.lint.own_memory(&other.lint)
    }

    /// Marks the contents and names to which the checkpoint refers as used.
    fn mark(&mut self, catalog: &mut Catalog, used: &mut UsedContent) {
        self.store.mark(catalog, used);
        self.lint.mark(used);
    }

    /// Forgets what was derived from contents that are not used.
    fn retain_derived(&mut self, used: &mut UsedContent) {
        self.store.retain_derived(used);
        self.lint.retain_derived(used);
    }
}

impl Analysis {
    pub fn new(store: Store, rules: lint::Options) -> Analysis {
        let budget = store.budget();
        Analysis { store, lint: Lint::new(rules), drop_at: budget, budget, counters: None }
    }

    /// Changes the bytes that facts may take.
    pub fn set_budget(&mut self, budget: usize) {
        (self.budget, self.drop_at) = (budget, budget);
        self.store.set_budget(budget);
    }

    /// Folds in the next frame ([`Store::handle`]) and checks it against the rules.
    pub fn handle(&mut self, frame: Frame) {
        let before = self.counters.is_some().then(|| RowsBefore::count(&self.store, frame.stream));
        self.lint.handle(&mut self.store, frame);
        if let (Some(counters), Some(before)) = (&mut self.counters, before) {
            counters.count(&self.store, &before);
        }
    }

    /// Returns the figures for monitoring. The first call counts the messages so far, and later
    /// messages are counted as they come.
    pub fn figures(&mut self) -> Figures {
        let mut counters = self.counters.take().unwrap_or_else(|| MessageCounters::from_store(&self.store));
        counters.take_back(&self.store);
        let figures = Figures::measure(&self.store, self.findings(), self.memory(), &counters);
        self.counters = Some(counters);
        figures
    }

    /// Moves the clock on, so that timers of the store and the rules fire.
    pub fn advance(&mut self, now: Time) {
        self.lint.advance(&mut self.store, now);
    }

    /// Returns when the next timer of a rule expires.
    pub fn next_timer(&self) -> Option<Time> {
        self.lint.next_timer(&self.store)
    }

    /// Drops old facts like [`Lint::drop_old`], if all facts take more than `--memory` allows.
    pub fn drop_old(&mut self, mark: impl FnOnce(&mut UsedContent)) -> Option<UsedContent> {
        if self.is_full() { Some(self.drop_old_now(mark)) } else { None }
    }

    /// Drops old facts like [`Analysis::drop_old`], however little memory the facts take.
    pub fn drop_old_now(&mut self, mark: impl FnOnce(&mut UsedContent)) -> UsedContent {
        let used = self.lint.drop_old(&mut self.store, mark);
        // Facts of open streams are never dropped: try again only after they have grown.
        self.drop_at = next_drop(self.budget, self.memory());
        used
    }

    /// Drops old facts like [`Analysis::drop_old_now`], but nothing to which a checkpoint refers.
    ///
    /// A checkpoint before the oldest message that is still held cannot be restored.
    pub fn drop_old_except<'a>(
        &mut self,
        checkpoints: impl Iterator<Item = &'a mut Checkpoint>,
        mark: impl FnOnce(&mut UsedContent),
    ) -> UsedContent {
        let mut checkpoints: Vec<&mut Checkpoint> = checkpoints.collect();
        let mut held = UsedContent::default();
        for checkpoint in &mut checkpoints {
            checkpoint.mark(self.store.catalog_mut(), &mut held);
        }
        for checkpoint in checkpoints {
            checkpoint.retain_derived(&mut held);
        }
        self.drop_old_now(|used| {
            *used = held;
            mark(used);
        })
    }

    /// Sets when old facts are dropped next: once those that are held, and `others` bytes of their
    /// holder, have grown.
    pub fn set_next_drop(&mut self, others: usize) {
        self.drop_at = next_drop(self.budget, self.memory() + others);
    }

    /// Estimates the memory of all facts, in bytes.
    pub fn memory(&self) -> usize {
        self.store.memory() + self.lint.memory()
    }

    /// Returns the findings in the order in which they were first made.
    pub fn findings(&self) -> &[Finding] {
        self.lint.findings()
    }

    /// Returns the problems, the worst first.
    pub fn problems(&self) -> Vec<ProblemFact> {
        problems(&self.store, self.findings())
    }

    /// Takes a checkpoint.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { store: self.store.checkpoint(), lint: self.lint.clone() }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether the next [`Analysis::drop_old`] drops something.
    pub fn is_full(&self) -> bool {
        self.is_full_beside(0)
    }

    /// Whether the facts and `others` bytes of their holder take more than `--memory` allows.
    pub fn is_full_beside(&self, others: usize) -> bool {
        self.memory() + others > self.drop_at || self.store.is_history_full()
    }

    /// Drops the contents to which no fact refers, and returns those that are still in use.
    pub fn drop_unused(&mut self, mark: &mut dyn FnMut(&mut UsedContent)) -> UsedContent {
        let used = self.lint.drop_unused(&mut self.store, mark);
        self.drop_at = next_drop(self.budget, self.memory());
        used
    }

    /// Restores a checkpoint, earlier or later than the current position.
    pub fn restore(&mut self, to: &Checkpoint) {
        self.store.restore(&to.store);
        self.lint.clone_from(&to.lint);
    }

    /// Returns the store and the rules.
    pub fn into_parts(self) -> (Store, Lint) {
        (self.store, self.lint)
    }
}

impl Deref for Analysis {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl DerefMut for Analysis {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}
