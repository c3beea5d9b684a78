use prost::Message;
use prost_reflect::DynamicMessage;
use serde_json::Value;

use super::{Schema, message_name};

impl Schema {
    /// The bytes of a message given in protobuf JSON, either spelling of field names. The error names the field
    /// or type that does not fit.
    pub fn encode(&self, name: &str, json: &Value) -> Result<Vec<u8>, String> {
        let name = message_name(name);
        let descriptor = self.message(name).ok_or_else(|| format!("the type {name} is not known"))?;
        let message = DynamicMessage::deserialize(descriptor, json).map_err(|error| error.to_string())?;
        Ok(message.encode_to_vec())
    }
}
