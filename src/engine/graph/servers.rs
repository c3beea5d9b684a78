//! Resources of one name that a client gets from several servers.
//!
//! Each config source of a client without ADS has a stream of its own, maybe to a server of its own
//! (docs/protocol.md#i-06). A reference does not tell the address of the server that it means, so
//! it points to the resources of all servers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::Store;
use xdscope_wire::event::StreamId;

use super::{Graph, GraphNode, NodeId};

/// Returns the addresses of the servers of streams; none if there is one server.
pub(super) fn of_streams(store: &Store, streams: &[StreamId]) -> HashMap<StreamId, Arc<str>> {
    let servers = streams.iter().filter_map(|id| {
        let server = store.stream(*id)?.server?;
        Some((*id, Arc::from(server.as_str())))
    });
    let servers: HashMap<StreamId, Arc<str>> = servers.collect();
    let first = servers.values().next();
    let has_several = servers.values().any(|server| Some(server) != first);
    if has_several { servers } else { HashMap::new() }
}

impl Graph {
    /// Whether a node has the name of a known one, and both are on streams to different servers.
    pub(super) fn is_of_other_server(&self, known: NodeId, node: &GraphNode) -> bool {
        let server = |node: &GraphNode| self.servers.get(&node.stream?);
        let known = self.nodes.get(known).and_then(server);
        known.zip(server(node)).is_some_and(|(known, other)| known != other)
    }

    /// Adds a node beside those of its name from other servers. References find a present one
    /// first.
    pub(super) fn add_beside(&mut self, known: NodeId, mut node: GraphNode) {
        let key = (node.kind, node.name.clone());
        let all = self.by_server.entry(key.clone()).or_insert_with(|| vec![known]);
        let server = |node: &GraphNode| self.servers.get(&node.stream?).cloned();
        let of_known = self.nodes.get(known).and_then(server);
        if let Some(known) = self.nodes.get_mut(known) {
            known.server = of_known;
        }
        node.server = server(&node);
        let same =
            all.iter().find(|id| self.nodes.get(**id).is_some_and(|other| other.server == node.server));
        let id = match same.copied() {
            Some(id) => {
                // Among several streams to one server, prefer one with the resource.
                match self.nodes.get_mut(id) {
                    Some(other) if !other.state.is_present() && node.state.is_present() => *other = node,
                    _ => return,
                }
                id
            }
            None => {
                all.push(self.nodes.len());
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        let is_present = |id: NodeId| self.nodes.get(id).is_some_and(|node| node.state.is_present());
        if is_present(id) && !is_present(known) {
            self.by_name.insert(key, id);
        }
    }

    /// Returns the node, and those of its name from other servers.
    pub(super) fn of_all_servers(&self, id: NodeId) -> Vec<NodeId> {
        let all = self.nodes.get(id).and_then(|node| self.by_server.get(&(node.kind, node.name.clone())));
        all.cloned().unwrap_or_else(|| vec![id])
    }

    /// Returns the nodes of the name of a node that the client gets from several servers. Empty if
    /// one server sends the name.
    pub fn beside(&self, id: NodeId) -> impl Iterator<Item = &GraphNode> {
        let all = self.of_all_servers(id);
        let has_several = all.len() > 1;
        all.into_iter().filter(move |_| has_several).filter_map(|id| self.nodes.get(id))
    }
}
