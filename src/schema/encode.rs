use std::borrow::Cow;

use prost::Message;
use prost_reflect::{DeserializeOptions, DynamicMessage, MessageDescriptor};
use serde_json::{Map, Value};

use super::parse_error::without_values;
use super::{Schema, message_name};

/// A JSON value that is not a message of the wanted type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The type is unknown.
    #[error("unknown type {0}")]
    UnknownType(String),
    /// The reason names the field or type that does not fit.
    #[error("{0}")]
    Invalid(String),
}

/// The bytes of a message, and the field that was left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LenientEncoding {
    /// The serialized message.
    pub bytes: Vec<u8>,
    /// The first of the fields that the descriptor lacks.
    pub unknown_field: Option<EncodeError>,
}

impl Schema {
    /// Encodes a message given in protobuf JSON, with either spelling of field names.
    ///
    /// # Errors
    ///
    /// Returns an error if the type is unknown, or a field or value does not fit the type.
    pub fn encode(&self, name: &str, json: &Value) -> Result<Vec<u8>, EncodeError> {
        let name = message_name(name);
        let descriptor =
            self.message_of(name, json).ok_or_else(|| EncodeError::UnknownType(name.to_owned()))?;
        let json = with_empty_values(json);
        let message = DynamicMessage::deserialize(descriptor, &*json)
            .map_err(|error| EncodeError::Invalid(without_values(error)))?;
        Ok(message.encode_to_vec())
    }

    /// Encodes a message and leaves out unknown fields, for JSON from newer descriptors.
    ///
    /// # Errors
    ///
    /// Returns an error if the type is unknown, or a known field does not fit the type.
    pub fn encode_known(&self, name: &str, json: &Value) -> Result<LenientEncoding, EncodeError> {
        let error = match self.encode(name, json) {
            Ok(bytes) => return Ok(LenientEncoding { bytes, unknown_field: None }),
            Err(error) => error,
        };
        let Some(descriptor) = self.message_of(message_name(name), json) else { return Err(error) };
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let json = with_empty_values(json);
        match DynamicMessage::deserialize_with_options(descriptor, &*json, &options) {
            Ok(message) => Ok(LenientEncoding { bytes: message.encode_to_vec(), unknown_field: Some(error) }),
            Err(_) => Err(error),
        }
    }

    /// Returns the descriptor of a message. Loads the types of all `Any`s in the JSON.
    fn message_of(&self, name: &str, json: &Value) -> Option<MessageDescriptor> {
        let mut names = vec![name];
        add_payloads(json, &mut names);
        let (pool, _) = self.find_message(name)?;
        let is_elsewhere =
            |name: &&str| self.find_message(name).is_some_and(|(other, _)| !std::ptr::eq(other, pool));
        let all = if names.iter().any(is_elsewhere) { self.joined_sets() } else { None };
        all.and_then(|all| all.message_with(&names)).or_else(|| pool.descriptors.message_with(&names))
    }
}

/// Adds the names of the messages in the `Any`s of a JSON value.
fn add_payloads<'a>(json: &'a Value, names: &mut Vec<&'a str>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| add_payloads(item, names)),
        Value::Object(members) => {
            let url = members.get("@type").and_then(Value::as_str);
            names.extend(url.map(message_name));
            members.values().for_each(|member| add_payloads(member, names));
        }
        _ => {}
    }
}

/// Adds the `value` member to each `Any` of an `Empty`.
///
/// The member is usually omitted, but prost-reflect requires the member.
fn with_empty_values(json: &Value) -> Cow<'_, Value> {
    if lacks_value(json) {
        let mut json = json.clone();
        add_values(&mut json);
        return Cow::Owned(json);
    }
    Cow::Borrowed(json)
}

/// Whether an object is an `Any` of an `Empty` without a `value`.
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
