//! The resources of a source, for the screens that decode them.

use std::sync::Arc;

use serde_json::Value;

use xdscope_engine::constraints::BrokenConstraints;
use xdscope_engine::filter::ContentLookup;
use xdscope_engine::nack::{self, NackReport};
use xdscope_engine::owners::owners_of_resource;
use xdscope_engine::store::{MessageFact, NackFact, ResourceFact, Store, StreamFact};
use xdscope_engine::structured::{StructuredFact, StructuredNames};
use xdscope_present::{explanation, node};
use xdscope_schema::Schema;
use xdscope_schema::links::{self, Link};
use xdscope_schema::owners::Owner;
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId, TypeUrl};

use super::format::{AppliedFilter, BodyFormat};

/// Contents that are searched for alternatives of a name while a screen is drawn.
const MAX_SEARCHED_CONTENTS: usize = 1_000;

/// Renders message bodies and JSON rows with the descriptors.
pub trait BodyRenderer {
    /// The first `limit` lines of a message's body.
    fn body(&self, store: &Store, n: Seq, format: BodyFormat, limit: usize) -> Vec<String>;
    /// A row as the JSON object that `log -o jsonl` prints.
    fn json(&self, store: &Store, fact: &MessageFact) -> String;
    /// The first `limit` lines of a resource's content.
    fn content(&self, store: &Store, id: BlobId, format: BodyFormat, limit: usize) -> Vec<String>;
    /// The decoded contents of a store, for the `has:` and `field:` terms of filters.
    fn lookup<'a>(&'a self, store: &'a Store) -> Box<dyn ContentLookup + 'a>;
    fn schema(&self) -> &Schema;
}

/// The resources of a source, decoded by its descriptors.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    pub store: &'a Store,
    pub(super) bodies: &'a dyn BodyRenderer,
}

impl<'a> Contents<'a> {
    /// The indices of the names that match a filter.
    pub fn pick(
        &self,
        stream: StreamId,
        url: &TypeUrl,
        names: &[Arc<str>],
        applied: &AppliedFilter,
    ) -> Vec<usize> {
        let contents = self.bodies.lookup(self.store);
        self.store.pick(stream, url, names, |fact| applied.filter.resource_with(fact, self.store, &*contents))
    }
    /// The resources of this name on other open streams.
    pub fn held_elsewhere(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Vec<ResourceFact> {
        let open = self.store.open_stream_ids().filter(|other| *other != stream);
        open.filter_map(|other| self.store.resource(other, type_url, name)).collect()
    }
    /// Counts the members of collections.
    pub fn structured_names(&self) -> StructuredNames<'a> {
        StructuredNames::new(self.store, self.bodies.schema(), Vec::new())
    }
    /// The facts of an `xdstp` name.
    pub fn structured(&self, fact: &ResourceFact) -> Option<StructuredFact> {
        let streams = self.store.streams_of_client(fact.stream);
        let names = StructuredNames::new(self.store, self.bodies.schema(), streams);
        names.searching(MAX_SEARCHED_CONTENTS).of(fact)
    }
    /// The size of a content in bytes.
    pub fn size(&self, id: BlobId) -> u64 {
        u64::from(self.store.catalog().blob(id).size)
    }
    /// A content as protobuf JSON with the field names of the API; `None` if the content was
    /// discarded.
    pub fn body(&self, id: BlobId) -> Option<Value> {
        Some(self.bodies.schema().any_to_json(&self.store.catalog().bytes(id)?))
    }
    /// The first `limit` lines of a content.
    pub fn lines(&self, id: BlobId, format: BodyFormat, limit: usize) -> Vec<String> {
        self.bodies.content(self.store, id, format, limit)
    }
    /// A content as text.
    pub fn text(&self, id: BlobId, format: BodyFormat) -> String {
        self.lines(id, format, usize::MAX).join("\n")
    }
    /// The documentation of the field at a path of a body.
    pub fn explain(&self, body: &Value, path: &str) -> Option<String> {
        let found = self.bodies.schema().explain_at(body, path).ok()?;
        Some(explanation::text(&found))
    }
    /// The documentation of a field by its full name: `envoy.config.cluster.v3.Cluster.lb_policy`.
    pub fn explain_field(&self, name: &str) -> Option<String> {
        let found = self.bodies.schema().explain(name).ok()?;
        Some(explanation::text(&found))
    }
    /// The node of a stream as protobuf JSON.
    pub fn node(&self, stream: &StreamFact) -> Option<Value> {
        node::decoded(self.store.catalog(), self.bodies.schema(), stream)
    }
    pub fn links(&self, body: &Value) -> Vec<Link> {
        links::links_of(self.bodies.schema(), body)
    }
    /// The constraints of the API that the newest content of a resource breaks.
    pub fn broken_constraints(&self, fact: &ResourceFact) -> BrokenConstraints {
        BrokenConstraints::of_resource(self.store, self.bodies.schema(), fact)
    }
    /// The Kubernetes objects that the newest content of a resource was made from.
    pub fn owners(&self, fact: &ResourceFact) -> Vec<Owner> {
        owners_of_resource(self.store.catalog(), fact)
    }
    pub fn card(&self, stream: StreamId, type_url: &TypeUrl, nacks: &[NackFact]) -> NackReport {
        nack::nack_report(self.store, self.bodies.schema(), stream, type_url, nacks)
    }
}
