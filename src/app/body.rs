//! A message's body, opened with the descriptors.

use serde_json::Value;

use crate::engine::store::Store;
use crate::schema::{Names, Schema};
use crate::wire::Message;
use crate::wire::event::{ApiVersion, Method, Seq};

/// The full name of the discovery message that `message` is on a stream of this method.
fn name(message: &Message, method: &str) -> String {
    let v2 = Method::parse(method).is_some_and(|method| method.transport == ApiVersion::V2);
    let package = if v2 { "envoy.api.v2" } else { "envoy.service.discovery.v3" };
    format!("{package}.{}", message.shape.message())
}

/// The body of message `n` in protobuf JSON; `None` if there is no such message or its content was lost.
pub fn json(store: &Store, schema: &Schema, n: Seq) -> Option<Value> {
    tree(store, schema, n, Names::Original)
}

/// The same with the field names of choice.
pub fn tree(store: &Store, schema: &Schema, n: Seq, names: Names) -> Option<Value> {
    let message = store.message(n)?;
    let stream = store.row(store.row_of(n)?)?.stream;
    let method = store.streams().into_iter().find(|fact| fact.stream == stream)?.method;
    Some(schema.tree(&name(&message, &method), &message.bytes(store.catalog())?, names))
}

/// The bytes of message `n`, as kept.
pub fn bytes(store: &Store, n: Seq) -> Option<Vec<u8>> {
    store.message(n)?.bytes(store.catalog())
}
