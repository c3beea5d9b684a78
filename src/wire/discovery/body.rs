use std::collections::BTreeMap;
use std::sync::Arc;

use crate::wire::content::List;
use crate::wire::event::{Nonce, Sym, TypeUrl, VersionInfo};

use super::node::NodeInfo;
use super::status::{ErrorDetail, ResourceError};

/// The fields of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    SotwRequest(SotwRequest),
    SotwResponse(SotwResponse),
    DeltaRequest(DeltaRequest),
    DeltaResponse(DeltaResponse),
    /// The bytes are not the message that the method implies (docs/protocol.md#b-05).
    Undecodable {
        reason: String,
    },
}

/// `DiscoveryRequest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SotwRequest {
    pub version_info: VersionInfo,
    pub node: Option<Arc<NodeInfo>>,
    /// As sent, in order, with duplicates; shared while the list stays the same.
    pub resource_names: Arc<[Sym]>,
    /// The names in `resource_locators`, in order.
    pub resource_locators: Vec<Sym>,
    pub type_url: TypeUrl,
    pub response_nonce: Nonce,
    pub error_detail: Option<Box<ErrorDetail>>,
    /// Numbers of fields that the published message does not have (docs/protocol.md#b-05).
    pub unknown_fields: Vec<u32>,
}

/// `DiscoveryResponse`.
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

/// `DeltaDiscoveryRequest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaRequest {
    pub node: Option<Arc<NodeInfo>>,
    pub type_url: TypeUrl,
    pub subscribe: Arc<[Sym]>,
    pub unsubscribe: Arc<[Sym]>,
    /// Version by resource name.
    pub initial_resource_versions: BTreeMap<Sym, Sym>,
    pub response_nonce: Nonce,
    pub error_detail: Option<Box<ErrorDetail>>,
    pub locators_subscribe: Vec<Sym>,
    pub locators_unsubscribe: Vec<Sym>,
    pub unknown_fields: Vec<u32>,
}

/// `DeltaDiscoveryResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaResponse {
    pub system_version_info: VersionInfo,
    pub resources: Arc<List>,
    pub type_url: TypeUrl,
    pub nonce: Nonce,
    /// `removed_resources`, and the names in `removed_resource_names`.
    pub removed: Vec<Sym>,
    pub control_plane: Option<Arc<str>>,
    pub resource_errors: Vec<ResourceError>,
    pub unknown_fields: Vec<u32>,
}
