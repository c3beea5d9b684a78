//! Reader of the parts that config dumps and CSDS responses share.

use std::sync::Arc;

use serde_json::Value;

use xdscope_schema::bootstrap::fields::field;
use xdscope_schema::{LenientEncoding, Schema};
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::{Code, Kind, TypeUrl};

use super::additions::remove_additions;
use super::dump::{DumpContent, DumpEntry, DumpNotice, DumpRefusal, DumpResourceError, DumpedResource};

/// Maximum number of notices, followed by one notice for the rest.
const MAX_NOTICES: usize = 8;

/// The code of gRPC for an error without a code.
pub(super) const UNKNOWN: Code = Code(2);
/// The code of gRPC for a wait that has ended.
const DEADLINE_EXCEEDED: Code = Code(4);
/// The code of gRPC for a resource that does not exist.
const NOT_FOUND: Code = Code(5);

/// Statement of a dump about a resource besides its content.
#[derive(Debug, Default)]
pub(super) struct ResourceStatus {
    is_requested: bool,
    refused: Option<DumpRefusal>,
    error: Option<DumpResourceError>,
}

impl ResourceStatus {
    pub(super) fn is_empty(&self) -> bool {
        !self.is_requested && self.refused.is_none() && self.error.is_none()
    }

    pub(super) fn add_to(self, entry: &mut DumpEntry) {
        entry.is_requested |= self.is_requested;
        entry.refused = self.refused;
        entry.error = self.error;
    }
}

pub(super) struct DumpResource {
    pub(super) type_url: TypeUrl,
    pub(super) name: Option<Arc<str>>,
    /// The serialized `Any`. `None` if invalid.
    pub(super) any: Option<Vec<u8>>,
}

/// A reader that encodes the resources of a dump and collects notices.
pub(super) struct DumpReader<'a> {
    pub(super) schema: &'a Schema,
    pub(super) notices: Vec<DumpNotice>,
}

impl DumpReader<'_> {
    pub(super) fn note(&mut self, notice: DumpNotice) {
        match self.notices.len() {
            n if n < MAX_NOTICES => self.notices.push(notice),
            MAX_NOTICES => self.notices.push(DumpNotice::More),
            _ => {}
        }
    }

    /// Returns the serialized node and its id.
    pub(super) fn node(&mut self, node: &Value) -> (Option<Vec<u8>>, Option<String>) {
        if !node.is_object() {
            return (None, None);
        }
        let id = node["id"].as_str().map(str::to_owned);
        match self.schema.encode_known("envoy.config.core.v3.Node", node) {
            Ok(node) => (Some(node.bytes), id),
            Err(error) => {
                self.note(DumpNotice::InvalidNode(error));
                (None, id)
            }
        }
    }

    /// Encodes a resource that is an `Any` in JSON.
    pub(super) fn resource(&mut self, resource: &Value) -> Option<DumpResource> {
        let url = resource["@type"].as_str()?;
        let name = ["name", "cluster_name"].into_iter().find_map(|name| text(field(resource, name)));
        let mut body = resource.clone();
        body.as_object_mut()?.shift_remove("@type");
        if Kind::of_type_url(url).is_some_and(|(kind, _)| kind == Kind::Eds) {
            remove_additions(&mut body);
        }
        let dumped = || DumpedResource { type_url: url.to_owned(), name: name.clone() };
        let bytes = match self.schema.encode_known(url, &body) {
            Ok(LenientEncoding { bytes, unknown_field }) => {
                if let Some(error) = unknown_field {
                    self.note(DumpNotice::UnknownField(dumped(), error));
                }
                Some(bytes)
            }
            Err(error) => {
                self.note(DumpNotice::InvalidResource(dumped(), error));
                None
            }
        };
        let any = bytes.map(|bytes| encode_any(url, &bytes));
        Some(DumpResource { type_url: TypeUrl::new(url), name, any })
    }

    /// Reads `client_status` and `error_state` of a resource.
    ///
    /// The error is the server's or that of the wait, unless the client has refused the resource.
    pub(super) fn status(&mut self, item: &Value) -> ResourceStatus {
        let failure = self.failure(field(item, "error_state"));
        let status = field(item, "client_status").as_str().unwrap_or_default();
        let code = match status {
            "DOES_NOT_EXIST" => Some(NOT_FOUND),
            "TIMEOUT" => Some(DEADLINE_EXCEEDED),
            "RECEIVED_ERROR" => Some(UNKNOWN),
            _ => None,
        };
        let Some(code) = code else {
            return ResourceStatus { is_requested: status == "REQUESTED", refused: failure, error: None };
        };
        let text = failure.map(|failure| failure.text).unwrap_or_default();
        ResourceStatus { error: Some(DumpResourceError { code, text }), ..ResourceStatus::default() }
    }

    /// Reads `error_state`, if present.
    fn failure(&mut self, state: &Value) -> Option<DumpRefusal> {
        let details = field(state, "details").as_str().unwrap_or_default();
        let version = text(field(state, "version_info"));
        if details.is_empty() && version.is_none() {
            return None;
        }
        let failed = field(state, "failed_configuration");
        let any =
            if failed.is_object() { self.resource(failed).and_then(|resource| resource.any) } else { None };
        Some(DumpRefusal { text: details.to_owned(), content: DumpContent { version, any } })
    }
}

/// Returns a text that is not empty.
pub(super) fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}
