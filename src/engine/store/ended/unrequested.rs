//! Open streams on which their client requests nothing, although it had subscriptions before.

use super::EndedStreams;
use crate::session::{SETTLE_TIME, Stream, Track, is_counted};

impl<'a> EndedStreams<'a> {
    /// Returns the ended stream with which an open one continues, on which the client has
    /// requested nothing, and the types of the ended stream to which the client had subscribed
    /// and that it requests on no open stream. `None` without such types.
    ///
    /// A client whose node is unknown is known by its host, if no other client has lost a stream
    /// there.
    pub(crate) fn before_unrequested(self, stream: &'a Stream) -> Option<(&'a Stream, Vec<&'a Track>)> {
        let is_unrequested =
            stream.traffic.requests == 0 && stream.closed.is_none() && stream.losses.lost.is_none();
        let is_subscribing = stream.is_grpc() && !stream.is_dump();
        if !is_unrequested || !is_subscribing || !is_counted(stream) {
            return None;
        }
        let before = match stream.peers.node.is_some() {
            true => self.store.engine.ended_before(stream).find(|before| before.traffic.requests > 0),
            false => self.ended_at_host_of(stream),
        };
        let before = before.filter(|before| !before.is_ended_by_client())?;
        let is_requested = |track: &Track| {
            let mut open = self.store.engine.open_of_node(before);
            let requests = |other: &Track| other.traffic.requests > 0;
            open.any(|other| other.find(&track.type_url).is_some_and(requests))
        };
        let tracks = before.tracks_shown().filter(|track| is_subscribed(track));
        let tracks: Vec<&Track> = tracks.filter(|track| !is_requested(track)).collect();
        (!tracks.is_empty()).then_some((before, tracks))
    }

    /// Returns the ended stream that an open one leaves without a successor for longer than a
    /// client needs for its first request.
    pub(super) fn left_by_unrequested(self, stream: &'a Stream) -> Option<&'a Stream> {
        if !self.store.limits.timed || self.store.now.since(stream.opened) < SETTLE_TIME {
            return None;
        }
        self.before_unrequested(stream).map(|(before, _)| before)
    }

    /// Returns the newest ended stream of the only client that has lost one at the host, and to the
    /// server, of a stream whose node is unknown.
    fn ended_at_host_of(self, stream: &'a Stream) -> Option<&'a Stream> {
        let host = stream.host()?;
        let clients = self.store.engine.failures().clients();
        let ended = clients.filter_map(|(_, ends)| self.store.engine.streams().get(ends.unreplaced?));
        let mut ended = ended.filter(|ended| {
            let is_alike = ended.open.server == stream.open.server && ended.open.method == stream.open.method;
            let is_earlier = ended.closed.as_ref().is_some_and(|(at, _)| *at <= stream.opened);
            is_alike && is_earlier && ended.peers.node_id.is_some() && ended.host() == Some(host)
        });
        let first = ended.next()?;
        ended.next().is_none().then_some(first)
    }
}

/// Whether the client is known to subscribe to something of a type, and to use it: a type of
/// another plane may have no resources.
fn is_subscribed(track: &Track) -> bool {
    let is_used = !track.subscribed.names.is_empty() || track.is_of_full_state() || track.traffic.pushes > 0;
    track.completeness.names_known && !track.subscribed.is_empty() && is_used
}
