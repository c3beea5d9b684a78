//! Messages and ends that a control plane sends on purpose, whatever its snapshot says.

use bytes::Bytes;

use super::snapshot::WRAPPER;
use xdscope_wire::ErrorDetail;
use xdscope_wire::discovery::encode::{ResourceFields, ResponseFields, encode_any, put_entry};
use xdscope_wire::event::{Code, TypeUrl};

/// An action on the open streams that are served from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Send a response on each stream that has subscribed to this type.
    Push(TypeUrl, PushedContent),
    /// Send these bytes as a message on each stream that has subscribed to this type.
    Bytes(TypeUrl, Bytes),
    /// End each stream with this status.
    End(Code, String),
}

/// The content of a response that need not be valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushedContent {
    /// The type that the response states; empty: the type of the subscription.
    pub stated_type: String,
    /// Version of the response.
    pub version: String,
    /// The entries, in order.
    pub entries: Vec<PushedEntry>,
    /// Delta only.
    pub removed: Vec<String>,
    /// Names with an error in place of a resource.
    pub errors: Vec<(String, ErrorDetail)>,
    /// Bytes to append to the message.
    pub appended: Bytes,
}

/// An entry of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushedEntry {
    /// The name in delta, and in a wrapper.
    pub name: String,
    /// The version of the resource.
    pub version: String,
    /// An encoded `Any`; `None`: no payload.
    pub any: Option<Bytes>,
    /// The time to live in nanoseconds, which SotW sends in a wrapper.
    pub ttl: Option<i128>,
}

impl PushedEntry {
    fn encode(&self, is_delta: bool) -> Vec<u8> {
        let fields = ResourceFields {
            version: &self.version,
            payload: self.any.as_deref(),
            name: &self.name,
            ttl: self.ttl,
            ..ResourceFields::default()
        };
        match &self.any {
            _ if is_delta => fields.encode(),
            Some(any) if self.ttl.is_none() => any.to_vec(),
            _ => encode_any(WRAPPER, &fields.encode()),
        }
    }
}

impl PushedContent {
    /// Returns the encoded response.
    pub(super) fn encode(&self, url: &TypeUrl, is_delta: bool, nonce: &str, plane: &str) -> Bytes {
        let stated = if self.stated_type.is_empty() { url.as_str() } else { &self.stated_type };
        let fields = ResponseFields {
            version: &self.version,
            type_url: stated,
            nonce,
            removed: self.removed.iter().map(String::as_str).collect(),
            control_plane: Some(plane),
            resource_errors: self.errors.iter().map(|(name, error)| (&**name, error.clone())).collect(),
        };
        let mut out = fields.head(is_delta);
        self.entries.iter().for_each(|entry| put_entry(&mut out, &entry.encode(is_delta)));
        out.extend(fields.tail(is_delta));
        out.extend_from_slice(&self.appended);
        out.into()
    }
}
