//! Screen 2: what one client has been offered, what it runs, what is open.

pub mod view;

use crate::engine::applied::AppliedDiff;
use crate::engine::store::{StateFact, StreamFact, TypeState};
use crate::present::report::type_order;
use crate::wire::event::{StreamId, TypeUrl};

use crate::tui::data::Data;
use crate::tui::screens::shared::missing_answers::Silent;

/// Streams of a session that are told in the history, newest first.
const CHAIN: usize = 50;

#[derive(Clone, Debug, Default)]
pub struct StreamScreen {
    /// The selected type, also across streams.
    pub selected: Option<TypeUrl>,
    pub top: usize,
    /// Lines scrolled in the lower panes.
    pub scroll: usize,
    pub states: Vec<StateFact>,
    /// What the client has applied of each, where a dump stands beside the source.
    pub applied: Vec<Option<AppliedDiff>>,
    /// Why the selected type may wait.
    pub silent: Silent,
    /// The stream and those that it continues, newest first.
    pub chain: Vec<StreamFact>,
    /// All streams of the source, for going from one to the next.
    pub streams: Vec<StreamId>,
}

impl StreamScreen {
    pub fn load(&mut self, data: &dyn Data, stream: Option<StreamId>) {
        self.streams = data.stream_ids();
        self.states = stream.map(|stream| data.states_of(stream)).unwrap_or_default();
        self.states.sort_by_cached_key(|state| type_order(&state.type_url));
        self.applied = self.states.iter().map(|state| data.applied(state)).collect();
        self.chain.clear();
        let mut next = stream;
        while let Some(id) = next.filter(|_| self.chain.len() < CHAIN) {
            let Some(fact) = data.stream(id) else { break };
            // Each is earlier than the one that continues it.
            next = fact.reconnect_of.filter(|before| *before < id);
            self.chain.push(fact);
        }
        if self.position().is_none() {
            self.selected = self.states.first().map(|state| state.type_url.clone());
        }
    }

    /// Looks up why the selected type may wait.
    pub fn explain(&mut self, data: &dyn Data) {
        let stream = self.fact().map(|fact| fact.stream);
        let selected = self.state().map(|state| state.type_url.clone());
        self.silent.load(data, stream, selected.as_ref());
    }

    pub fn fact(&self) -> Option<&StreamFact> {
        self.chain.first()
    }

    pub fn position(&self) -> Option<usize> {
        self.states.iter().position(|state| Some(&state.type_url) == self.selected.as_ref())
    }

    pub fn state(&self) -> Option<&StateFact> {
        self.states.get(self.position()?)
    }

    /// What the client has applied of the selected type.
    pub fn account(&self) -> Option<&AppliedDiff> {
        self.applied.get(self.position()?)?.as_ref()
    }

    pub fn select(&mut self, at: usize) {
        let at = at.min(self.states.len().saturating_sub(1));
        self.selected = self.states.get(at).map(|state| state.type_url.clone());
        self.scroll = 0;
    }

    /// The next type in a state that someone must act on.
    pub fn next_problem(&self, forward: bool) -> Option<usize> {
        let at = self.position().unwrap_or(0);
        let bad = |i: &usize| {
            self.states.get(*i).is_some_and(|state| {
                matches!(state.state, TypeState::Nack | TypeState::Stale | TypeState::Miss | TypeState::Wait)
            })
        };
        if forward { (at + 1..self.states.len()).find(bad) } else { (0..at).rev().find(bad) }
    }
}
