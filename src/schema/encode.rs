use std::borrow::Cow;

use prost::Message;
use prost_reflect::{DeserializeOptions, DynamicMessage};
use serde_json::{Map, Value};

use super::{Schema, message_name};

impl Schema {
    /// The bytes of a message given in protobuf JSON, either spelling of field names. The error names the field
    /// or type that does not fit.
    pub fn encode(&self, name: &str, json: &Value) -> Result<Vec<u8>, String> {
        let name = message_name(name);
        let descriptor = self.message(name).ok_or_else(|| format!("the type {name} is not known"))?;
        let json = with_empty_values(json);
        let message = DynamicMessage::deserialize(descriptor, &*json).map_err(|error| error.to_string())?;
        Ok(message.encode_to_vec())
    }

    /// The same of what was written by descriptors newer than these: fields that are not known are left out, and the first
    /// of them is told. Fails where even that does not help, as with a type that is not known.
    pub fn encode_known(&self, name: &str, json: &Value) -> Result<(Vec<u8>, Option<String>), String> {
        let unknown = match self.encode(name, json) {
            Ok(bytes) => return Ok((bytes, None)),
            Err(why) => why,
        };
        let descriptor = self.message(message_name(name)).ok_or_else(|| unknown.clone())?;
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let json = with_empty_values(json);
        match DynamicMessage::deserialize_with_options(descriptor, &*json, &options) {
            Ok(message) => Ok((message.encode_to_vec(), Some(unknown))),
            Err(_) => Err(unknown),
        }
    }
}

/// An `Any` of an `Empty` may be written without a value, and mostly is; the reader wants one.
fn with_empty_values(json: &Value) -> Cow<'_, Value> {
    if lacks_value(json) {
        let mut json = json.clone();
        add_values(&mut json);
        return Cow::Owned(json);
    }
    Cow::Borrowed(json)
}

fn is_bare(members: &Map<String, Value>) -> bool {
    let url = members.get("@type").and_then(Value::as_str);
    url.is_some_and(|url| message_name(url) == "google.protobuf.Empty") && !members.contains_key("value")
}

fn lacks_value(json: &Value) -> bool {
    match json {
        Value::Array(items) => items.iter().any(lacks_value),
        Value::Object(members) => is_bare(members) || members.values().any(lacks_value),
        _ => false,
    }
}

fn add_values(json: &mut Value) {
    match json {
        Value::Array(items) => items.iter_mut().for_each(add_values),
        Value::Object(members) => {
            if is_bare(members) {
                members.insert("value".into(), Value::Object(Map::new()));
            }
            members.values_mut().for_each(add_values);
        }
        _ => {}
    }
}
