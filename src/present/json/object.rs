use std::sync::Arc;

use serde_json::{Map, Value};

use super::SCHEMA;

/// A JSON object under construction: fields keep the order in which they are added.
pub(super) struct Object(Map<String, Value>);

impl Object {
    /// A top-level object of the contract.
    pub(super) fn new(object: &str) -> Self {
        let mut out = Object::bare();
        out.put("schema", SCHEMA);
        out.put("object", object);
        out
    }

    /// A nested object.
    pub(super) fn bare() -> Self {
        Object(Map::new())
    }

    /// Adds a field that always applies: `None` becomes `null`.
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// Adds a field that may not apply: `None` leaves it out.
    pub(super) fn some(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    pub(super) fn list(&mut self, key: &str, items: &[Arc<str>]) {
        self.put(key, items.iter().map(|item| &**item).collect::<Vec<&str>>());
    }

    pub(super) fn done(self) -> Value {
        Value::Object(self.0)
    }
}
