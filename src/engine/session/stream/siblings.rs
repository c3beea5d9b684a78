//! The streams of a client that uses several, for resources that wait for those of another stream.

use crate::session::content::compare::key;
use crate::session::engine::prior::is_beside;
use crate::session::engine::{Engine, TrackPlace};
use crate::session::stream::Stream;
use crate::session::track::Track;
use crate::session::warming::WarmingView;
use xdscope_wire::content::{BlobId, Catalog};
use xdscope_wire::event::{Kind, Sym, Time};
use xdscope_wire::xdstp::{Name, is_structured};

/// Streams of each class of a client that are looked at.
const MAX_SIBLINGS: usize = 16;

/// The newest streams of a node id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Siblings {
    /// Streams that carry one type each.
    of_one_type: Vec<usize>,
    aggregated: Vec<usize>,
}

impl Siblings {
    pub(crate) fn add(&mut self, index: usize, is_aggregated: bool, is_open: impl Fn(usize) -> bool) {
        let known = if is_aggregated { &mut self.aggregated } else { &mut self.of_one_type };
        if known.len() > MAX_SIBLINGS {
            known.retain(|other| is_open(*other));
            known.drain(..known.len().saturating_sub(MAX_SIBLINGS));
        }
        known.push(index);
    }

    /// Forgets streams for which the function returns false. Returns whether any is left.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(usize) -> bool) -> bool {
        self.of_one_type.retain(|index| is_kept(*index));
        self.aggregated.retain(|index| is_kept(*index));
        !self.of_one_type.is_empty() || !self.aggregated.is_empty()
    }
}

impl Engine {
    /// Whether two streams with one node id belong to one client.
    ///
    /// Aggregated streams belong to clients of their own, such as channels of gRPC, unless they are
    /// for different authorities (docs/protocol.md#k-25).
    pub(crate) fn are_of_one_client(&self, a: &Stream, b: &Stream) -> bool {
        let are_aggregated = a.is_aggregated() && b.is_aggregated() && a.id != b.id;
        !are_aggregated || (self.has_structured_names() && are_for_other_authorities(a, b))
    }

    /// Records the names that a request adds.
    pub(crate) fn note_requested(&mut self, catalog: &Catalog, place: TrackPlace, names: &[Sym]) {
        if let Some(stream) = self.stream_at(place.stream)
            && let Some(track) = stream.tracks.get_mut(place.track)
        {
            track.subscription.authorities.note(catalog, names);
        }
        self.note_served(catalog, place, names);
    }

    /// Returns the indices of a stream and of the other open streams of its client; of a closed
    /// stream also those that closed with it.
    pub(crate) fn client_of(&self, index: usize) -> Vec<usize> {
        let mut all = vec![index];
        let Some(stream) = self.streams.get(index) else { return all };
        let Some(known) = stream.peers.node_id.as_ref().and_then(|node| self.siblings.get(node)) else {
            return all;
        };
        let is_other = |other: &&usize| {
            **other != index && self.streams.get(**other).is_some_and(|other| is_beside(other, stream))
        };
        let of_one_type = known.of_one_type.iter().rev().filter(is_other).take(MAX_SIBLINGS);
        let is_alone = stream.is_aggregated() && !self.has_structured_names();
        let aggregated = if is_alone { &[][..] } else { known.aggregated.as_slice() };
        let is_of_client = |other: &&usize| {
            let other_stream = self.streams.get(**other);
            is_other(other)
                && other_stream.is_some_and(|other_stream| self.are_of_one_client(other_stream, stream))
        };
        let aggregated = aggregated.iter().rev().filter(is_of_client).take(MAX_SIBLINGS);
        all.extend(of_one_type.chain(aggregated).copied());
        all
    }

    /// Returns the other open streams of clients with the node id of a stream.
    pub(crate) fn open_of_node<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Stream> {
        let known = stream.peers.node_id.as_ref().and_then(|node| self.siblings.get(node));
        let all = known.into_iter().flat_map(|known| known.aggregated.iter().chain(&known.of_one_type));
        let all = all.filter_map(|index| self.streams.get(*index));
        all.filter(move |other| other.id != stream.id && other.closed.is_none())
    }

    /// Returns a stream and the other streams of its client, to read what warms.
    ///
    /// A type or an authority without an open stream is represented by the newest one that has
    /// closed: the client keeps what came on it, and waits for what it has requested.
    pub(crate) fn warming_view<'a>(&'a self, catalog: &'a Catalog, index: usize) -> WarmingView<'a> {
        let streams = self.client_of(index).into_iter().filter_map(|index| self.streams.get(index));
        let mut streams: Vec<&Stream> = streams.collect();
        let open = self.streams.get(index).filter(|stream| stream.closed.is_none());
        let known = open.and_then(|stream| self.siblings.get(stream.peers.node_id.as_ref()?));
        let closed = known.into_iter().flat_map(|known| known.of_one_type.iter().rev().take(MAX_SIBLINGS));
        for stream in closed.filter_map(|index| self.streams.get(*index)) {
            let mut carried = streams.iter().flat_map(|stream| &stream.tracks);
            let is_carried = |track: &Track| carried.any(|other| other.type_url == track.type_url);
            if stream.closed.is_some() && !stream.track_at(0).is_none_or(is_carried) {
                streams.push(stream);
            }
        }
        if let Some(known) = known
            && self.has_structured_names()
        {
            for index in known.aggregated.iter().rev().take(MAX_SIBLINGS) {
                let Some(stream) = self.streams.get(*index) else { continue };
                let is_of_client = |other: &&Stream| self.are_of_one_client(other, stream);
                if stream.closed.is_some() && !stream.tracks.is_empty() && streams.iter().all(is_of_client) {
                    streams.push(stream);
                }
            }
        }
        WarmingView::new(catalog, self.needs(), streams)
    }

    /// Returns the endpoints in a response that a new or updated cluster of the client needs.
    pub(crate) fn needed_again(&self, catalog: &Catalog, place: TrackPlace, sent: &[BlobId]) -> Vec<Sym> {
        if self.track(place).and_then(|track| track.kind) != Some(Kind::Eds) {
            return Vec::new();
        }
        let view = self.warming_view(catalog, place.stream);
        let needed = view.endpoints_of_batches();
        if needed.is_empty() {
            return Vec::new();
        }
        sent.iter().map(|id| key(catalog, *id)).filter(|name| needed.contains(name)).collect()
    }

    /// Drops the resources of a stream that have warmed.
    pub(crate) fn settle_warming(&mut self, catalog: &Catalog, index: usize, at: Time) {
        let Some(stream) = self.streams.get(index) else { return };
        if stream.known_tracks().all(|track| track.warming.is_empty()) {
            return;
        }
        let view = self.warming_view(catalog, index);
        let progress = |track: &Track| (!track.warming.is_empty()).then(|| view.progress(track));
        let progress: Vec<_> = stream.all_tracks().map(progress).collect();
        let Some(stream) = self.streams.get_mut(index) else { return };
        for (track, progress) in stream.tracks.iter_mut().zip(&progress) {
            if let Some(progress) = progress {
                track.warming.settle(progress, at);
            }
        }
    }
}

/// Whether two aggregated streams are for different authorities: a client has one stream for the
/// plain names, and others for authorities (docs/protocol.md#k-24, docs/protocol.md#k-25).
fn are_for_other_authorities(a: &Stream, b: &Stream) -> bool {
    let of_a: Vec<&str> = authorities(a).collect();
    let is_shared = authorities(b).any(|authority| of_a.contains(&authority));
    let is_structured = !of_a.is_empty() || authorities(b).next().is_some();
    let (a_is_plain, b_is_plain) = (has_plain_names(a), has_plain_names(b));
    let are_requested = (a_is_plain || !of_a.is_empty()) && (b_is_plain || authorities(b).next().is_some());
    is_structured && are_requested && !is_shared && !(a_is_plain && b_is_plain)
}

/// Whether the client has requested names of the authority of a name on a stream; for a plain name,
/// plain names.
pub(crate) fn has_authority_of(stream: &Stream, name: &str) -> bool {
    if !is_structured(name) {
        return has_plain_names(stream);
    }
    Name::parse(name).is_some_and(|name| authorities(stream).any(|authority| authority == name.authority))
}

/// Returns the authorities of the names that the client has requested on a stream.
fn authorities(stream: &Stream) -> impl Iterator<Item = &str> {
    let all = stream.known_tracks().flat_map(|track| track.subscription.authorities.structured());
    all.map(|authority| &**authority)
}

/// Whether the client has requested plain names or a wildcard on a stream.
fn has_plain_names(stream: &Stream) -> bool {
    stream.known_tracks().any(|track| {
        let subscription = &track.subscription;
        let is_wildcard = subscription.was_wildcard || track.subscribed.is_wildcard();
        is_wildcard || subscription.authorities.has_plain()
    })
}
