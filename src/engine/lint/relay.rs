//! Both hops of a relay in one source (row K-30): the server of one stream is the client of another.

use std::collections::HashMap;

use super::context::{ResponseContext, RuleContext};
use super::memo::WORLD;
use crate::engine::session::Stream;
use crate::wire::content::BlobId;
use crate::wire::event::Sym;

/// Streams and versions that are remembered of one content.
const EACH: usize = 16;

/// What brought a structured name with that content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Brought {
    pub(super) version: Sym,
    /// Index of the stream.
    pub(super) stream: usize,
}

/// By name and payload.
pub(super) type Carried = HashMap<(Sym, BlobId), Vec<Brought>>;

/// The host of `HOST:PORT`.
fn host(address: &Option<String>) -> Option<&str> {
    let (host, port) = address.as_ref()?.rsplit_once(':')?;
    port.parse::<u16>().is_ok().then_some(host)
}

fn is_loopback(host: &str) -> bool {
    host.starts_with("127.") || host == "[::1]"
}

/// Whether the server of `stream` is a relay, and `other` is its own stream upstream. Addresses tell; where all are of one
/// host, only if the nodes differ too: else it may be one client with two servers.
fn is_upstream(stream: &Stream, other: &Stream) -> bool {
    let (Some(relay), Some(peer)) = (host(&stream.open.server), host(&other.open.peer)) else { return false };
    let known = |stream: &Stream| stream.node_id.clone();
    let told =
        !is_loopback(relay) || known(stream).zip(known(other)).is_some_and(|(client, relay)| client != relay);
    relay == peer && stream.open.server != other.open.server && told
}

impl<'a> RuleContext<'a> {
    /// What the relay got upstream of that name with that content, before this; empty where the stream's server is none.
    pub(super) fn upstream(&self, name: Sym, payload: BlobId) -> Vec<Brought> {
        let streams = self.store.engine().streams();
        let upstream = |brought: &&Brought| {
            streams.get(brought.stream).is_some_and(|other| is_upstream(self.stream, other))
        };
        let carried = self.world.carried.get(&(name, payload));
        carried.into_iter().flatten().filter(upstream).copied().collect()
    }

    /// Other streams to the same server, of other clients.
    pub(super) fn beside(&self) -> impl Iterator<Item = &'a Stream> {
        let (own, store) = (self.stream, self.store);
        let beside = move |other: &&Stream| {
            other.id != own.id && other.open.server == own.open.server && other.node_id != own.node_id
        };
        store.engine().streams().iter().filter(beside)
    }

    pub(super) fn note_carried(&mut self, answer: &ResponseContext<'_>) {
        let catalog = self.catalog();
        for id in &answer.scan.structured {
            let entry = catalog.entry(*id);
            let Some(payload) = entry.payload else { continue };
            if self.world.carried.len() >= WORLD {
                self.world.carried.clear();
            }
            let brought = Brought { version: entry.version, stream: self.index };
            let known = self.world.carried.entry((entry.name, payload)).or_default();
            if known.len() < EACH && !known.contains(&brought) {
                known.push(brought);
            }
        }
    }
}
