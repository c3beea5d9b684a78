//! Encoders of the discovery messages.
//!
//! Fields are written in the order of their numbers, as protobuf libraries write them, and empty
//! texts are left out. A field that the SotW or the delta form does not have is left out too.

use crate::pb::{WIRE_VARINT, put_len_field, put_tag, put_varint};

use super::fields::{self, DiscoveryField, RESOURCES, map_entry, resource, resource_error};
use super::shape::MessageShape;
use super::status::ErrorDetail;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The fields of a `DiscoveryRequest` or `DeltaDiscoveryRequest`.
#[derive(Clone, Debug, Default)]
pub struct RequestFields<'a> {
    /// SotW only.
    pub version_info: &'a str,
    /// An encoded `Node`.
    pub node: Option<&'a [u8]>,
    /// The type URL of the resources.
    pub type_url: &'a str,
    /// All names (SotW), or the names to subscribe to (delta).
    pub names: Vec<&'a str>,
    /// Delta only.
    pub unsubscribe: Vec<&'a str>,
    /// Delta only: name and version.
    pub initial_versions: Vec<(&'a str, &'a str)>,
    /// The nonce of the response that the request answers; empty if it answers none.
    pub response_nonce: &'a str,
    /// The reason of a NACK.
    pub error_detail: Option<&'a ErrorDetail>,
}

/// The fields of a `DiscoveryResponse` or `DeltaDiscoveryResponse`, without its entries.
#[derive(Clone, Debug, Default)]
pub struct ResponseFields<'a> {
    /// `version_info` (SotW) or `system_version_info` (delta).
    pub version: &'a str,
    /// The type URL of the resources.
    pub type_url: &'a str,
    /// The nonce of the response.
    pub nonce: &'a str,
    /// Delta only.
    pub removed: Vec<&'a str>,
    /// `control_plane.identifier`.
    pub control_plane: Option<&'a str>,
    /// Resource name and status.
    pub resource_errors: Vec<(&'a str, ErrorDetail)>,
}

/// The fields of a `Resource`.
#[derive(Clone, Debug, Default)]
pub struct ResourceFields<'a> {
    /// The version of the resource; empty in SotW.
    pub version: &'a str,
    /// An encoded `Any`.
    pub payload: Option<&'a [u8]>,
    /// The name of the resource.
    pub name: &'a str,
    /// Further names of the resource.
    pub aliases: Vec<&'a str>,
    /// In nanoseconds.
    pub ttl: Option<i128>,
}

/// The fields of a `Node`.
#[derive(Clone, Debug, Default)]
pub struct NodeFields<'a> {
    /// `id`.
    pub id: &'a str,
    /// `cluster`.
    pub cluster: &'a str,
    /// An encoded `Struct`.
    pub metadata: Option<&'a [u8]>,
    /// Region, zone, sub-zone.
    pub locality: [&'a str; 3],
    /// `user_agent_name`, such as `envoy`.
    pub user_agent_name: &'a str,
    /// `user_agent_version`.
    pub user_agent_version: &'a str,
    /// `client_features`.
    pub client_features: Vec<&'a str>,
}

/// Writes top-level fields of one discovery message.
struct MessageWriter {
    shape: MessageShape,
    out: Vec<u8>,
}

impl MessageWriter {
    fn new(shape: MessageShape) -> MessageWriter {
        MessageWriter { shape, out: Vec::new() }
    }

    fn bytes(&mut self, field: DiscoveryField, bytes: &[u8]) {
        if let Some(number) = field.number(self.shape) {
            put_len_field(&mut self.out, number, bytes);
        }
    }

    fn text(&mut self, field: DiscoveryField, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    fn names(&mut self, field: DiscoveryField, names: &[&str]) {
        names.iter().for_each(|name| self.bytes(field, name.as_bytes()));
    }
}

impl RequestFields<'_> {
    /// Returns the encoded message.
    pub fn encode(&self, delta: bool) -> Vec<u8> {
        let mut writer =
            MessageWriter::new(if delta { MessageShape::DeltaRequest } else { MessageShape::SotwRequest });
        writer.text(DiscoveryField::Version, self.version_info);
        if let Some(node) = self.node {
            writer.bytes(DiscoveryField::Node, node);
        }
        if delta {
            writer.text(DiscoveryField::TypeUrl, self.type_url);
        }
        writer.names(DiscoveryField::Names, &self.names);
        if !delta {
            writer.text(DiscoveryField::TypeUrl, self.type_url);
        }
        writer.names(DiscoveryField::Unsubscribe, &self.unsubscribe);
        for (name, version) in &self.initial_versions {
            let mut entry = Vec::new();
            put_len_field(&mut entry, map_entry::KEY, name.as_bytes());
            put_len_field(&mut entry, map_entry::VALUE, version.as_bytes());
            writer.bytes(DiscoveryField::InitialVersions, &entry);
        }
        writer.text(DiscoveryField::Nonce, self.response_nonce);
        if let Some(error) = self.error_detail {
            writer.bytes(DiscoveryField::ErrorDetail, &error.encode());
        }
        writer.out
    }
}

impl ResponseFields<'_> {
    /// Returns the encoded message with these entries: `Any` (SotW) or `Resource` (delta).
    pub fn encode<B: AsRef<[u8]>>(&self, delta: bool, entries: impl IntoIterator<Item = B>) -> Vec<u8> {
        let mut out = self.head(delta);
        for entry in entries {
            put_entry(&mut out, entry.as_ref());
        }
        out.extend_from_slice(&self.tail(delta));
        out
    }

    /// Returns the fields that stand before the entries.
    pub fn head(&self, delta: bool) -> Vec<u8> {
        let mut writer = MessageWriter::new(response_shape(delta));
        writer.text(DiscoveryField::Version, self.version);
        writer.out
    }

    /// Returns the fields that stand after the entries.
    pub fn tail(&self, delta: bool) -> Vec<u8> {
        let mut writer = MessageWriter::new(response_shape(delta));
        writer.text(DiscoveryField::TypeUrl, self.type_url);
        writer.text(DiscoveryField::Nonce, self.nonce);
        writer.names(DiscoveryField::Removed, &self.removed);
        if let Some(identifier) = self.control_plane {
            writer.bytes(DiscoveryField::ControlPlane, &named(identifier));
        }
        for (name, detail) in &self.resource_errors {
            let mut error = Vec::new();
            put_len_field(&mut error, resource_error::RESOURCE_NAME, &named(name));
            put_len_field(&mut error, resource_error::ERROR_DETAIL, &detail.encode());
            writer.bytes(DiscoveryField::ResourceErrors, &error);
        }
        writer.out
    }
}

fn response_shape(delta: bool) -> MessageShape {
    if delta { MessageShape::DeltaResponse } else { MessageShape::SotwResponse }
}

/// Appends an entry of a response: an `Any` (SotW) or a `Resource` (delta).
pub fn put_entry(out: &mut Vec<u8>, entry: &[u8]) {
    put_len_field(out, RESOURCES, entry);
}

/// Returns an encoded `Any`.
pub fn encode_any(type_url: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(type_url.len() + value.len() + 16);
    put_text(&mut out, fields::any::TYPE_URL, type_url);
    if !value.is_empty() {
        put_len_field(&mut out, fields::any::VALUE, value);
    }
    out
}

impl ResourceFields<'_> {
    /// Returns the encoded `Resource`.
    pub fn encode(&self) -> Vec<u8> {
        let payload = self.payload.map_or(0, <[u8]>::len);
        let mut out = Vec::with_capacity(payload + self.name.len() + self.version.len() + 16);
        put_text(&mut out, resource::VERSION, self.version);
        if let Some(payload) = self.payload {
            put_len_field(&mut out, resource::RESOURCE, payload);
        }
        put_text(&mut out, resource::NAME, self.name);
        for alias in &self.aliases {
            put_len_field(&mut out, resource::ALIASES, alias.as_bytes());
        }
        if let Some(nanos) = self.ttl {
            put_len_field(&mut out, resource::TTL, &duration(nanos));
        }
        out
    }
}

impl NodeFields<'_> {
    /// Returns the encoded `Node`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_text(&mut out, fields::node::ID, self.id);
        put_text(&mut out, fields::node::CLUSTER, self.cluster);
        if let Some(metadata) = self.metadata {
            put_len_field(&mut out, fields::node::METADATA, metadata);
        }
        if self.locality.iter().any(|part| !part.is_empty()) {
            let mut inner = Vec::new();
            for (number, part) in (1..).zip(self.locality) {
                put_text(&mut inner, number, part);
            }
            put_len_field(&mut out, fields::node::LOCALITY, &inner);
        }
        put_text(&mut out, fields::node::USER_AGENT_NAME, self.user_agent_name);
        put_text(&mut out, fields::node::USER_AGENT_VERSION, self.user_agent_version);
        for feature in &self.client_features {
            put_len_field(&mut out, fields::node::CLIENT_FEATURES, feature.as_bytes());
        }
        out
    }
}

/// Returns a message whose only field is a name: `ControlPlane`, `ResourceName`.
fn named(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    put_text(&mut out, fields::NAME, name);
    out
}

/// Returns an encoded `google.protobuf.Duration`.
fn duration(nanos: i128) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = [
        (fields::duration::SECONDS, nanos / NANOS_PER_SECOND),
        (fields::duration::NANOS, nanos % NANOS_PER_SECOND),
    ];
    for (number, value) in parts.into_iter().filter(|(_, value)| *value != 0) {
        put_tag(&mut out, number, WIRE_VARINT);
        put_varint(&mut out, i64::try_from(value).unwrap_or(i64::MAX) as u64);
    }
    out
}

fn put_text(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        put_len_field(out, number, text.as_bytes());
    }
}
