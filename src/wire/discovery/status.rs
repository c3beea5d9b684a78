use std::sync::Arc;

use bytes::Bytes;

use crate::event::Sym;
use crate::pb::{Fields, WIRE_VARINT, put_len_field, put_tag, put_varint};

use super::fields::status;
use super::kept_text::error_text;

/// A `google.rpc.Status` in a request or a response.
///
/// In a request its presence makes the request a NACK, even when it is empty
/// (docs/protocol.md#e-21).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorDetail {
    /// A gRPC status code.
    pub code: i32,
    /// The text for developers.
    pub message: Arc<str>,
    /// The encoded `Any` messages of `details`, as sent: the first [`ErrorDetail::MAX_DETAILS`].
    pub details: Vec<Bytes>,
}

/// An entry of `resource_errors`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceError {
    /// The resource that the error is about.
    pub name: Sym,
    /// The error.
    pub detail: ErrorDetail,
}

impl ErrorDetail {
    /// Limit on the details that are kept: each may be empty.
    pub const MAX_DETAILS: usize = 1024;
    /// Limit on the bytes of the details that are kept.
    pub const MAX_DETAIL_BYTES: usize = 256 << 10;

    /// Reads a `google.rpc.Status`, up to the first malformed field.
    pub fn parse(bytes: &[u8]) -> ErrorDetail {
        let (mut detail, mut room_for_details) = (ErrorDetail::default(), ErrorDetail::MAX_DETAIL_BYTES);
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                status::CODE => detail.code = field.varint() as i32,
                status::MESSAGE => detail.message = Arc::from(error_text(field.bytes())),
                status::DETAILS
                    if detail.details.len() < ErrorDetail::MAX_DETAILS
                        && field.bytes().len() <= room_for_details =>
                {
                    room_for_details -= field.bytes().len();
                    detail.details.push(Bytes::copy_from_slice(field.bytes()));
                }
                _ => {}
            }
        }
        detail
    }

    /// Returns the encoded `google.rpc.Status`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.code != 0 {
            put_tag(&mut out, status::CODE, WIRE_VARINT);
            put_varint(&mut out, i64::from(self.code) as u64);
        }
        if !self.message.is_empty() {
            put_len_field(&mut out, status::MESSAGE, self.message.as_bytes());
        }
        for detail in &self.details {
            put_len_field(&mut out, status::DETAILS, detail);
        }
        out
    }
}
