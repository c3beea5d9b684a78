//! A recording that is being read: its progress, and the state so far for the screens.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::cursor::CursorBuilder;
use crate::net::lock;
use xdscope_engine::analysis::Analysis;
use xdscope_engine::lint;
use xdscope_engine::session::SharedSemantics;
use xdscope_engine::store::Options;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::Clock;

/// A source that one thread reads and another one shows.
pub struct Reading {
    options: Options,
    meaning: SharedSemantics,
    rules: lint::Options,
    /// Bytes read so far; the maximum once all are read.
    bytes: AtomicU64,
    /// Whether nobody wants the result any more.
    stopped: AtomicBool,
    /// Ticket lock: held while waiting for the state, so that both threads take turns.
    turn: Mutex<()>,
    /// The state so far, of sources that are read step by step.
    so_far: Mutex<CursorBuilder>,
}

impl Reading {
    pub fn new(options: Options, meaning: SharedSemantics, rules: lint::Options) -> Reading {
        let (catalog, clock) = (Catalog::in_memory(), Clock { epoch: None, untimed: true });
        let nothing = CursorBuilder::new(catalog, clock, options, meaning.clone(), rules.clone());
        Reading {
            options,
            meaning,
            rules,
            bytes: AtomicU64::default(),
            stopped: AtomicBool::default(),
            turn: Mutex::default(),
            so_far: Mutex::new(nothing),
        }
    }

    /// Stops the reading thread: nobody wants the result any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether nobody wants the result any more.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Stores the number of bytes read so far.
    pub fn report(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Passes the state so far to `show`. Returns false if no message has been read.
    pub fn show(&self, show: impl FnOnce(&Analysis)) -> bool {
        let builder = self.lock();
        let has_messages = builder.store().messages() > 0;
        if has_messages {
            show(builder.store());
        }
        has_messages
    }

    /// Begins to read a source.
    pub(super) fn begin(&self, catalog: Catalog, clock: Clock) {
        *self.lock() = self.builder(catalog, clock);
    }

    /// Changes the state while nobody shows it.
    pub(super) fn step<T>(&self, step: impl FnOnce(&mut CursorBuilder) -> T) -> T {
        step(&mut self.lock())
    }

    /// Returns the state, which is not shown any more.
    pub(super) fn finish(&self) -> CursorBuilder {
        let nothing = self.builder(Catalog::in_memory(), Clock { epoch: None, untimed: true });
        std::mem::replace(&mut self.lock(), nothing)
    }

    fn builder(&self, catalog: Catalog, clock: Clock) -> CursorBuilder {
        CursorBuilder::new(catalog, clock, self.options, self.meaning.clone(), self.rules.clone())
    }

    fn lock(&self) -> MutexGuard<'_, CursorBuilder> {
        let _turn = lock(&self.turn);
        lock(&self.so_far)
    }
}
