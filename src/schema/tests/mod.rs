//! Tests of descriptors and decoding, with all message types, random messages and damaged messages.

mod bare_secrets;
mod discovery_fields;
mod encoded_secrets;
mod encoder;
mod envoy_texts;
mod explain;
mod hostile;
mod hostile_sets;
mod on_demand;
pub mod random;
mod redaction;
mod secret_texts;
mod secrets;
mod sets;
mod shown_secrets;
mod stored_messages;
mod walker;

use serde_json::Value;

use super::Schema;
use super::redact::Redactor;
use crate::pools::pool::Pool;
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

/// Encodes the descriptor set of a pool.
pub fn set_of(pool: &Pool) -> Vec<u8> {
    let mut set = Vec::new();
    pool.descriptors.files().iter().for_each(|file| put_len_field(&mut set, 1, &file.encode_to_vec()));
    set
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
