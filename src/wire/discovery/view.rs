use std::sync::Arc;

use crate::content::List;
use crate::event::{Nonce, Sym, TypeUrl, VersionInfo};

use super::body::MessageBody;
use super::message::Message;
use super::node::NodeInfo;
use super::status::{ErrorDetail, ResourceError};

/// The fields of a request, whichever form it has.
#[derive(Clone, Copy, Debug)]
pub struct RequestView<'a> {
    /// The client's node, if the request carries one.
    pub node: Option<&'a Arc<NodeInfo>>,
    /// As sent; empty where the method implies the type.
    pub type_url: &'a TypeUrl,
    /// `version_info`; `None` in the delta form, which has none.
    pub version: Option<&'a VersionInfo>,
    /// All names (SotW), or the names to subscribe to (delta), as sent.
    pub names: &'a Arc<[Sym]>,
    /// Names out of the resource locators to subscribe to.
    pub locators: &'a [Sym],
    /// The nonce of the response that the request answers; empty if none.
    pub response_nonce: &'a Nonce,
    /// Present in a NACK.
    pub error_detail: Option<&'a ErrorDetail>,
    /// Numbers of fields that the published message does not have.
    pub unknown_fields: &'a [u32],
}

/// The fields of a response, whichever form it has.
#[derive(Clone, Copy, Debug)]
pub struct ResponseView<'a> {
    /// `version_info` (SotW) or `system_version_info` (delta).
    pub version: &'a VersionInfo,
    /// The entries, in order.
    pub resources: &'a Arc<List>,
    /// As sent; empty where the method implies the type.
    pub type_url: &'a TypeUrl,
    /// The nonce that the client is to return.
    pub nonce: &'a Nonce,
    /// Names of removed resources; always empty in the SotW form.
    pub removed: &'a [Sym],
    /// `control_plane.identifier`; `None` while the field is unset.
    pub control_plane: Option<&'a Arc<str>>,
    /// Errors of single resources.
    pub resource_errors: &'a [ResourceError],
    /// Numbers of fields that the published message does not have.
    pub unknown_fields: &'a [u32],
    /// Protobuf bytes on the wire.
    pub size: u64,
    /// Whether the message is a `DeltaDiscoveryResponse`.
    pub is_delta: bool,
}

impl Message {
    /// The message as a request; `None` if it is a response or undecodable.
    pub fn request(&self) -> Option<RequestView<'_>> {
        match &self.body {
            MessageBody::SotwRequest(request) => Some(RequestView {
                node: request.node.as_ref(),
                type_url: &request.type_url,
                version: Some(&request.version_info),
                names: &request.resource_names,
                locators: &request.resource_locators,
                response_nonce: &request.response_nonce,
                error_detail: request.error_detail.as_deref(),
                unknown_fields: &request.unknown_fields,
            }),
            MessageBody::DeltaRequest(request) => Some(RequestView {
                node: request.node.as_ref(),
                type_url: &request.type_url,
                version: None,
                names: &request.subscribe,
                locators: &request.locators_subscribe,
                response_nonce: &request.response_nonce,
                error_detail: request.error_detail.as_deref(),
                unknown_fields: &request.unknown_fields,
            }),
            MessageBody::SotwResponse(_)
            | MessageBody::DeltaResponse(_)
            | MessageBody::Undecodable { .. } => None,
        }
    }

    /// The message as a response; `None` if it is a request or undecodable.
    pub fn response(&self) -> Option<ResponseView<'_>> {
        match &self.body {
            MessageBody::SotwResponse(response) => Some(ResponseView {
                version: &response.version_info,
                resources: &response.resources,
                type_url: &response.type_url,
                nonce: &response.nonce,
                removed: &[],
                control_plane: response.control_plane.as_ref(),
                resource_errors: &response.resource_errors,
                unknown_fields: &response.unknown_fields,
                size: self.size,
                is_delta: false,
            }),
            MessageBody::DeltaResponse(response) => Some(ResponseView {
                version: &response.system_version_info,
                resources: &response.resources,
                type_url: &response.type_url,
                nonce: &response.nonce,
                removed: &response.removed,
                control_plane: response.control_plane.as_ref(),
                resource_errors: &response.resource_errors,
                unknown_fields: &response.unknown_fields,
                size: self.size,
                is_delta: true,
            }),
            MessageBody::SotwRequest(_) | MessageBody::DeltaRequest(_) | MessageBody::Undecodable { .. } => {
                None
            }
        }
    }
}
