//! The descriptors, and what is made of them: over every type there is, over random messages, over damage.

mod encoder;
mod explain;
mod hostile;
pub mod random;
mod redaction;
mod sets;
mod walker;

use crate::wire::pb::put_len_field;

/// An `Any` of a message by full name.
pub fn packed(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, 1, format!("type.googleapis.com/{name}").as_bytes());
    put_len_field(&mut out, 2, value);
    out
}

/// A message of one length-delimited field.
pub fn field(number: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_len_field(&mut out, number, payload);
    out
}
