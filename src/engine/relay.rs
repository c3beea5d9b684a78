//! Relays: the server of one stream is the client of another (docs/protocol.md#k-30).

use crate::session::Stream;

/// Returns the host of `HOST:PORT`.
fn host(address: &Option<String>) -> Option<&str> {
    let (host, port) = address.as_ref()?.rsplit_once(':')?;
    port.parse::<u16>().is_ok().then_some(host)
}

fn is_loopback(host: &str) -> bool {
    host.starts_with("127.") || host == "[::1]"
}

/// Whether the server of `stream` is a relay whose own upstream stream is `other`.
///
/// Addresses decide. On a single host the nodes must differ too, because one client may have two
/// servers there.
pub(crate) fn is_upstream(stream: &Stream, other: &Stream) -> bool {
    let (Some(relay), Some(peer)) = (host(&stream.open.server), host(&other.open.peer)) else { return false };
    let node = |stream: &Stream| stream.peers.node_id.clone();
    let is_distinct =
        !is_loopback(relay) || node(stream).zip(node(other)).is_some_and(|(client, relay)| client != relay);
    relay == peer && stream.open.server != other.open.server && is_distinct
}
