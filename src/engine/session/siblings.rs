//! The streams of a client that uses several, for resources that wait for those of another stream.

use super::engine::Engine;
use super::engine_prior::is_beside;
use super::warming::WarmingView;
use crate::wire::content::Catalog;

/// Streams of each class of a client that are looked at.
const MAX_SIBLINGS: usize = 16;

/// The newest streams of a node id.
#[derive(Clone, Debug, Default)]
pub(super) struct Siblings {
    /// Streams that carry one type each.
    of_one_type: Vec<usize>,
    aggregated: Vec<usize>,
}

impl Siblings {
    pub(super) fn add(&mut self, index: usize, is_aggregated: bool, is_open: impl Fn(usize) -> bool) {
        let known = if is_aggregated { &mut self.aggregated } else { &mut self.of_one_type };
        if known.len() > MAX_SIBLINGS {
            known.retain(|other| is_open(*other));
            known.drain(..known.len().saturating_sub(MAX_SIBLINGS));
        }
        known.push(index);
    }

    /// Forgets streams for which the function returns false. Returns whether any is left.
    pub(super) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) -> bool {
        self.of_one_type.retain(|index| is_kept(*index));
        self.aggregated.retain(|index| is_kept(*index));
        !self.of_one_type.is_empty() || !self.aggregated.is_empty()
    }
}

impl Engine {
    /// Returns the indices of a stream and of the other open streams of its client; of a closed
    /// stream also those that closed with it.
    ///
    /// Aggregated streams with one node id are clients of their own.
    pub(super) fn client_of(&self, index: usize) -> Vec<usize> {
        let mut all = vec![index];
        let Some(stream) = self.streams.get(index) else { return all };
        let Some(known) = stream.node_id.as_ref().and_then(|node| self.siblings.get(node)) else {
            return all;
        };
        let is_other = |other: &&usize| {
            **other != index && self.streams.get(**other).is_some_and(|other| is_beside(other, stream))
        };
        let of_one_type = known.of_one_type.iter().rev().filter(is_other).take(MAX_SIBLINGS);
        let aggregated = if stream.is_aggregated() { &[][..] } else { known.aggregated.as_slice() };
        let aggregated = aggregated.iter().rev().filter(is_other).take(MAX_SIBLINGS);
        all.extend(of_one_type.chain(aggregated).copied());
        all
    }

    /// Returns a stream and the streams beside it, to read what warms.
    pub(crate) fn warming_view<'a>(&'a self, catalog: &'a Catalog, index: usize) -> WarmingView<'a> {
        let streams = self.client_of(index).into_iter().filter_map(|index| self.streams.get(index));
        WarmingView::new(catalog, self.needs(), streams.collect())
    }
}
