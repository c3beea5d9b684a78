//! The resources of a source, for the screens that decode them.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use xdscope_engine::constraints::BrokenConstraints;
use xdscope_engine::filter::ContentLookup;
use xdscope_engine::nack::{self, NackReport};
use xdscope_engine::store::{MessageFact, NackFact, ResourceFact, Store, StreamFact, SummaryFact, Versions};
use xdscope_engine::structured::{StructuredFact, StructuredNames};
use xdscope_present::{explanation, node};
use xdscope_schema::Schema;
use xdscope_schema::links::{self, Link};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{Seq, StreamId, Time, TypeUrl};

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
    pub(super) store: &'a Store,
    pub(super) bodies: &'a dyn BodyRenderer,
}

impl<'a> Contents<'a> {
    /// The store of the source.
    pub fn store(&self) -> &'a Store {
        self.store
    }
    /// The types of a stream, in no particular order.
    pub fn types(&self, stream: StreamId) -> Vec<SummaryFact> {
        self.store.summaries_of(stream)
    }
    /// Those of the named resources of a type that warm.
    pub fn warming_among(&self, stream: StreamId, url: &TypeUrl, names: &[Arc<str>]) -> Vec<Arc<str>> {
        self.store.warming_among(stream, url, names)
    }
    /// The names of a type's resources, sent or subscribed to.
    pub fn names(&self, stream: StreamId, type_url: &TypeUrl) -> Vec<Arc<str>> {
        self.store.resource_names(stream, type_url)
    }
    /// Names of a type from a position on, at most `most`.
    pub fn names_from(
        &self,
        stream: StreamId,
        type_url: &TypeUrl,
        from: usize,
        most: usize,
    ) -> Vec<Arc<str>> {
        self.store.resource_names_from(stream, type_url, from, most)
    }
    /// At most `most` of these names.
    pub fn first_names(&self, stream: StreamId, type_url: &TypeUrl, most: usize) -> Vec<Arc<str>> {
        self.store.first_resource_names(stream, type_url, most)
    }
    /// A number that changes whenever the names of a type may have changed.
    pub fn names_mark(&self, stream: StreamId, type_url: &TypeUrl) -> u64 {
        self.store.names_mark(stream, type_url)
    }
    /// Whether these rows may change what is known about a resource.
    pub fn is_news(&self, stream: StreamId, type_url: &TypeUrl, name: &str, rows: Range<usize>) -> bool {
        self.store.is_news(stream, type_url, name, rows)
    }
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
    pub fn now(&self) -> Time {
        self.store.now()
    }
    /// The resources of this name on other open streams.
    pub fn held_elsewhere(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Vec<ResourceFact> {
        let open = self.store.open_stream_ids().filter(|other| *other != stream);
        open.filter_map(|other| self.store.resource(other, type_url, name)).collect()
    }
    /// A number that changes whenever names or contents of a type may have changed.
    pub fn mark(&self, stream: StreamId, type_url: &TypeUrl) -> u64 {
        self.store.mark(stream, type_url)
    }
    pub fn resource(&self, stream: StreamId, type_url: &TypeUrl, name: &str) -> Option<ResourceFact> {
        self.store.resource(stream, type_url, name)
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
    /// Looks for older contents of a resource in up to `rows` more rows.
    pub fn more_versions(
        &self,
        stream: StreamId,
        type_url: &TypeUrl,
        name: &str,
        rows: usize,
        found: &mut Versions,
    ) {
        self.store.more_versions(stream, type_url, name, rows, found);
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
    /// The documentation of the field at a path of a body.
    pub fn explain(&self, body: &Value, path: &str) -> Option<String> {
        let found = self.bodies.schema().explain_at(body, path).ok()?;
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
    pub fn card(&self, stream: StreamId, type_url: &TypeUrl, nacks: &[NackFact]) -> NackReport {
        nack::nack_report(self.store, self.bodies.schema(), stream, type_url, nacks)
    }
}
