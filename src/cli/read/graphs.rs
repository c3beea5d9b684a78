//! The graphs of the clients of a source, each built once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use xdscope_engine::graph::{self, Graph};
use xdscope_engine::store::{ResourceFact, StateFact, Store, WarmingFact};
use xdscope_schema::Schema;
use xdscope_wire::event::{Kind, StreamId};

/// Number of resources beyond which no graph is built, since that takes too long.
const MAX_RESOURCES: u64 = 20_000;

/// Graphs by the streams of a client, and the warming resources of all clients.
pub(crate) struct Graphs<'a> {
    store: &'a Store,
    schema: &'a Schema,
    are_few: bool,
    graphs: RefCell<HashMap<Vec<StreamId>, Rc<Graph>>>,
    warming: HashMap<(StreamId, Kind, Arc<str>), WarmingFact>,
}

impl<'a> Graphs<'a> {
    pub(crate) fn new(store: &'a Store, schema: &'a Schema, states: &[StateFact]) -> Graphs<'a> {
        let are_few = states.iter().map(|state| state.summary.resources).sum::<u64>() < MAX_RESOURCES;
        let mut warming = HashMap::new();
        for fact in store.warming() {
            // The longest wait comes first.
            warming.entry((fact.stream, fact.kind, fact.name.clone())).or_insert(fact);
        }
        Graphs { store, schema, are_few, graphs: RefCell::default(), warming }
    }

    /// Returns the graph of a stream's client. `None` if the source has too many resources.
    pub(crate) fn of(&self, stream: StreamId) -> Option<Rc<Graph>> {
        self.are_few.then(|| self.complete(stream))
    }

    /// Returns the graph of a stream's client, however large.
    pub(crate) fn complete(&self, stream: StreamId) -> Rc<Graph> {
        let streams = graph::streams_of(self.store, stream);
        let mut graphs = self.graphs.borrow_mut();
        let known = graphs.entry(streams);
        let build = |streams: &Vec<StreamId>| Rc::new(Graph::of(self.store, self.schema, streams));
        known.or_insert_with_key(build).clone()
    }

    /// Returns what a resource waits for, if it warms.
    pub(crate) fn warming(&self, fact: &ResourceFact) -> Option<&WarmingFact> {
        let (kind, _) = Kind::of_type_url(fact.type_url.as_str())?;
        self.warming.get(&(fact.stream, kind, fact.name.clone()))
    }
}
