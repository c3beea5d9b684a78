//! Conversion of payloads between binary protobuf and protobuf JSON.

use std::sync::Arc;

use serde_json::Value;

use crate::record::raw;
use crate::script::{self, Codec};
use xdscope_schema::Schema;

/// Reads and writes the JSON payloads of arrow scripts and raw JSONL with a schema's descriptors.
pub struct SchemaCodec(pub Arc<Schema>);

impl Codec for SchemaCodec {
    fn encode(&self, message: &str, json: &Value) -> Result<Vec<u8>, script::CodecError> {
        self.0.encode(message, json).map_err(script::CodecError::new)
    }

    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value> {
        self.0.message(message)?;
        Some(self.0.message_to_json(message, bytes))
    }

    fn schema(&self) -> Option<&Schema> {
        Some(&self.0)
    }
}

impl raw::JsonCodec for SchemaCodec {
    fn encode(&self, message: &str, json: &Value) -> Option<Vec<u8>> {
        self.0.encode(message, json).ok()
    }

    fn decode(&self, message: &str, bytes: &[u8]) -> Option<Value> {
        Codec::decode(self, message, bytes)
    }
}
