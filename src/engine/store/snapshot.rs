//! A snapshot of some streams, for readers that outlive the store lock.

use crate::session::{ResourceEntry, Stream, Wildcard};
use xdscope_wire::event::{Seq, StreamId, Sym, Time, TypeUrl};

use super::{ResourceFact, Store};

/// A snapshot of streams. Large parts are shared with the store, so it is cheap to take.
#[derive(Clone, Debug)]
pub struct StreamsSnapshot {
    now: Time,
    streams: Vec<Stream>,
    /// The stream and track that are read next, and the remaining resources.
    at: (usize, usize),
    left: Option<std::vec::IntoIter<(Sym, Option<ResourceEntry>)>>,
}

/// The first request on a stream for a name that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// Time of the request.
    pub at: Time,
    /// The request.
    pub n: Seq,
    /// When the stream ended, and the wait with it.
    pub ended: Option<Time>,
}

/// A resource; if it is missing, the request for it.
pub type Waited = (ResourceFact, Option<PendingRequest>);

impl StreamsSnapshot {
    pub(super) fn take(store: &Store, streams: &[StreamId]) -> StreamsSnapshot {
        let streams = streams.iter().filter_map(|id| store.engine.stream(*id)).cloned().collect();
        StreamsSnapshot { now: store.now, streams, at: (0, 0), left: None }
    }

    /// Returns the time at which the snapshot was taken.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Estimates the number of resources.
    pub fn len(&self) -> usize {
        let tracks = self.streams.iter().flat_map(Stream::tracks_shown);
        tracks.map(|track| track.sent.count() + track.waiting.len()).sum()
    }

    /// Whether there are no resources.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the types, and whether each has a wildcard subscription.
    pub fn wildcards(&self) -> impl Iterator<Item = (&TypeUrl, Wildcard)> {
        let tracks = self.streams.iter().flat_map(Stream::tracks_shown);
        tracks.map(|track| (&track.type_url, track.subscribed.wildcard))
    }

    /// Whether all streams are dumps of clients.
    pub(crate) fn is_dump(&self) -> bool {
        self.streams.iter().all(Stream::is_dump)
    }

    /// Returns the types and the newest version offered of each.
    pub fn offered(&self) -> impl Iterator<Item = (&TypeUrl, &str)> {
        let tracks = self.streams.iter().flat_map(Stream::tracks_in_order);
        tracks.filter_map(|track| Some((&track.type_url, track.responses.last()?.version.as_str())))
    }

    /// Returns the next resources, at most `most`, without their hashes; `None` after the last.
    ///
    /// The order is that of streams, types and first appearance. `store` must be the store of the
    /// snapshot; it can have handled more frames since.
    pub fn read(&mut self, store: &Store, most: usize) -> Option<Vec<Waited>> {
        let catalog = &store.catalog;
        loop {
            let stream = self.streams.get(self.at.0)?;
            let Some(track) = stream.tracks_in_order().get(self.at.1).copied() else {
                self.at = (self.at.0 + 1, 0);
                continue;
            };
            let left = self.left.get_or_insert_with(|| {
                let entries =
                    track.sent.entries(catalog).into_iter().map(|(name, entry)| (name, Some(entry)));
                let never_sent = track.names_never_sent(catalog).map(|name| (name, None));
                entries.chain(never_sent).collect::<Vec<_>>().into_iter()
            });
            let fact = |(name, entry): (Sym, Option<ResourceEntry>)| {
                let fact = store.fact_without_hash(stream, track, name, entry.as_ref(), self.now);
                let request = if stream.is_dump() { None } else { track.waiting.get(name) };
                let requested = request.map(|request| PendingRequest {
                    at: track.traffic.requested(&request),
                    n: request.first,
                    ended: track.lifetime.ended,
                });
                (fact, requested)
            };
            let facts: Vec<Waited> = left.by_ref().take(most).map(fact).collect();
            if !facts.is_empty() {
                return Some(facts);
            }
            (self.left, self.at.1) = (None, self.at.1 + 1);
        }
    }
}
