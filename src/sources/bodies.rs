//! Content of messages and resources, decoded with the descriptors.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::filter::ContentLookup;
use crate::engine::store::{ResourceFact, Store};
use crate::schema::{FieldNames, Schema};
use crate::wire::Message;
use crate::wire::content::BlobId;
use crate::wire::event::{ApiVersion, Method, Seq};

/// The full name of the discovery message that `message` is on a stream of `method`.
fn message_name(message: &Message, method: &str) -> String {
    let v2 = Method::parse(method).is_some_and(|method| method.transport == ApiVersion::V2);
    let package = if v2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
    format!("{package}.{}", message.shape.message())
}

/// Decodes message `n` to protobuf JSON, with field names as `names` says.
///
/// Returns `None` if there is no such message, or its content was lost.
pub fn message(store: &Store, schema: &Schema, n: Seq, names: FieldNames) -> Option<Value> {
    let message = store.message(n)?;
    let stream = store.row(store.row_of(n)?)?.stream;
    let method = store.streams().into_iter().find(|fact| fact.stream == stream)?.method;
    Some(schema.tree(&message_name(&message, &method), &message.bytes(store.catalog())?, names))
}

/// The bytes of message `n`, as kept.
pub fn message_bytes(store: &Store, n: Seq) -> Option<Vec<u8>> {
    store.message(n)?.bytes(store.catalog())
}

/// Decodes the newest content of a resource; `None` if it has none, or the content was lost.
pub fn resource(store: &Store, schema: &Schema, fact: &ResourceFact, names: FieldNames) -> Option<Value> {
    payload(store, schema, fact.content?, names)
}

/// Decodes the payload of an entry in a list of resources.
fn payload(store: &Store, schema: &Schema, id: BlobId, names: FieldNames) -> Option<Value> {
    let catalog = store.catalog();
    let payload = catalog.entry(id).payload?;
    Some(schema.tree("google.protobuf.Any", &catalog.bytes(payload)?, names))
}

/// Decoded content for the `has:` and `field:` terms of filters.
pub struct Contents<'a> {
    /// The store with the messages and their content.
    pub store: &'a Store,
    /// The descriptors to decode with.
    pub schema: &'a Arc<Schema>,
}

impl ContentLookup for Contents<'_> {
    fn message(&self, n: Seq, see: &mut dyn FnMut(&Value) -> bool) {
        let Some(found) = self.store.message(n) else { return };
        match found.resources() {
            // A response may hold 100,000 resources, and the first match is enough: decode them one
            // by one.
            Some(list) => {
                let decode = |id: &BlobId| payload(self.store, self.schema, *id, FieldNames::Original);
                let _ = list.blobs().iter().filter_map(decode).any(|body| see(&body));
            }
            None => {
                if let Some(body) = message(self.store, self.schema, n, FieldNames::Original) {
                    see(&body);
                }
            }
        }
    }

    fn resource(&self, fact: &ResourceFact, see: &mut dyn FnMut(&Value) -> bool) {
        if let Some(body) = resource(self.store, self.schema, fact, FieldNames::Original) {
            see(&body);
        }
    }
}
