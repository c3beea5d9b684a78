//! Folds frames into streams, states, resources and a bounded history, and answers queries with facts.

mod facts;

pub use facts::*;

use std::time::Duration;

use crate::content::Catalog;
use crate::event::{Clock, Seq, StreamId, Time, TypeUrl};
use crate::wire::{Frame, Message};

/// Limits that colour states. None depends on another.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `--resource-timeout`: after this a name asked for and not delivered is missing (`T_exist`, row E-46).
    pub resource_timeout: Duration,
    /// `--stale-after`: after this an unanswered push is STALE.
    pub stale_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { resource_timeout: Duration::from_secs(15), stale_after: Duration::from_secs(10) }
    }
}

/// Everything known of one source up to now.
pub struct Store {
    catalog: Catalog,
    clock: Clock,
    now: Time,
}

impl Store {
    pub fn new(catalog: Catalog, clock: Clock, _options: Options) -> Store {
        Store { catalog, clock, now: Time::ZERO }
    }
    /// Folds in the next frame. Frames come in recorded order; time never goes back.
    pub fn handle(&mut self, frame: Frame) {
        self.advance(frame.at);
    }
    /// Moves the clock on, so that timers fire.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }
    pub fn now(&self) -> Time {
        self.now
    }
    pub fn clock(&self) -> Clock {
        self.clock
    }
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
    pub fn catalog_mut(&mut self) -> &mut Catalog {
        &mut self.catalog
    }
    /// Rows of the timeline: messages, and the opening and closing of streams.
    pub fn rows(&self) -> usize {
        0
    }
    /// One row, from 0.
    pub fn row(&self, _index: usize) -> Option<MessageFact> {
        None
    }
    /// The row of message `n`.
    pub fn row_of(&self, _n: Seq) -> Option<usize> {
        None
    }
    /// Messages so far (the number of the last one).
    pub fn messages(&self) -> u64 {
        0
    }
    /// The message itself, for its body and its bytes.
    pub fn message(&self, _n: Seq) -> Option<&Message> {
        None
    }
    pub fn streams(&self) -> Vec<StreamFact> {
        Vec::new()
    }
    /// One per stream and type, ended streams too, in order of streams, then of types.
    pub fn states(&self) -> Vec<StateFact> {
        Vec::new()
    }
    /// All resources of one track, in order of their first appearance.
    pub fn resources(&self, _stream: StreamId, _type_url: &TypeUrl) -> Vec<ResourceFact> {
        Vec::new()
    }
    /// What someone must act on, newest first.
    pub fn problems(&self) -> Vec<ProblemFact> {
        Vec::new()
    }
}
