//! The memory of the engine: what it holds, and how it drops ended streams.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use xdscope_wire::content::{Catalog, UsedContent};
use xdscope_wire::event::StreamId;

use crate::session::content::responses::{KeptResponses, RESPONSE_BYTES};
use crate::session::engine::Engine;
use crate::session::shared::Shared;
use crate::session::stream::Stream;
use crate::session::track::Track;

/// Estimated memory of a stream without types, with its places in all indexes.
const STREAM_BYTES: usize = 2 << 10;
/// Estimated memory of a type of a stream, without names and contents.
pub(crate) const TRACK_BYTES: usize = 4 << 10;

/// Memory of the metadata of an ended stream, in bytes, after facts were dropped.
const ENDED_METADATA_BYTES: usize = 1 << 10;

/// Estimated memory of a stream in an index that is copied when it changes.
const INDEX_BYTES: usize = 96;

/// Streams that a source has no more.
#[derive(Clone, Debug, Default)]
pub(crate) struct DroppedStreams {
    /// Indices of the kept streams.
    pub(crate) kept: BTreeSet<usize>,
    /// Nodes of these streams.
    pub(crate) nodes: HashSet<Arc<str>>,
    /// Indices of the sessions of these streams.
    pub(crate) sessions: BTreeSet<usize>,
    /// Number of dropped streams.
    pub(crate) count: usize,
}

impl Engine {
    /// Estimates the memory of streams, in bytes, without their names and contents.
    pub(crate) fn memory(&self) -> usize {
        self.streams().iter().len() * STREAM_BYTES
            + self.tracks * TRACK_BYTES
            + self.responses.count * RESPONSE_BYTES
            + self.metadata_bytes
    }

    /// Estimates the memory of what a clone of the engine does not share with another one, in
    /// bytes.
    pub(crate) fn own_memory(&self, other: &Engine) -> usize {
        let streams: usize = self
            .streams
            .iter()
            .map(|(index, stream)| {
                let other = other.streams.shared(index);
                size_of::<Shared<Stream>>() * 3 + stream.own_size(other, |own| own.own_memory(other))
            })
            .sum();
        let by_id = self.by_id.own_size(Some(&other.by_id), |index| index.len());
        let sessions = self.sessions.own_size(Some(&other.sessions), |index| index.len());
        let clients = self.by_client.own_size(Some(&other.by_client), |index| index.len());
        let servers = self.by_any_server.own_size(Some(&other.by_any_server), |index| index.len());
        let failures = self.failures.own_size(Some(&other.failures), |failures| failures.len());
        let siblings = self.siblings.own_size(Some(&other.siblings), |index| index.len());
        let places = self.index.own_len(&other.index);
        let indexed = by_id + sessions + 2 * (clients + servers + failures) + siblings + places;
        streams + indexed * INDEX_BYTES
    }

    /// Drops the ended streams that `is_shown` does not accept, with everything that is known of
    /// them. Of the clients that were seen last, the newest stream stays, because their next stream
    /// continues it: as many as `budget` bytes allow.
    pub(crate) fn drop_ended(
        &mut self,
        is_shown: impl Fn(StreamId) -> bool,
        budget: usize,
    ) -> DroppedStreams {
        let each = self.memory() / self.streams().iter().len().max(1);
        let newest = self.newest_of_sessions(budget / each.max(STREAM_BYTES + TRACK_BYTES));
        let count = self.streams.retain(|index, stream| {
            stream.closed.is_none() || is_shown(stream.id) || newest.contains(&index)
        });
        let kept: BTreeSet<usize> = self.by_id.values().copied().filter(|i| self.has(*i)).collect();
        self.by_id.retain(|_, index| kept.contains(index));
        self.by_id.shrink_to_fit();
        self.index.retain(&kept);
        for session in self.sessions.values_mut() {
            session.all.retain(|index| kept.contains(index));
            session.ended.retain(|index| kept.contains(index));
        }
        self.sessions.retain(|_, session| !session.all.is_empty());
        let sessions: BTreeSet<usize> = self.sessions.keys().copied().collect();
        self.by_client.retain(|_, session| sessions.contains(session));
        self.by_any_server.retain(|_, all| {
            all.retain(|session| sessions.contains(session));
            !all.is_empty()
        });
        self.siblings.retain(|_, streams| streams.retain(|index| kept.contains(&index)));
        self.failures.retain(&kept);
        let has_long_metadata =
            |stream: &Stream| stream.closed.is_some() && stream.open.memory() > ENDED_METADATA_BYTES;
        self.streams.change(has_long_metadata, |stream| {
            stream.open.limit_metadata(ENDED_METADATA_BYTES);
        });
        self.metadata_bytes = self.streams().iter().map(|stream| stream.open.memory()).sum();
        self.tracks = self.streams().iter().map(|stream| stream.tracks.len()).sum();
        let mut responses = KeptResponses::default();
        for track in self.streams().iter().flat_map(|stream| &stream.tracks) {
            responses.add(&track.responses);
        }
        self.responses = responses;
        let nodes = self.streams().iter().filter_map(|stream| stream.peers.node_id.clone()).collect();
        DroppedStreams { kept, nodes, sessions, count }
    }

    fn has(&self, index: usize) -> bool {
        self.streams.get(index).is_some()
    }

    /// Returns the newest stream of each of the newest `count` clients.
    fn newest_of_sessions(&self, count: usize) -> BTreeSet<usize> {
        let mut newest: Vec<usize> =
            self.sessions.values().filter_map(|session| session.all.last()).copied().collect();
        newest.sort_unstable();
        let from = newest.len().saturating_sub(count);
        newest.into_iter().skip(from).collect()
    }

    /// Marks the contents and names of all streams as used.
    pub(crate) fn mark(&mut self, catalog: &mut Catalog, used: &mut UsedContent) {
        // Contents of unfinished messages are new to the engine, but not to the catalog.
        self.note_specials(catalog);
        self.streams().iter().for_each(|stream| stream.mark(used));
        self.runs.drop_unused();
    }

    /// Forgets what was derived from contents that are not used.
    pub(crate) fn retain_derived(&self, used: &mut UsedContent) {
        self.needs.retain(used);
        self.node_digests.retain(|blob| used.has_blob(blob));
    }
}

impl Stream {
    /// Estimates the memory of what the stream does not share with another state of it.
    fn own_memory(&self, other: Option<&Shared<Stream>>) -> usize {
        let tracks = self.tracks.iter().enumerate().map(|(index, track)| {
            let other = other.and_then(|other| other.tracks.get(index));
            size_of::<Shared<Track>>() + track.own_size(other, Track::memory)
        });
        size_of::<Stream>() + self.open.memory() + tracks.sum::<usize>()
    }

    /// Marks the contents and names of the stream as used.
    fn mark(&self, used: &mut UsedContent) {
        self.node_blobs().for_each(|blob| used.blob(blob));
        self.tracks.iter().for_each(|track| track.mark(used));
    }
}
