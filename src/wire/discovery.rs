use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::wire::content::{BlobId, Catalog, List};
use crate::wire::event::{Dir, Method, Nonce, Sym, TypeUrl, VersionInfo};
use crate::wire::pb::{self, Fields, put_len_field};

use super::{MAX_FIELD, MessageBuilder};

/// Which of the four discovery messages a stream carries in one direction. Decided by the method path, never
/// guessed from bytes: their field numbers overlap (row B-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    SotwRequest,
    SotwResponse,
    DeltaRequest,
    DeltaResponse,
}

impl Shape {
    pub fn of(method: &Method, dir: Dir) -> Shape {
        match (method.variant.is_delta(), dir) {
            (false, Dir::Req) => Shape::SotwRequest,
            (false, Dir::Resp) => Shape::SotwResponse,
            (true, Dir::Req) => Shape::DeltaRequest,
            (true, Dir::Resp) => Shape::DeltaResponse,
        }
    }

    pub fn dir(self) -> Dir {
        match self {
            Shape::SotwRequest | Shape::DeltaRequest => Dir::Req,
            Shape::SotwResponse | Shape::DeltaResponse => Dir::Resp,
        }
    }

    /// The message's name in `envoy.service.discovery.v3`.
    pub fn message(self) -> &'static str {
        match self {
            Shape::SotwRequest => "DiscoveryRequest",
            Shape::SotwResponse => "DiscoveryResponse",
            Shape::DeltaRequest => "DeltaDiscoveryRequest",
            Shape::DeltaResponse => "DeltaDiscoveryResponse",
        }
    }
}

/// One discovery message: its original bytes by reference to content, and what they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub shape: Shape,
    /// The message's bytes in order; joined they are the message (less secrets, if `redacted`).
    pub segments: Vec<Segment>,
    /// Protobuf bytes on the wire, after gRPC decompression.
    pub size: u64,
    /// Secrets were taken out of it.
    pub redacted: bool,
    pub body: Body,
}

/// A run of whole top-level fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// As they stand.
    Inline(Box<[u8]>),
    /// As they stand too, kept as content: a long run of names that each request repeats.
    Run(BlobId),
    /// One length-delimited field, tag and length in the shortest encoding.
    Field { number: u32, blob: BlobId },
    /// The same for each blob of a list.
    List { number: u32, list: Arc<List> },
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    SotwRequest(SotwRequest),
    SotwResponse(SotwResponse),
    DeltaRequest(DeltaRequest),
    DeltaResponse(DeltaResponse),
    /// The bytes are not the method's message (row B-05).
    Undecodable {
        reason: String,
    },
}

/// `DiscoveryRequest` (checklist M.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SotwRequest {
    pub version_info: VersionInfo,
    pub node: Option<Arc<NodeInfo>>,
    /// As sent, in order, with repeats; shared while the list stays the same.
    pub resource_names: Arc<[Sym]>,
    /// Names out of `resource_locators`, in order (M-07).
    pub resource_locators: Vec<Sym>,
    pub type_url: TypeUrl,
    pub response_nonce: Nonce,
    pub error_detail: Option<Box<ErrorDetail>>,
    /// Numbers of fields that the published message does not have (row B-05).
    pub unknown_fields: Vec<u32>,
}

/// `DiscoveryResponse` (checklist M.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SotwResponse {
    pub version_info: VersionInfo,
    pub resources: Arc<List>,
    pub canary: bool,
    pub type_url: TypeUrl,
    pub nonce: Nonce,
    /// `control_plane.identifier`; `None` while the field is unset.
    pub control_plane: Option<Arc<str>>,
    pub resource_errors: Vec<ResourceError>,
    pub unknown_fields: Vec<u32>,
}

/// `DeltaDiscoveryRequest` (checklist M.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaRequest {
    pub node: Option<Arc<NodeInfo>>,
    pub type_url: TypeUrl,
    pub subscribe: Arc<[Sym]>,
    pub unsubscribe: Arc<[Sym]>,
    /// Name to version, by the names' symbols.
    pub initial_resource_versions: BTreeMap<Sym, Sym>,
    pub response_nonce: Nonce,
    pub error_detail: Option<Box<ErrorDetail>>,
    pub locators_subscribe: Vec<Sym>,
    pub locators_unsubscribe: Vec<Sym>,
    pub unknown_fields: Vec<u32>,
}

/// `DeltaDiscoveryResponse` (checklist M.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaResponse {
    pub system_version_info: VersionInfo,
    pub resources: Arc<List>,
    pub type_url: TypeUrl,
    pub nonce: Nonce,
    /// `removed_resources` and the names of `removed_resource_names` (M-27, M-28).
    pub removed: Vec<Sym>,
    pub control_plane: Option<Arc<str>>,
    pub resource_errors: Vec<ResourceError>,
    pub unknown_fields: Vec<u32>,
}

/// `google.rpc.Status` of a verdict. Its presence is the NACK, even when empty (row E-21).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorDetail {
    pub code: i32,
    pub message: Arc<str>,
    /// The `details` field's `Any`s, as sent.
    pub details: Vec<Bytes>,
}

/// One entry of `resource_errors` (M-14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceError {
    pub name: Sym,
    pub detail: ErrorDetail,
}

/// What of a `Node` rules and screens need; the whole of it is the blob (M-02).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeInfo {
    pub id: String,
    pub cluster: String,
    /// region, zone, sub-zone.
    pub locality: [String; 3],
    pub user_agent: String,
    /// Build or plain version of the user agent, as text.
    pub user_agent_version: String,
    pub client_features: Vec<String>,
    /// The whole node; `None` only where it was never kept.
    pub blob: Option<BlobId>,
}

impl NodeInfo {
    /// Reads a `Node` (v3; the fields it shares with v2 have the same numbers).
    pub fn parse(bytes: &[u8]) -> NodeInfo {
        let mut node = NodeInfo::default();
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                1 => node.id = field.text().into_owned(),
                2 => node.cluster = field.text().into_owned(),
                4 => {
                    for part in Fields::new(field.bytes()).map_while(Result::ok) {
                        if let Some(slot) = node.locality.get_mut((part.number as usize).wrapping_sub(1)) {
                            *slot = part.text().into_owned();
                        }
                    }
                }
                5 if node.user_agent.is_empty() => node.user_agent_version = field.text().into_owned(),
                6 => node.user_agent = field.text().into_owned(),
                7 => node.user_agent_version = field.text().into_owned(),
                8 => node.user_agent_version = semantic_version(field.bytes()),
                10 => node.client_features.push(field.text().into_owned()),
                _ => {}
            }
        }
        node
    }
}

/// `BuildVersion.version` (a `SemanticVersion`) as `major.minor.patch`.
fn semantic_version(bytes: &[u8]) -> String {
    let mut parts = [0u64; 3];
    let version = Fields::new(bytes).map_while(Result::ok).find(|field| field.number == 1);
    for part in version.iter().flat_map(|field| Fields::new(field.bytes()).map_while(Result::ok)) {
        if let Some(slot) = parts.get_mut((part.number as usize).wrapping_sub(1)) {
            *slot = part.varint();
        }
    }
    format!("{}.{}.{}", parts[0], parts[1], parts[2])
}

impl Message {
    /// Reads a whole message. Never fails: what can't be decoded is [`Body::Undecodable`], bytes kept.
    pub fn parse(shape: Shape, bytes: &[u8], catalog: &mut Catalog) -> Message {
        let mut builder = MessageBuilder::new(shape);
        builder.push(bytes, catalog);
        builder.finish(catalog)
    }

    /// The message's bytes; `None` if a body was lost with a damaged recording, or if a recording claims a message
    /// that is longer than [`MAX_FIELD`].
    pub fn bytes(&self, catalog: &Catalog) -> Option<Vec<u8>> {
        // A damaged recording may claim any size.
        let mut out = Vec::with_capacity(self.size.min(64 << 20) as usize);
        for segment in &self.segments {
            match segment {
                Segment::Inline(bytes) => out.extend_from_slice(bytes),
                Segment::Run(blob) => out.extend_from_slice(&catalog.bytes(*blob)?),
                Segment::Field { number, blob } => put_len_field(&mut out, *number, &catalog.bytes(*blob)?),
                Segment::List { number, list } => {
                    for blob in list.blobs() {
                        put_len_field(&mut out, *number, &catalog.bytes(*blob)?);
                        // A few bytes of a hostile recording stand for millions of entries.
                        if out.len() > MAX_FIELD {
                            return None;
                        }
                    }
                }
            }
        }
        Some(out)
    }

    pub fn dir(&self) -> Dir {
        self.shape.dir()
    }

    /// `type_url` as sent: empty where the method implies it, or where the message is undecodable.
    pub fn type_url(&self) -> TypeUrl {
        match &self.body {
            Body::SotwRequest(m) => m.type_url.clone(),
            Body::SotwResponse(m) => m.type_url.clone(),
            Body::DeltaRequest(m) => m.type_url.clone(),
            Body::DeltaResponse(m) => m.type_url.clone(),
            Body::Undecodable { .. } => TypeUrl::default(),
        }
    }

    /// The node that a request carries.
    pub fn node(&self) -> Option<&Arc<NodeInfo>> {
        match &self.body {
            Body::SotwRequest(m) => m.node.as_ref(),
            Body::DeltaRequest(m) => m.node.as_ref(),
            _ => None,
        }
    }

    /// The entries of a response.
    pub fn resources(&self) -> Option<&Arc<List>> {
        match &self.body {
            Body::SotwResponse(m) => Some(&m.resources),
            Body::DeltaResponse(m) => Some(&m.resources),
            _ => None,
        }
    }

    pub fn error_detail(&self) -> Option<&ErrorDetail> {
        match &self.body {
            Body::SotwRequest(m) => m.error_detail.as_deref(),
            Body::DeltaRequest(m) => m.error_detail.as_deref(),
            _ => None,
        }
    }
}

impl ErrorDetail {
    /// Reads a `google.rpc.Status`.
    pub fn parse(bytes: &[u8]) -> ErrorDetail {
        let mut detail = ErrorDetail::default();
        for field in Fields::new(bytes).map_while(Result::ok) {
            match field.number {
                1 => detail.code = field.varint() as i32,
                2 => detail.message = Arc::from(field.text()),
                3 => detail.details.push(Bytes::copy_from_slice(field.bytes())),
                _ => {}
            }
        }
        detail
    }

    /// Writes it as a `google.rpc.Status`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.code != 0 {
            pb::put_tag(&mut out, 1, pb::WIRE_VARINT);
            pb::put_varint(&mut out, i64::from(self.code) as u64);
        }
        if !self.message.is_empty() {
            put_len_field(&mut out, 2, self.message.as_bytes());
        }
        for detail in &self.details {
            put_len_field(&mut out, 3, detail);
        }
        out
    }
}
