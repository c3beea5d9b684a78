//! The streams on which relays pass a resource on (docs/protocol.md#k-30).

use std::rc::Rc;
use std::sync::Arc;

use crate::relay::is_upstream;
use crate::session::Stream;
use crate::store::{ResourceFact, ResourceState, Store};
use xdscope_wire::event::StreamId;
use xdscope_wire::xdstp::named;

use super::MAX_CHAIN;

/// Streams of a relay to its own servers that are looked at for one stream.
const MAX_UPSTREAMS: usize = 64;

/// A stream on which a relay, or the server behind it, sent a resource.
#[derive(Clone, Debug)]
pub struct HopFact {
    /// The stream.
    pub stream: StreamId,
    /// The node that received the resource.
    pub node: Option<Arc<str>>,
    /// The address of the server that sent the resource.
    pub server: Option<String>,
    /// The version on this hop.
    pub version: Option<Arc<str>>,
    /// The state of the resource on this hop.
    pub state: ResourceState,
    /// Whether the newest content was refused.
    pub refused: bool,
    /// Whether the content is that of the resource in question.
    pub is_same: bool,
}

/// Returns the streams that bring resources to the server of a stream. Empty if the server is not a
/// relay.
pub(super) fn upstreams(store: &Store, stream: StreamId) -> Vec<StreamId> {
    let Some(own) = store.engine().stream(stream) else { return Vec::new() };
    let others = store.engine().streams().iter().filter(|other| is_upstream(own, other));
    others.take(MAX_UPSTREAMS).map(|other| other.id).collect()
}

/// Returns the hops of a resource up to its own stream, the origin first. Empty without a relay.
///
/// Names and contents connect the hops. Nonces belong to one hop and connect nothing.
pub(super) fn hops(
    store: &Store,
    fact: &ResourceFact,
    upstreams: &mut dyn FnMut(StreamId) -> Rc<[StreamId]>,
) -> Vec<HopFact> {
    let mut hops = vec![hop(store, fact, fact)];
    while hops.len() < MAX_CHAIN {
        let Some(last) = hops.last().map(|hop| hop.stream) else { break };
        let found = upstreams(last);
        let unseen = found.iter().filter(|id| hops.iter().all(|hop| hop.stream != **id));
        let mut sent = unseen.filter_map(|id| store.resource(*id, &fact.type_url, &fact.name));
        let is_next = |other: &ResourceFact| other.content.is_some() && is_before(store, other, last);
        let Some(next) = sent.find(is_next) else { break };
        hops.push(hop(store, &next, fact));
    }
    hops.reverse();
    if hops.len() > 1 { hops } else { Vec::new() }
}

/// Whether a resource came to a relay before the relay sent it on `stream`.
///
/// On a single host, addresses alone do not tell the two streams of a relay apart.
fn is_before(store: &Store, upstream: &ResourceFact, stream: StreamId) -> bool {
    let engine = store.engine();
    let Some((own, other)) = engine.stream(stream).zip(engine.stream(upstream.stream)) else { return false };
    if !is_upstream(other, own) {
        return true;
    }
    let sent_by = |stream: &Stream| {
        let track = stream.find(&upstream.type_url)?;
        let name = named(store.catalog(), &upstream.name)?;
        let order = track.sent.get(store.catalog(), name)?.order;
        track.responses.get(order).map(|response| response.seq)
    };
    sent_by(other).zip(sent_by(own)).is_some_and(|(other, own)| other < own)
}

fn hop(store: &Store, fact: &ResourceFact, own: &ResourceFact) -> HopFact {
    HopFact {
        stream: fact.stream,
        node: fact.node.clone(),
        server: store.stream(fact.stream).and_then(|stream| stream.server),
        version: fact.version.clone(),
        state: fact.state,
        refused: fact.refused,
        is_same: fact.content == own.content,
    }
}
