//! Content of messages and resources, decoded with the descriptors.

use std::sync::Arc;

use serde_json::Value;

use xdscope_engine::filter::ContentLookup;
use xdscope_engine::store::{MessageFact, ResourceFact, Store};
use xdscope_schema::{FieldNames, Schema};
use xdscope_wire::content::BlobId;
use xdscope_wire::event::{ApiVersion, Dir, Method, Seq};
use xdscope_wire::{Message, MessageShape};

/// The full name of the discovery message that `message` is on a stream of `method`.
fn message_name(message: &Message, method: &str) -> String {
    full_name(message.shape, is_v2(method))
}

fn is_v2(method: &str) -> bool {
    Method::parse(method).is_some_and(|method| method.transport == ApiVersion::V2)
}

fn full_name(shape: MessageShape, is_v2: bool) -> String {
    let package = if is_v2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
    format!("{package}.{}", shape.message())
}

/// Decodes message `n` to protobuf JSON, with field names as `names` says.
///
/// Returns `None` if there is no such message, or its content was lost.
pub fn message(store: &Store, schema: &Schema, n: Seq, names: FieldNames) -> Option<Value> {
    let message = store.message(n)?;
    let stream = store.row(store.row_of(n)?)?.stream;
    let method = store.stream(stream)?.method;
    Some(schema.tree(&message_name(&message, &method), &message.bytes(store.catalog())?, names))
}

/// The messages of an intervention, decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterceptedBodies {
    /// The message as it came.
    pub original: Option<Value>,
    /// The message that was sent in its place.
    pub sent: Option<Value>,
}

/// Decodes the messages of an intervention of xdscope, with field names as `names` says.
///
/// Returns `None` if the row is not about an intervention, or its messages are not kept.
pub fn intervention(
    store: &Store,
    schema: &Schema,
    fact: &MessageFact,
    names: FieldNames,
) -> Option<InterceptedBodies> {
    let what = store.intervention(fact)?;
    let method = store.stream(fact.stream)?.method;
    let body = |dir: Dir, bytes: &Option<bytes::Bytes>| {
        let v2 = is_v2(&method);
        let shape = match (what.facts.is_delta, dir) {
            (false, Dir::Req) => MessageShape::SotwRequest,
            (false, Dir::Resp) => MessageShape::SotwResponse,
            (true, Dir::Req) => MessageShape::DeltaRequest,
            (true, Dir::Resp) => MessageShape::DeltaResponse,
        };
        bytes.as_ref().map(|bytes| schema.tree(&full_name(shape, v2), bytes, names))
    };
    let original = body(what.facts.dir, &what.original);
    Some(InterceptedBodies { original, sent: body(what.sent_dir, &what.sent) })
}

/// The bytes of message `n`, as kept.
pub fn message_bytes(store: &Store, n: Seq) -> Option<Vec<u8>> {
    store.message(n)?.bytes(store.catalog())
}

/// Decodes the newest content of a resource; `None` if it has none, or the content was lost.
pub fn resource(store: &Store, schema: &Schema, fact: &ResourceFact, names: FieldNames) -> Option<Value> {
    payload(store, schema, fact.content?, names)
}

/// Decodes the payload of an entry in a list of resources; `None` if the content was lost.
pub fn payload(store: &Store, schema: &Schema, id: BlobId, names: FieldNames) -> Option<Value> {
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
