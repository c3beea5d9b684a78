//! A store with the rules over it: what live runs, and whoever plays frames again, fold them into.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::event::Time;
use crate::links;
use crate::lint::{self, Finding, Lint};
use crate::schema::Schema;
use crate::store::Store;
use crate::wire::Frame;

/// Contents whose references live runs look up: beyond it each push would cost more than it may while traffic
/// waits to be looked at, so from there on rules about references are silent. `xdscope lint` on the recording
/// has no such bound.
pub const LIVE_CONTENTS: usize = 20_000;

/// Rules with the descriptors' knowledge of types and references.
pub fn rules(schema: &Arc<Schema>) -> lint::Options {
    let (of_links, of_types) = (schema.clone(), schema.clone());
    let links = move |any: &[u8]| {
        let links = links::of(&of_links, &of_links.any_to_json(any)).into_iter();
        links.map(|link| (link.kind, link.name)).collect()
    };
    lint::Options {
        links: Some(Arc::new(links)),
        types: Some(Arc::new(move |name: &str| of_types.message(name).is_some())),
        ..lint::Options::default()
    }
}

/// The two as one. It reads like its store.
pub struct Watched {
    store: Store,
    lint: Lint,
}

impl Watched {
    pub fn new(store: Store, rules: lint::Options) -> Watched {
        Watched { store, lint: Lint::new(rules) }
    }

    /// Folds in the next frame ([`Store::handle`]) and holds it against the rules.
    pub fn handle(&mut self, frame: Frame) {
        self.lint.handle(&mut self.store, frame);
    }

    /// Moves the clock on, so that timers of both fire.
    pub fn advance(&mut self, now: Time) {
        self.lint.advance(&mut self.store, now);
    }

    /// In the order in which they were first made.
    pub fn findings(&self) -> &[Finding] {
        self.lint.findings()
    }

    /// The two apart.
    pub fn into_parts(self) -> (Store, Lint) {
        (self.store, self.lint)
    }
}

impl Deref for Watched {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.store
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}
