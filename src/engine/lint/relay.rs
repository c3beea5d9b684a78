//! Relays: the server of one stream is the client of another. `docs/protocol.md#k-30`

use super::context::RuleContext;
use super::exchange::ResponseContext;
use crate::lint::memory::state::{Delivery, MAX_SOURCE_ENTRIES};
use crate::relay::is_upstream;
use crate::session::{Stream, key};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::Sym;

/// Deliveries to remember of one content.
const MAX_DELIVERIES: usize = 16;

impl<'a> RuleContext<'a> {
    /// Returns earlier deliveries of the name and content to the relay. Empty if the server is not
    /// a relay.
    pub(super) fn upstream_deliveries(&self, name: Sym, payload: BlobId) -> Vec<Delivery> {
        let streams = self.store.engine().streams();
        let is_from_upstream = |delivery: &&Delivery| {
            streams.get(delivery.stream).is_some_and(|other| is_upstream(self.stream, other))
        };
        let known = self.source_state.deliveries.get(&(name, payload));
        known.into_iter().flatten().filter(is_from_upstream).copied().collect()
    }

    /// The newest open streams of other clients to the same server.
    pub(super) fn sibling_streams(&self) -> impl Iterator<Item = &'a Stream> {
        let (own, store) = (self.stream, self.store);
        let is_sibling =
            move |other: &&Stream| other.id != own.id && other.peers.node_id != own.peers.node_id;
        let server = own.open.server.as_deref().into_iter();
        server.flat_map(|server| store.engine().open_to_server(server)).filter(is_sibling)
    }

    /// Remembers which contents of structured names the stream has received.
    pub(super) fn note_deliveries(&mut self, response: &ResponseContext<'_>) {
        let catalog = self.catalog();
        for id in &response.scan.structured {
            let entry = catalog.entry(*id);
            let Some(payload) = entry.payload else { continue };
            let deliveries = &mut self.source_state.deliveries;
            if deliveries.len() >= MAX_SOURCE_ENTRIES {
                deliveries.clear();
            }
            let delivery = Delivery { version: entry.version, stream: self.stream_index };
            let known = deliveries.entry((key(catalog, *id), payload)).or_default();
            if known.len() < MAX_DELIVERIES && !known.contains(&delivery) {
                known.push(delivery);
            }
        }
    }
}
