//! Marks that tell clients with one node id apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::session::Stream;
use crate::wire::event::StreamId;

use super::Store;

/// The difference between a client and the others with its node id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClientMark {
    /// The cluster of the node; may be empty.
    Cluster(String),
    /// The address of the server.
    Server(String),
    /// Nothing but the stream.
    Stream,
}

/// The marks of the streams whose node id belongs to several clients.
#[derive(Clone, Debug, Default)]
pub struct ClientMarks(HashMap<StreamId, ClientMark>);

impl ClientMarks {
    /// Returns the mark of a stream; `None` if the node id tells the client apart.
    pub fn get(&self, stream: StreamId) -> Option<&ClientMark> {
        self.0.get(&stream)
    }
}

/// The streams of a client that are one: reconnects, or streams of one type each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ClientKey<'a> {
    /// An aggregated stream and its reconnects, by the first stream.
    Chain(StreamId),
    /// Streams of one type each, by the cluster of the node and the variant.
    Types(&'a str, &'static str),
}

/// A client.
#[derive(Default)]
struct Client<'a> {
    cluster: &'a str,
    /// The server, if all streams have the same.
    server: Option<&'a str>,
    streams: Vec<StreamId>,
}

impl Store {
    /// Returns what tells clients with one node id apart: cluster, server or stream, whichever
    /// differs.
    pub fn client_marks(&self) -> ClientMarks {
        let mut first: HashMap<StreamId, StreamId> = HashMap::new();
        let mut clients: BTreeMap<(&str, ClientKey<'_>), Client<'_>> = BTreeMap::new();
        for stream in self.engine.streams().iter() {
            let earlier = stream.reconnect_of.and_then(|before| first.get(&before).copied());
            let chain = earlier.unwrap_or(stream.id);
            first.insert(stream.id, chain);
            let Some((node, key, cluster)) = client_of(stream, chain) else { continue };
            let client = clients.entry((node, key)).or_default();
            client.cluster = cluster;
            let server = stream.open.server.as_deref();
            let is_only = client.streams.is_empty() || client.server == server;
            client.server = server.filter(|_| is_only);
            client.streams.push(stream.id);
        }
        let clients: Vec<_> = clients.into_iter().collect();
        let mut marks = HashMap::new();
        for of_node in clients.chunk_by(|a, b| a.0.0 == b.0.0).filter(|of_node| of_node.len() > 1) {
            let clusters: BTreeSet<_> = of_node.iter().map(|(_, client)| client.cluster).collect();
            let servers: BTreeSet<_> = of_node.iter().filter_map(|(_, client)| client.server).collect();
            for (_, client) in of_node {
                let mark = match client.server {
                    _ if clusters.len() == of_node.len() => ClientMark::Cluster(client.cluster.to_owned()),
                    Some(server) if servers.len() == of_node.len() => ClientMark::Server(server.to_owned()),
                    _ => ClientMark::Stream,
                };
                marks.extend(client.streams.iter().map(|stream| (*stream, mark.clone())));
            }
        }
        ClientMarks(marks)
    }
}

/// Returns node id, client and cluster of a stream; `None` if the node is unknown.
fn client_of(stream: &Stream, chain: StreamId) -> Option<(&str, ClientKey<'_>, &str)> {
    let node = stream.node.as_ref().filter(|node| !node.id.is_empty())?;
    let variant = stream.variant()?;
    let key = match variant.is_aggregated() {
        true => ClientKey::Chain(chain),
        false => ClientKey::Types(&node.cluster, variant.word()),
    };
    Some((&node.id, key, &node.cluster))
}
