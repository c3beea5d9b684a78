//! Responses whose resources may still warm, by track.

use std::collections::VecDeque;
use std::sync::Arc;

use xdscope_wire::content::{BlobId, UsedContent};
use xdscope_wire::event::{Seq, Sym, Time};

use crate::session::content::compare::mark_key;
use crate::session::content::names::{SymMap, SymSet};

/// Names of one type that can warm at a time; of more, the oldest are forgotten.
pub(crate) const MAX_NAMES: usize = 1 << 14;
/// Batches of a track; of more, the oldest are forgotten.
const MAX_BATCHES: usize = 256;

/// Why the resources of a batch warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmingCause {
    /// The client did not have them.
    New,
    /// The client had them before they were removed.
    Restored,
    /// The client has them with other content.
    Update,
}

/// The resources of one response that may warm.
#[derive(Clone, Debug)]
pub(crate) struct WarmingBatch {
    /// The response.
    pub(crate) seq: Seq,
    pub(crate) at: Time,
    pub(crate) cause: WarmingCause,
    pub(crate) names: Arc<[Sym]>,
    /// Names before this index have warmed.
    pub(crate) from: usize,
    /// The client waits no longer for what the resources need, if it is an Envoy.
    pub(crate) is_given_up: bool,
}

impl WarmingBatch {
    pub(crate) fn names(&self) -> &[Sym] {
        self.names.get(self.from..).unwrap_or_default()
    }
}

/// The batches of a track, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarmingBatches {
    pub(crate) batches: VecDeque<WarmingBatch>,
    /// How often the batches have each name.
    counts: SymMap<u32>,
    /// The contents that the client uses while updates of them warm.
    earlier: SymMap<BlobId>,
    /// When names have warmed last.
    pub(crate) settled: Time,
    /// Number of batches at which all of them are searched for finished ones.
    pub(crate) sweep_at: usize,
}

impl WarmingBatches {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Marks the names as used.
    pub(crate) fn mark(&self, used: &mut UsedContent) {
        self.batches.iter().for_each(|batch| used.run(&batch.names));
        self.earlier.iter().for_each(|(name, blob)| {
            mark_key(used, *name);
            used.blob(*blob);
        });
    }

    /// Returns the content that the client uses while the update of a resource warms.
    pub(crate) fn earlier(&self, name: Sym) -> Option<BlobId> {
        self.earlier.get(&name).copied()
    }

    /// Notes the content that the client uses until the update of a resource has warmed. A
    /// resource that warms already continues with what it has, if anything.
    pub(crate) fn note_earlier(&mut self, name: Sym, in_force: BlobId) {
        if !self.counts.contains_key(&name) {
            self.earlier.insert(name, in_force);
        }
    }

    /// Counts names that a batch has no longer. Forgets what clients use of a name in no batch.
    fn count_dropped(&mut self, names: impl IntoIterator<Item = Sym>) {
        for name in names {
            if let Some(count) = self.counts.get_mut(&name) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&name);
                    self.earlier.remove(&name);
                }
            }
        }
    }

    /// Drops the names that `is_over` accepts, in the response of a batch, from all batches.
    fn drop_names(&mut self, is_over: impl Fn(Seq, Sym) -> bool) {
        let mut dropped = Vec::new();
        for batch in &mut self.batches {
            let (over, rest): (Vec<Sym>, Vec<Sym>) =
                batch.names().iter().partition(|name| is_over(batch.seq, **name));
            if !over.is_empty() {
                batch.names = rest.into();
                batch.from = 0;
                dropped.extend(over);
            }
        }
        self.batches.retain(|batch| !batch.names().is_empty());
        self.count_dropped(dropped);
    }

    /// The response that started the newest batch.
    pub(crate) fn newest(&self) -> Option<Seq> {
        self.batches.back().map(|batch| batch.seq)
    }

    /// When the oldest batch began.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.batches.iter().map(|batch| batch.at).min()
    }

    /// Returns the responses of the batches.
    pub(crate) fn seqs(&self) -> impl Iterator<Item = Seq> {
        self.batches.iter().map(|batch| batch.seq)
    }

    /// Returns the names that may warm since a response.
    pub(crate) fn names_of(&self, response: Seq) -> impl Iterator<Item = Sym> {
        let batches = self.batches.iter().filter(move |batch| batch.seq == response);
        batches.flat_map(|batch| batch.names().iter().copied())
    }

    /// Drops names from all batches.
    pub(crate) fn end_all(&mut self, names: &SymSet) {
        if names.iter().any(|name| self.counts.contains_key(name)) {
            self.drop_names(|_, name| names.contains(&name));
        }
    }

    /// Drops a name from the batches of some responses.
    pub(crate) fn end(&mut self, name: Sym, responses: &[Seq]) {
        if self.counts.contains_key(&name) {
            self.drop_names(|response, known| known == name && responses.contains(&response));
        }
    }

    /// The client waits no longer for what the resources of the responses up to `last` need.
    pub(crate) fn give_up(&mut self, last: Seq) {
        for batch in &mut self.batches {
            batch.is_given_up |= batch.seq <= last;
        }
    }

    /// Adds the names of a batch of the stream before, which still warm. `before` are the batches
    /// of that stream.
    pub(crate) fn continue_batch(&mut self, batch: WarmingBatch, before: &WarmingBatches) {
        if !batch.names().is_empty() {
            let earlier = batch.names().iter().filter_map(|name| Some((*name, before.earlier(*name)?)));
            self.earlier.extend(earlier);
            self.push(batch);
        }
    }

    /// Adds a batch, and forgets the oldest beyond the limits.
    pub(crate) fn push(&mut self, batch: WarmingBatch) {
        for name in batch.names() {
            *self.counts.entry(*name).or_default() += 1;
        }
        self.batches.push_back(batch);
        let mut names: usize = self.batches.iter().map(|batch| batch.names().len()).sum();
        while self.batches.len() > 1 && (self.batches.len() > MAX_BATCHES || names > MAX_NAMES) {
            let Some(oldest) = self.batches.pop_front() else { return };
            names -= oldest.names().len();
            self.count_dropped(oldest.names().iter().copied());
        }
    }
}

/// The progress of the batches of a track.
pub(crate) struct WarmingProgress {
    /// Numbers of names that have warmed, for the first batches.
    pub(crate) warmed: Vec<usize>,
    /// Whether all batches were searched.
    pub(crate) is_sweep: bool,
}

impl WarmingBatches {
    /// Drops the names and batches that have warmed.
    pub(crate) fn settle(&mut self, progress: &WarmingProgress, at: Time) {
        if progress.warmed.iter().any(|warmed| *warmed > 0) {
            self.settled = at;
        }
        let mut dropped = Vec::new();
        for (batch, warmed) in self.batches.iter_mut().zip(&progress.warmed) {
            dropped.extend(batch.names().iter().copied().take(*warmed));
            batch.from += warmed;
        }
        self.count_dropped(dropped);
        self.batches.retain(|batch| !batch.names().is_empty());
        if progress.is_sweep {
            self.sweep_at = self.batches.len() * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Sym = Sym(1);
    const B: Sym = Sym(2);

    fn batch(seq: u64, names: &[Sym]) -> WarmingBatch {
        let (at, cause) = (Time::ZERO, WarmingCause::Update);
        WarmingBatch { seq: Seq(seq), at, cause, names: names.into(), from: 0, is_given_up: false }
    }

    #[test]
    fn content_in_use_is_known_as_long_as_a_batch_has_the_name() {
        let mut warming = WarmingBatches::default();
        warming.note_earlier(A, BlobId(7));
        warming.push(batch(1, &[A, B]));
        warming.note_earlier(A, BlobId(8));
        warming.push(batch(2, &[A]));
        assert_eq!((warming.earlier(A), warming.earlier(B)), (Some(BlobId(7)), None));
        warming.end(A, &[Seq(2)]);
        assert_eq!((warming.earlier(A), warming.batches.len()), (Some(BlobId(7)), 1));
        let progress = WarmingProgress { warmed: vec![1], is_sweep: false };
        warming.settle(&progress, Time::ZERO);
        assert_eq!((warming.earlier(A), warming.batches.len()), (None, 1));
        warming.end_all(&SymSet::from_iter([B]));
        assert!(warming.is_empty() && warming.counts.is_empty());
    }

    #[test]
    fn forgotten_batches_leave_nothing_behind() {
        let mut warming = WarmingBatches::default();
        for n in 0..2 * MAX_BATCHES as u32 {
            warming.note_earlier(Sym(n), BlobId(n));
            warming.push(batch(n.into(), &[Sym(n)]));
        }
        assert_eq!((warming.counts.len(), warming.earlier.len()), (MAX_BATCHES, MAX_BATCHES));
    }
}
