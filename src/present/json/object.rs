use std::sync::Arc;

use serde_json::{Map, Value};

use super::SCHEMA;

/// An object under construction, fields in the order in which they are put.
pub(super) struct Object(Map<String, Value>);

impl Object {
    /// One of the contract's objects.
    pub(super) fn new(object: &str) -> Self {
        let mut out = Object::bare();
        out.put("schema", SCHEMA);
        out.put("object", object);
        out
    }

    /// An object inside of another.
    pub(super) fn bare() -> Self {
        Object(Map::new())
    }

    /// A field that always applies: `None` is `null`, for "not known".
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// A field that may not apply: `None` leaves it out.
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
