//! Tests of descriptors and decoding, with all message types, random messages and damaged messages.

mod bare_secrets;
mod discovery_fields;
mod encoder;
mod envoy_texts;
mod explain;
mod hostile;
mod hostile_sets;
pub mod random;
mod redaction;
mod secrets;
mod sets;
mod shown_secrets;
mod stored_messages;
mod walker;

use serde_json::Value;

use super::Schema;
use super::redact::Redactor;
use xdscope_wire::pb::put_len_field;

/// Encodes an `Any` with the payload `value` of the message `name`.
pub fn packed(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, format!("type.googleapis.com/{name}").as_bytes());
    put_len_field(&mut out, 2, value);
    out
}

/// Encodes an `Any` with a message in JSON form.
fn bytes(name: &str, value: &Value) -> Vec<u8> {
    packed(name, &Schema::builtin().encode(name, value).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn redactor() -> Redactor {
    Redactor::new(Schema::builtin(), 42)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

/// Encodes a message with one length-delimited field.
pub fn field(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, payload);
    out
}
