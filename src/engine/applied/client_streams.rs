//! The resources that the open streams of a client have sent.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::store::{ResourceFact, ResourceState, StateFact, Store};
use xdscope_wire::event::{StreamId, TypeUrl};

/// The present resources of one type on all open streams of a client.
#[derive(Debug)]
pub(super) struct SentResources {
    /// Changes whenever the resources can have changed.
    pub(super) mark: u64,
    /// The first stream that has the type.
    pub(super) first: StreamId,
    pub(super) streams_of: HashMap<Arc<str>, Vec<StreamId>>,
}

/// A client, by node id, and a type.
type ClientType = (Arc<str>, TypeUrl);

/// The open streams of each client, and what they have sent.
#[derive(Debug, Default)]
pub(super) struct ClientStreams {
    /// Number of rows of the store for which `by_node` holds.
    rows: usize,
    by_node: HashMap<Arc<str>, Vec<StreamId>>,
    sent: HashMap<ClientType, Arc<SentResources>>,
}

impl ClientStreams {
    /// Returns the resources of the type on the open streams of the state's client.
    ///
    /// A stream without a node id is a client of its own.
    pub(super) fn sent(&mut self, state: &StateFact, store: &Store) -> Arc<SentResources> {
        let Some(node) = &state.summary.node else {
            return SentResources::read(store, &[state.summary.stream], &state.summary.type_url).into();
        };
        self.refresh(store);
        let own = [state.summary.stream];
        let streams = self.by_node.get(node).map_or(&own[..], Vec::as_slice);
        let key = (node.clone(), state.summary.type_url.clone());
        let mark = mark(store, streams, &state.summary.type_url);
        match self.sent.get(&key).filter(|sent| sent.mark == mark) {
            Some(sent) => sent.clone(),
            None => {
                let sent = Arc::new(SentResources::read(store, streams, &state.summary.type_url));
                self.sent.insert(key, sent.clone());
                sent
            }
        }
    }

    /// Reads the open streams again if there are more rows.
    fn refresh(&mut self, store: &Store) {
        if self.rows == store.rows() && !self.by_node.is_empty() {
            return;
        }
        self.rows = store.rows();
        self.by_node.clear();
        for id in store.open_stream_ids() {
            if let Some(node) = store.node_of(id) {
                self.by_node.entry(node).or_default().push(id);
            }
        }
    }
}

impl SentResources {
    /// Reads which streams have sent each present resource of a type.
    fn read(store: &Store, streams: &[StreamId], url: &TypeUrl) -> SentResources {
        let has_type = |id: &&StreamId| store.mark(**id, url) != 0;
        let streams: Vec<StreamId> = streams.iter().filter(has_type).copied().collect();
        let mut streams_of: HashMap<Arc<str>, Vec<StreamId>> = HashMap::new();
        for fact in streams.iter().flat_map(|id| store.resources(*id, url)).filter(is_present) {
            streams_of.entry(fact.name).or_default().push(fact.stream);
        }
        let first = streams.first().copied().unwrap_or(StreamId(0));
        SentResources { mark: mark(store, &streams, url), first, streams_of }
    }
}

/// Returns a number that changes whenever the resources of a type on the streams can have changed.
fn mark(store: &Store, streams: &[StreamId], url: &TypeUrl) -> u64 {
    let mut hasher = DefaultHasher::new();
    let marks = streams.iter().map(|id| (*id, store.mark(*id, url))).filter(|(_, mark)| *mark != 0);
    marks.for_each(|mark| mark.hash(&mut hasher));
    hasher.finish()
}

/// Whether the client should have a resource.
pub(super) fn is_present(fact: &ResourceFact) -> bool {
    use ResourceState::*;
    matches!(fact.state, Present | Kept | Orphan | Redirected)
}
