//! A stored content: its facts, its form, and how a wrapper is joined with its payload.

use std::borrow::Cow;

use super::{BlobId, Wrapper};
use crate::discovery::fields::{any, resource};
use crate::event::Sym;
use crate::pb::{self, put_len_field};

/// The facts of a blob, without its body.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Keyed hash of the bytes on the wire, before redaction: equal bytes have equal hashes.
    pub hash: u128,
    /// Bytes on the wire.
    pub size: u32,
    /// Bytes as stored; differs from `size` if secrets were removed.
    pub kept: u32,
    /// Secrets were removed from the blob or from the payload that it wraps.
    pub redacted: bool,
    /// The message in the blob.
    pub form: BlobForm,
    /// The next blob in the most recent list that contained this one.
    pub(super) follower: BlobId,
}

/// The message that a blob holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlobForm {
    /// An `Any` with a resource.
    ///
    /// `name` is the resource's own name, empty if the type has no known name field.
    Any {
        /// Type of the resource.
        type_url: Sym,
        /// Name of the resource.
        name: Sym,
    },
    /// A `Resource` with or without a payload.
    ///
    /// Stored as the bytes around the payload, which belongs at offset `head`.
    Wrapper {
        /// The fields of the `Resource`.
        wrapper: Box<Wrapper>,
        /// Offset of the payload in bytes.
        head: u32,
    },
    /// Bytes that do not parse as an entry, or are not an entry, such as a node or a run of names.
    Other,
}

impl Blob {
    /// Creates a blob that was read from a recording.
    pub fn new(hash: u128, size: u32, kept: u32, redacted: bool, form: BlobForm) -> Self {
        Blob { hash, size, kept, redacted, form, follower: BlobId::NONE }
    }
}

impl BlobForm {
    /// Joins an entry from its stored body and, for a wrapper, the bytes of its payload.
    pub fn join<'a>(&self, body: &'a [u8], payload: Option<&[u8]>) -> Cow<'a, [u8]> {
        match self {
            BlobForm::Wrapper { wrapper, head } => {
                join_wrapper(body, *head as usize, payload, wrapper.in_any).into()
            }
            _ => body.into(),
        }
    }
}

/// Tag of the payload field, which is length-delimited.
pub(super) const PAYLOAD_TAG: u8 = (resource::RESOURCE as u8) << 3 | pb::WIRE_LEN;

const ANY_OF_WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// Joins an entry from the bytes around its payload.
pub(super) fn join_wrapper(around: &[u8], head: usize, payload: Option<&[u8]>, in_any: bool) -> Vec<u8> {
    let head = head.min(around.len());
    let mut message = around[..head].to_vec();
    if let Some(payload) = payload {
        put_len_field(&mut message, resource::RESOURCE, payload);
    }
    message.extend_from_slice(&around[head..]);
    if in_any { any_of_wrapper(&message) } else { message }
}

/// Returns a `Resource` as SotW responses carry it. An empty one has an empty `value` field too.
pub(super) fn any_of_wrapper(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 70);
    put_len_field(&mut out, any::TYPE_URL, ANY_OF_WRAPPER.as_bytes());
    put_len_field(&mut out, any::VALUE, message);
    out
}

/// Returns the length of a resource wrapper with its payload.
pub(super) fn joined_len(around: usize, payload: Option<usize>, in_any: bool) -> usize {
    let message = around + payload.map_or(0, |len| pb::tag_len(resource::RESOURCE, len) + len);
    if !in_any {
        return message;
    }
    pb::tag_len(any::TYPE_URL, ANY_OF_WRAPPER.len())
        + ANY_OF_WRAPPER.len()
        + pb::tag_len(any::VALUE, message)
        + message
}
