//! Content, decoded for print and for `has:` and `field:`.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::Value;

use crate::app::body;
use crate::content::BlobId;
use crate::event::Seq;
use crate::filter::Lookup;
use crate::schema::{self, Schema, base64};
use crate::store::{ResourceFact, Store};
use crate::text::display_safe;

/// Body (protobuf JSON) and bytes (base64) of a message; `null` where its content was lost.
pub(super) fn message(store: &Store, schema: &Schema, n: Seq) -> (Value, Value) {
    let raw = body::bytes(store, n).map_or(Value::Null, |bytes| base64::encode(&bytes).into());
    (body::json(store, schema, n).unwrap_or(Value::Null), raw)
}

/// The newest content of a resource in protobuf JSON; `None` where it has none, or it was lost.
pub(super) fn resource(store: &Store, schema: &Schema, fact: &ResourceFact) -> Option<Value> {
    blob(store, schema, fact.content?)
}

/// The payload of an entry.
fn blob(store: &Store, schema: &Schema, id: BlobId) -> Option<Value> {
    let catalog = store.catalog();
    let payload = catalog.entry(id).payload?;
    Some(schema.any_to_json(&catalog.bytes(payload)?))
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
                let mut bodies = list.blobs().iter().filter_map(|id| blob(self.store, self.schema, *id));
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
        if let Some(body) = resource(self.store, self.schema, fact) {
            see(&body);
        }
    }
}
