//! The four discovery messages: what they say, and how they are encoded.

pub(crate) mod encode;
pub(crate) mod fields;
mod node;
mod status;
mod view;

pub use node::NodeInfo;
pub use status::{ErrorDetail, ResourceError};
pub use view::{RequestView, ResponseView};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::wire::content::{BlobId, Catalog, List};
use crate::wire::event::{Dir, Method, Nonce, Sym, TypeUrl, VersionInfo};
use crate::wire::pb::put_len_field;

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

    /// `type_url` as sent: empty where the method implies the type, and if the message is undecodable.
    pub fn type_url(&self) -> TypeUrl {
        let request = self.request().map(|request| request.type_url);
        request.or_else(|| self.response().map(|response| response.type_url)).cloned().unwrap_or_default()
    }

    /// The node that a request carries.
    pub fn node(&self) -> Option<&Arc<NodeInfo>> {
        self.request()?.node
    }

    /// The entries of a response.
    pub fn resources(&self) -> Option<&Arc<List>> {
        Some(self.response()?.resources)
    }

    /// Numbers of fields that the published message does not have.
    pub fn unknown_fields(&self) -> &[u32] {
        let request = self.request().map(|request| request.unknown_fields);
        request.or_else(|| self.response().map(|response| response.unknown_fields)).unwrap_or_default()
    }

    /// The status of a NACK.
    pub fn error_detail(&self) -> Option<&ErrorDetail> {
        self.request()?.error_detail
    }
}
