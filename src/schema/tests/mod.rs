//! Tests of descriptors and decoding, with all message types, random messages and damaged messages.

mod encoder;
mod explain;
mod hostile;
mod hostile_sets;
pub mod random;
mod redaction;
mod secrets;
mod sets;
mod shown_secrets;
mod walker;

use crate::wire::pb::put_len_field;

/// Encodes an `Any` with the payload `value` of the message `name`.
pub fn packed(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, format!("type.googleapis.com/{name}").as_bytes());
    put_len_field(&mut out, 2, value);
    out
}

/// Encodes a message with one length-delimited field.
pub fn field(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, payload);
    out
}
