use std::collections::BTreeMap;
use std::sync::Arc;

use xdscope_wire::Intervention;
use xdscope_wire::event::StreamId;

use super::{MessageFact, Store};
use crate::store::rows::row_note::RowNote;

/// One part in this many of the memory is for the messages of interventions.
const BUDGET_DIVISOR: usize = 32;

/// The messages of the newest interventions, by their order.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptInterventions {
    /// By stream and by number on the stream. The same frames bring the same keys again.
    kept: BTreeMap<(StreamId, usize), Arc<Intervention>>,
    bytes: usize,
}

impl KeptInterventions {
    /// Keeps the messages of an intervention. The oldest go beyond the limit.
    pub(super) fn keep(&mut self, stream: StreamId, number: usize, what: Intervention, budget: usize) {
        if what.size() == 0 {
            return;
        }
        self.bytes += what.size();
        if let Some(before) = self.kept.insert((stream, number), Arc::new(what)) {
            self.bytes -= before.size();
        }
        while self.bytes > budget / BUDGET_DIVISOR
            && let Some((_, oldest)) = self.kept.pop_first()
        {
            self.bytes -= oldest.size();
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
    }
}

impl Store {
    /// Returns the messages of an intervention, if they are kept.
    pub fn intervention(&self, fact: &MessageFact) -> Option<Arc<Intervention>> {
        let Some(RowNote::Intercepted(facts)) = fact.note.as_deref() else { return None };
        let stream = self.engine.stream(fact.stream)?;
        let number = stream.interventions.iter().position(|of| Arc::ptr_eq(of, facts))?;
        self.interventions.kept.get(&(fact.stream, number)).cloned()
    }
}
