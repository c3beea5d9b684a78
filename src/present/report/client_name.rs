//! Names of clients, which tell clients with one node id apart.

use xdscope_engine::store::{ClientMark, ClientMarks};
use xdscope_wire::event::StreamId;

/// Returns the node id of a client, and a mark if another client has that id: `edge-gw-1`,
/// `edge-gw-1 cluster=b`. Returns `#3` if the node is unknown.
pub fn client_name(node: Option<&str>, stream: StreamId, marks: &ClientMarks) -> String {
    match node.filter(|node| !node.is_empty()) {
        Some(node) => format!("{node}{}", client_mark(marks.get(stream), stream)),
        None => format!("#{}", stream.0),
    }
}

/// Returns the words that follow the node id of a client: ` cluster=b`, ` server=cp2`, ` #7`. Empty
/// if the node id tells the client apart.
pub fn client_mark(mark: Option<&ClientMark>, stream: StreamId) -> String {
    match mark {
        Some(ClientMark::Cluster(cluster)) if !cluster.is_empty() => format!(" cluster={cluster}"),
        Some(ClientMark::Server(server)) => format!(" server={server}"),
        Some(ClientMark::Stream) => format!(" #{}", stream.0),
        Some(ClientMark::Cluster(_)) | None => String::new(),
    }
}
