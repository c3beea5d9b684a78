//! Resources that warm: they wait for others before the client uses them.

use std::collections::VecDeque;

use crate::engine::session::SymMap;
use crate::wire::event::{Seq, Sym, Time};

/// Warming resources of one response.
///
/// `docs/protocol.md#h-01` and the following rows. The graph of references has what each waits for.
#[derive(Clone, Debug)]
pub(super) struct WarmingBatch {
    pub(super) since: Time,
    pub(super) seq: Seq,
    /// Whether the resources were present before with other content.
    pub(super) update: bool,
    pub(super) names: Vec<Sym>,
}

/// Warming resources of one stream and type, oldest first.
///
/// The cost of a message depends on its own resources and not on those that wait: a session of
/// small updates has thousands within the timer.
#[derive(Clone, Debug, Default)]
pub(super) struct WarmingQueue {
    queue: VecDeque<WarmingBatch>,
    /// Number of batches with each name.
    counts: SymMap<u32>,
    /// Number of names in all batches.
    names: usize,
}

impl WarmingQueue {
    pub(super) fn names(&self) -> usize {
        self.names
    }

    pub(super) fn push(&mut self, warming: WarmingBatch) {
        self.names += warming.names.len();
        for name in &warming.names {
            *self.counts.entry(*name).or_default() += 1;
        }
        self.queue.push_back(warming);
    }

    /// Returns the start of the oldest batch.
    pub(super) fn since(&self) -> Option<Time> {
        self.queue.front().map(|warming| warming.since)
    }

    /// Takes out the oldest batch, without names that a later batch repeats.
    pub(super) fn pop(&mut self) -> Option<WarmingBatch> {
        let mut oldest = self.queue.pop_front()?;
        self.names -= oldest.names.len();
        oldest.names.retain(|name| match self.counts.get_mut(name) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            _ => {
                self.counts.remove(name);
                true
            }
        });
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_wait_from_their_last_batch() {
        let mut waiting = WarmingQueue::default();
        for (at, names) in [(1, &[1, 2][..]), (2, &[2, 3]), (3, &[2])] {
            let names = names.iter().copied().map(Sym).collect();
            waiting.push(WarmingBatch { since: Time(at), seq: Seq(at), update: false, names });
        }
        assert_eq!((waiting.names(), waiting.since()), (5, Some(Time(1))));
        let mut pop = || waiting.pop().map(|warming| (warming.since.0, warming.names));
        assert_eq!(pop(), Some((1, vec![Sym(1)])));
        assert_eq!(pop(), Some((2, vec![Sym(3)])));
        assert_eq!(pop(), Some((3, vec![Sym(2)])));
        assert_eq!(pop(), None);
        assert!(waiting.names() == 0 && waiting.counts.is_empty());
    }
}
