use std::collections::BTreeMap;
use std::sync::Arc;

use crate::content::List;
use crate::event::{Nonce, Sym, TypeUrl, VersionInfo};

use super::node::NodeInfo;
use super::status::{ErrorDetail, ResourceError};

/// The fields of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageBody {
    /// A SotW request.
    SotwRequest(SotwRequest),
    /// A SotW response.
    SotwResponse(SotwResponse),
    /// A delta request.
    DeltaRequest(DeltaRequest),
    /// A delta response.
    DeltaResponse(DeltaResponse),
    /// The bytes are not the message that the method implies (docs/protocol.md#b-05).
    Undecodable {
        /// The reason, for people.
        reason: String,
    },
}

/// `DiscoveryRequest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SotwRequest {
    /// `version_info`.
    pub version_info: VersionInfo,
    /// The client's node, if sent.
    pub node: Option<Arc<NodeInfo>>,
    /// As sent, in order, with duplicates; shared while the list stays the same.
    pub resource_names: Arc<[Sym]>,
    /// The names in `resource_locators`, in order.
    pub resource_locators: Vec<Sym>,
    /// `type_url`, empty if the method implies the type.
    pub type_url: TypeUrl,
    /// `response_nonce`; empty if none.
    pub response_nonce: Nonce,
    /// `error_detail`, present in a NACK.
    pub error_detail: Option<Box<ErrorDetail>>,
    /// Numbers of fields that the published message does not have (docs/protocol.md#b-05).
    pub unknown_fields: Vec<u32>,
}

/// `DiscoveryResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SotwResponse {
    /// `version_info`.
    pub version_info: VersionInfo,
    /// The entries, in order.
    pub resources: Arc<List>,
    /// `canary`.
    pub canary: bool,
    /// `type_url`, empty if the method implies the type.
    pub type_url: TypeUrl,
    /// `nonce`.
    pub nonce: Nonce,
    /// `control_plane.identifier`; `None` while the field is unset.
    pub control_plane: Option<Arc<str>>,
    /// Errors of single resources.
    pub resource_errors: Vec<ResourceError>,
    /// Numbers of fields that the published message does not have.
    pub unknown_fields: Vec<u32>,
}

/// `DeltaDiscoveryRequest`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaRequest {
    /// The client's node, if sent.
    pub node: Option<Arc<NodeInfo>>,
    /// `type_url`, empty if the method implies the type.
    pub type_url: TypeUrl,
    /// `resource_names_subscribe`, in order, with duplicates.
    pub subscribe: Arc<[Sym]>,
    /// `resource_names_unsubscribe`, in order.
    pub unsubscribe: Arc<[Sym]>,
    /// Version by resource name.
    pub initial_resource_versions: BTreeMap<Sym, Sym>,
    /// `response_nonce`; empty if none.
    pub response_nonce: Nonce,
    /// `error_detail`, present in a NACK.
    pub error_detail: Option<Box<ErrorDetail>>,
    /// The names in `resource_locators_subscribe`, in order.
    pub locators_subscribe: Vec<Sym>,
    /// The names in `resource_locators_unsubscribe`, in order.
    pub locators_unsubscribe: Vec<Sym>,
    /// Numbers of fields that the published message does not have.
    pub unknown_fields: Vec<u32>,
}

/// `DeltaDiscoveryResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaResponse {
    /// `system_version_info`.
    pub system_version_info: VersionInfo,
    /// The entries, in order.
    pub resources: Arc<List>,
    /// `type_url`, empty if the method implies the type.
    pub type_url: TypeUrl,
    /// `nonce`.
    pub nonce: Nonce,
    /// `removed_resources`, and the names in `removed_resource_names`.
    pub removed: Vec<Sym>,
    /// `control_plane.identifier`; `None` while the field is unset.
    pub control_plane: Option<Arc<str>>,
    /// Errors of single resources.
    pub resource_errors: Vec<ResourceError>,
    /// Numbers of fields that the published message does not have.
    pub unknown_fields: Vec<u32>,
}
