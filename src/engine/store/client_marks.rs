//! Marks that tell clients with one node id apart.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::session::Stream;
use xdscope_wire::event::StreamId;

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
pub struct ClientMarks {
    marks: HashMap<StreamId, ClientMark>,
    /// For streams beside an aggregated one: the first stream of its chain of reconnects.
    beside: HashMap<StreamId, StreamId>,
}

impl ClientMarks {
    /// Compares the clients of streams, in the order of their openings.
    pub(super) fn collect<'a>(streams: impl Iterator<Item = &'a Stream>) -> ClientMarks {
        let mut clients: BTreeMap<(&str, ClientKey<'_>), Client<'_>> = BTreeMap::new();
        for stream in streams {
            let Some((node, key, cluster)) = client_of(stream) else { continue };
            let client = clients.entry((node, key)).or_default();
            client.cluster = cluster;
            let server = stream.open.server.as_deref();
            let is_only = client.streams.is_empty() || client.server == server;
            client.server = if is_only { server } else { None };
            client.streams.push(stream.id);
            client.types.extend(stream.tracks.iter().map(|track| track.type_url.as_str()));
        }
        let beside = join_beside(&mut clients);
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
        ClientMarks { marks, beside }
    }

    /// Returns the mark of a stream; `None` if the node id tells the client apart.
    pub fn get(&self, stream: StreamId) -> Option<&ClientMark> {
        self.marks.get(&stream)
    }

    /// Returns the first aggregated stream of the client, for a stream that carries other types of
    /// the client, such as its secrets.
    pub fn beside(&self, stream: StreamId) -> Option<StreamId> {
        self.beside.get(&stream).copied()
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

#[derive(Default)]
struct Client<'a> {
    cluster: &'a str,
    /// The server, if all streams have the same.
    server: Option<&'a str>,
    streams: Vec<StreamId>,
    types: HashSet<&'a str>,
}

/// Joins streams of one type each to the only aggregated stream of their node that has none of the
/// types: an Envoy fetches its secrets beside it.
///
/// Returns the first aggregated stream for each stream that was joined.
fn join_beside<'a>(
    clients: &mut BTreeMap<(&'a str, ClientKey<'a>), Client<'a>>,
) -> HashMap<StreamId, StreamId> {
    let mut chains: HashMap<(&str, &str), Vec<StreamId>> = HashMap::new();
    for ((node, key), client) in clients.iter() {
        if let ClientKey::Chain(first) = key {
            chains.entry((*node, client.cluster)).or_default().push(*first);
        }
    }
    let mut beside = HashMap::new();
    for (node, key) in clients.keys().copied().collect::<Vec<_>>() {
        let ClientKey::Types(cluster, _) = key else { continue };
        let Some([first]) = chains.get(&(node, cluster)).map(Vec::as_slice) else { continue };
        let chain = (node, ClientKey::Chain(*first));
        let types = |key| clients.get(key).map(|client| &client.types);
        let is_disjoint = types(&chain).zip(types(&(node, key))).is_some_and(|(a, b)| a.is_disjoint(b));
        if !is_disjoint {
            continue;
        }
        let Some(joined) = clients.remove(&(node, key)) else { continue };
        beside.extend(joined.streams.iter().map(|stream| (*stream, *first)));
        if let Some(client) = clients.get_mut(&chain) {
            client.streams.extend(joined.streams);
        }
    }
    beside
}

/// Returns node id, client and cluster of a stream; `None` if the node is unknown.
fn client_of(stream: &Stream) -> Option<(&str, ClientKey<'_>, &str)> {
    let node = stream.peers.node.as_ref().filter(|node| !node.id.is_empty())?;
    let variant = stream.variant()?;
    let key = match variant.is_aggregated() {
        true => ClientKey::Chain(stream.chain.first),
        false => ClientKey::Types(&node.cluster, variant.word()),
    };
    Some((&node.id, key, &node.cluster))
}
