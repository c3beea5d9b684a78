//! Content of arrow scripts by the descriptors.

use std::sync::Arc;

use serde_json::Value;

use crate::schema::Schema;
use crate::script::Codec;

/// Encodes and decodes what scripts write as protobuf JSON.
pub struct SchemaCodec(pub Arc<Schema>);

impl Codec for SchemaCodec {
    fn encode(&self, message: &str, json: &Value) -> Result<Vec<u8>, String> {
        self.0.encode(message, json)
    }

    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value> {
        self.0.message(message)?;
        Some(self.0.message_to_json(message, bytes))
    }
}
