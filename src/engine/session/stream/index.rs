//! Streams by what they share, so that no rule has to search all streams of a source.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use xdscope_wire::event::{Kind, Time};

use crate::session::shared::Shared;
use crate::session::stream::Stream;

/// Open streams of one client, or of one type of a client, that rules look at. About clients with
/// more streams such rules say nothing.
const MAX_CLIENT_STREAMS: usize = 1000;

/// Newest open streams of a server that rules compare.
const MAX_SERVER_STREAMS: usize = 256;

/// The open streams of one node.
#[derive(Clone, Default)]
struct ClientStreams {
    all: BTreeSet<usize>,
    by_kind: BTreeMap<Kind, BTreeSet<usize>>,
}

/// Client and server address of a connection.
type Connection = (String, Option<String>);

/// Indices of streams, and the last frame of each connection.
#[derive(Clone, Default)]
pub(crate) struct StreamIndex {
    by_node: Shared<HashMap<Arc<str>, ClientStreams>>,
    by_server: Shared<HashMap<String, BTreeSet<usize>>>,
    connections: Shared<HashMap<Connection, usize>>,
    /// The connection of each stream.
    connection_of: Shared<HashMap<usize, usize>>,
    /// The time of the last frame on each connection.
    last_frames: HashMap<usize, Time>,
    next_connection: usize,
}

impl StreamIndex {
    /// Adds a stream that was opened; `index` is the next one.
    pub(crate) fn open(&mut self, index: usize, stream: &Stream) {
        let next = self.next_connection;
        let connection = match &stream.open.peer {
            Some(peer) => {
                let key = (peer.clone(), stream.open.server.clone());
                *self.connections.entry(key).or_insert(next)
            }
            None => next,
        };
        if connection == next {
            self.next_connection += 1;
            self.last_frames.insert(connection, stream.opened);
        }
        self.connection_of.insert(index, connection);
        self.pass(index, stream.opened);
        if let Some(server) = &stream.open.server {
            self.by_server.entry(server.clone()).or_default().insert(index);
        }
        self.update(index, stream);
    }

    /// Returns the number of entries that an index does not share with another one.
    pub(crate) fn own_len(&self, other: &StreamIndex) -> usize {
        let nodes = self.by_node.own_size(Some(&other.by_node), |index| 3 * index.len());
        let servers =
            self.by_server.own_size(Some(&other.by_server), |index| index.values().map(BTreeSet::len).sum());
        let connections = self.connections.own_size(Some(&other.connections), |index| 2 * index.len());
        let streams = self.connection_of.own_size(Some(&other.connection_of), |index| index.len());
        nodes + servers + connections + streams + self.last_frames.len()
    }

    /// Records the time of a frame.
    pub(crate) fn pass(&mut self, index: usize, at: Time) {
        let connection = self.connection_of.get(&index);
        if let Some(last) = connection.and_then(|connection| self.last_frames.get_mut(connection)) {
            *last = at.max(*last);
        }
    }

    /// Records the node and the types of an open stream, once it has more.
    pub(crate) fn update(&mut self, index: usize, stream: &Stream) {
        let (Some(node), None) = (&stream.peers.node_id, &stream.closed) else { return };
        let client = self.by_node.entry(node.clone()).or_default();
        client.all.insert(index);
        for kind in stream.kinds() {
            client.by_kind.entry(kind).or_default().insert(index);
        }
    }

    /// Removes a stream that was closed.
    pub(crate) fn close(&mut self, index: usize, stream: &Stream) {
        if let Some(open) = stream.open.server.as_ref().and_then(|server| self.by_server.get_mut(server)) {
            open.remove(&index);
        }
        let Some(node) = &stream.peers.node_id else { return };
        let Some(client) = self.by_node.get_mut(node) else { return };
        client.all.remove(&index);
        for kind in stream.kinds() {
            if let Some(open) = client.by_kind.get_mut(&kind) {
                open.remove(&index);
            }
        }
        if client.all.is_empty() {
            self.by_node.remove(node);
        }
    }

    /// Drops all streams but these, and the connections without a stream.
    pub(crate) fn retain(&mut self, kept: &BTreeSet<usize>) {
        self.connection_of.retain(|index, _| kept.contains(index));
        let used: BTreeSet<usize> = self.connection_of.values().copied().collect();
        self.connections.retain(|_, connection| used.contains(connection));
        self.last_frames.retain(|connection, _| used.contains(connection));
        self.by_server.retain(|_, open| !open.is_empty());
        self.connections.shrink_to_fit();
    }

    /// Returns the open streams of a node, in order of their openings; `None` for too many.
    pub(crate) fn of_node(&self, node: &str) -> Option<Vec<usize>> {
        let open = self.by_node.get(node).map(|client| &client.all);
        bounded(open)
    }

    /// Returns the open streams of a node that carry a type, in order of their openings; `None` if
    /// there are too many.
    pub(crate) fn of_kind(&self, node: &str, kind: Kind) -> Option<Vec<usize>> {
        let open = self.by_node.get(node).and_then(|client| client.by_kind.get(&kind));
        bounded(open)
    }

    /// Returns the newest open streams to a server, newest first.
    pub(crate) fn of_server(&self, server: &str) -> impl Iterator<Item = usize> {
        let open = self.by_server.get(server).into_iter().flatten();
        open.rev().take(MAX_SERVER_STREAMS).copied()
    }

    /// Returns the time of the last frame on the connection of a stream.
    pub(crate) fn last_frame(&self, index: usize) -> Option<Time> {
        self.last_frames.get(self.connection_of.get(&index)?).copied()
    }
}

fn bounded(open: Option<&BTreeSet<usize>>) -> Option<Vec<usize>> {
    match open {
        Some(open) if open.len() > MAX_CLIENT_STREAMS => None,
        open => Some(open.into_iter().flatten().copied().collect()),
    }
}
