//! Content, decoded for print and for `has:` and `field:`.

use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::app::body;
use crate::engine::filter::Lookup;
use crate::engine::store::{ResourceFact, Store};
use crate::schema::{self, Names, Schema};
use crate::wire::content::BlobId;
use crate::wire::event::Seq;
use crate::wire::text::display_safe;

/// A message's content: `null` where it was lost.
pub(super) fn message(store: &Store, schema: &Schema, n: Seq, names: Names) -> Value {
    body::tree(store, schema, n, names).unwrap_or(Value::Null)
}

/// A message's bytes in base64.
pub(super) fn raw(store: &Store, n: Seq) -> Value {
    body::bytes(store, n).map_or(Value::Null, |bytes| STANDARD.encode(bytes).into())
}

/// Adds `body` and `raw` to a `message` object.
pub(super) fn add_to(object: &mut Value, store: &Store, schema: &Schema, n: Option<Seq>) {
    if let (Some(n), Value::Object(fields)) = (n, object) {
        fields.insert("body".into(), message(store, schema, n, Names::Json));
        fields.insert("raw".into(), raw(store, n));
    }
}

/// The newest content of a resource; `None` where it has none, or it was lost.
pub(super) fn resource(store: &Store, schema: &Schema, fact: &ResourceFact, names: Names) -> Option<Value> {
    blob(store, schema, fact.content?, names)
}

/// The payload of an entry.
fn blob(store: &Store, schema: &Schema, id: BlobId, names: Names) -> Option<Value> {
    let catalog = store.catalog();
    let payload = catalog.entry(id).payload?;
    Some(schema.tree("google.protobuf.Any", &catalog.bytes(payload)?, names))
}

/// Writes a value as YAML, each line after `indent`. On a terminal nothing in it can be obeyed.
pub(super) fn write_yaml(out: &mut dyn Write, value: &Value, indent: &str, terminal: bool) -> io::Result<()> {
    for line in schema::to_yaml(value).lines() {
        if terminal {
            writeln!(out, "{indent}{}", display_safe(line))?;
        } else {
            writeln!(out, "{indent}{line}")?;
        }
    }
    Ok(())
}

/// What filters see of content.
pub(super) struct Contents<'a> {
    pub store: &'a Store,
    pub schema: &'a Arc<Schema>,
}

impl Lookup for Contents<'_> {
    fn message(&self, n: Seq, see: &mut dyn FnMut(&Value) -> bool) {
        let Some(message) = self.store.message(n) else { return };
        match message.resources() {
            // One by one: a push may hold 100,000, and the first that matches is enough.
            Some(list) => {
                let mut bodies =
                    list.blobs().iter().filter_map(|id| blob(self.store, self.schema, *id, Names::Original));
                bodies.any(|body| see(&body));
            }
            None => {
                if let Some(body) = body::json(self.store, self.schema, n) {
                    see(&body);
                }
            }
        }
    }

    fn resource(&self, fact: &ResourceFact, see: &mut dyn FnMut(&Value) -> bool) {
        if let Some(body) = resource(self.store, self.schema, fact, Names::Original) {
            see(&body);
        }
    }
}
