use std::collections::BTreeMap;
use std::sync::Arc;

use xdscope_wire::Intervention;
use xdscope_wire::event::StreamId;

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

    /// Returns the messages of an intervention.
    pub(super) fn get(&self, stream: StreamId, number: usize) -> Option<Arc<Intervention>> {
        self.kept.get(&(stream, number)).cloned()
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
    }
}
