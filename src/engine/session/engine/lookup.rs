//! Streams by their client, their server and their session.

use xdscope_wire::event::{Kind, StreamId, Time};

use super::{Engine, MAX_EARLIER_STREAMS, Session, TrackPlace, visits};
use crate::session::failing::is_return;
use crate::session::stream::Stream;
use crate::session::track::Track;

/// Streams of a session to search for open ones, newest first.
const MAX_PARALLEL_STREAMS: usize = 256;

impl Engine {
    /// Returns a type on a stream.
    pub(in crate::session) fn track(&self, place: TrackPlace) -> Option<&Track> {
        self.streams.get(place.stream)?.track_at(place.track)
    }

    /// The open streams of a client that carry a kind, with their indices. Empty if there are very
    /// many. A stream without a node is a client of its own.
    pub(crate) fn open_of_kind<'a>(
        &'a self,
        stream: &'a Stream,
        kind: Kind,
    ) -> impl Iterator<Item = (usize, &'a Stream)> {
        let of_node =
            stream.peers.node_id.as_ref().map(|node| self.index.of_kind(node, kind).unwrap_or_default());
        self.open(stream, of_node.unwrap_or_else(|| self.index(stream.id).into_iter().collect()))
    }

    /// The open streams of a client; `None` if there are very many. A stream without a node is a
    /// client of its own.
    pub(crate) fn open_of_client<'a>(
        &'a self,
        stream: &'a Stream,
    ) -> Option<impl Iterator<Item = (usize, &'a Stream)>> {
        let indices = match &stream.peers.node_id {
            Some(node) => self.index.of_node(node)?,
            None => self.index(stream.id).into_iter().collect(),
        };
        Some(self.open(stream, indices))
    }

    fn open<'a>(
        &'a self,
        stream: &'a Stream,
        indices: Vec<usize>,
    ) -> impl Iterator<Item = (usize, &'a Stream)> {
        let streams = indices.into_iter().filter_map(|index| Some((index, self.streams.get(index)?)));
        let open = streams.inspect(|_| visits::count()).filter(|(_, of)| of.closed.is_none());
        open.filter(|(_, of)| self.are_of_one_client(of, stream))
    }

    /// The newest open streams to a server, newest first.
    pub(crate) fn open_to_server(&self, server: &str) -> impl Iterator<Item = &Stream> {
        let open = self.index.of_server(server).inspect(|_| visits::count());
        open.filter_map(|index| self.streams.get(index))
    }

    /// The time of the last frame on the connection of a stream.
    pub(crate) fn last_frame(&self, stream: &Stream) -> Option<Time> {
        self.index.last_frame(self.index(stream.id)?)
    }

    pub(crate) fn stream(&self, id: StreamId) -> Option<&Stream> {
        self.streams.get(*self.by_id.get(&id)?)
    }

    /// The open streams, in order of their openings.
    pub(crate) fn open_streams(&self) -> impl Iterator<Item = &Stream> {
        self.failures.open_streams().filter_map(|index| self.streams.get(index))
    }

    /// The newest [`MAX_EARLIER_STREAMS`] of the same session before this one, newest first.
    pub(crate) fn before(&self, stream: &Stream) -> impl Iterator<Item = &Stream> {
        let index = self.by_id.get(&stream.id).copied().unwrap_or_default();
        let all = self.session_of(stream).map_or(&[][..], |session| &session.all);
        let place = all.partition_point(|other| *other < index);
        let earlier = all.get(..place).unwrap_or_default().iter().rev().take(MAX_EARLIER_STREAMS);
        earlier.inspect(|_| visits::count()).filter_map(|other| self.streams.get(*other))
    }

    /// The newest [`MAX_EARLIER_STREAMS`] of the same session that ended before this one began,
    /// newest first.
    pub(crate) fn ended_before<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Stream> {
        let index = self.by_id.get(&stream.id).copied().unwrap_or_default();
        let ended = self.session_of(stream).map(|session| session.ended.range(..index).rev());
        let ended = ended.into_iter().flatten().take(MAX_EARLIER_STREAMS).inspect(|_| visits::count());
        let ended = ended.filter_map(|other| self.streams.get(*other));
        ended.filter(|other| other.closed.as_ref().is_some_and(|(at, _)| *at <= stream.opened))
    }

    /// Whether the client was back with another stream at once when the stream had ended.
    pub(crate) fn is_back_at_once(&self, stream: &Stream) -> bool {
        let Some((ended, _)) = &stream.closed else { return false };
        let all = self.session_of(stream).map_or(&[][..], |session| &session.all);
        let next = all.partition_point(|index| {
            self.streams.get(*index).is_some_and(|other| other.opened < *ended || other.id == stream.id)
        });
        let next = all.get(next).and_then(|index| self.streams.get(*index));
        next.is_some_and(|next| is_return(next, *ended))
    }

    pub(super) fn session_of(&self, stream: &Stream) -> Option<&Session> {
        self.sessions.get(&stream.chain.session?)
    }

    /// The stream, and those of the newest [`MAX_PARALLEL_STREAMS`] of its session that are open.
    pub(crate) fn open_in_session<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Stream> {
        let session = self.session_of(stream).map_or(&[][..], |session| &session.all);
        let members = session.iter().rev().take(MAX_PARALLEL_STREAMS).inspect(|_| visits::count());
        let members = members.filter_map(|index| self.streams.get(*index));
        let others = members.filter(|other| other.closed.is_none() && other.id != stream.id);
        std::iter::once(stream).chain(others)
    }
}
