//! The streams of a client that uses several, for resources that wait for those of another stream.

use super::compare::key;
use super::engine::Engine;
use super::engine_prior::is_beside;
use super::stream::Stream;
use super::track::Track;
use super::warming::WarmingView;
use crate::wire::content::{BlobId, Catalog};
use crate::wire::event::{Kind, Sym, Time};

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
    ///
    /// A type without an open stream is represented by the newest one that has closed: the client
    /// keeps what came on it, and waits for what it has requested.
    pub(crate) fn warming_view<'a>(&'a self, catalog: &'a Catalog, index: usize) -> WarmingView<'a> {
        let streams = self.client_of(index).into_iter().filter_map(|index| self.streams.get(index));
        let mut streams: Vec<&Stream> = streams.collect();
        let open = self.streams.get(index).filter(|stream| stream.closed.is_none());
        let known = open.and_then(|stream| self.siblings.get(stream.node_id.as_ref()?));
        let closed = known.into_iter().flat_map(|known| known.of_one_type.iter().rev().take(MAX_SIBLINGS));
        for stream in closed.filter_map(|index| self.streams.get(*index)) {
            let mut carried = streams.iter().flat_map(|stream| &stream.tracks);
            let is_carried = |track: &Track| carried.any(|other| other.type_url == track.type_url);
            if stream.closed.is_some() && !stream.tracks.first().is_none_or(is_carried) {
                streams.push(stream);
            }
        }
        WarmingView::new(catalog, self.needs(), streams)
    }

    /// Returns the endpoints in a response that a new or updated cluster of the client needs.
    pub(super) fn needed_again(&self, catalog: &Catalog, place: (usize, usize), sent: &[BlobId]) -> Vec<Sym> {
        let (index, track) = place;
        let track = self.streams.get(index).and_then(|stream| stream.tracks.get(track));
        if track.and_then(|track| track.kind) != Some(Kind::Eds) {
            return Vec::new();
        }
        let view = self.warming_view(catalog, index);
        let needed = view.endpoints_of_batches();
        if needed.is_empty() {
            return Vec::new();
        }
        sent.iter().map(|id| key(catalog, *id)).filter(|name| needed.contains(name)).collect()
    }

    /// Drops the resources of a stream that have warmed.
    pub(super) fn settle_warming(&mut self, catalog: &Catalog, index: usize, at: Time) {
        let Some(stream) = self.streams.get(index) else { return };
        if stream.known_tracks().all(|track| track.warming.is_empty()) {
            return;
        }
        let view = self.warming_view(catalog, index);
        let progress = |track: &Track| (!track.warming.is_empty()).then(|| view.progress(track));
        let progress: Vec<_> = stream.tracks.iter().map(progress).collect();
        let Some(stream) = self.streams.get_mut(index) else { return };
        for (track, progress) in stream.tracks.iter_mut().zip(&progress) {
            progress.iter().for_each(|progress| track.warming.settle(progress, at));
        }
    }
}
