//! The configuration that a client has applied, from Envoy's config dump or a CSDS response (Envoy
//! and gRPC).
//!
//! [`Dump::frames`] converts a dump to a session that leads to the dumped state, so that a dump can
//! be used like any other source. [`AppliedState::compare`] compares a dump with the resources that
//! were sent.

mod applied_diff;
mod config_dump;
mod csds;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::schema::{FileFormat, LenientEncoding, Schema};
use crate::wire::discovery::encode::encode_any;
use crate::wire::event::{Kind, TypeUrl};

pub use applied_diff::{AppliedDiff, AppliedState};

/// The format of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpOrigin {
    /// `/config_dump` of Envoy's admin interface.
    ConfigDump,
    /// A `ClientStatusResponse`.
    Csds,
}

/// A dump of one client (config dump) or any number of clients (CSDS).
#[derive(Clone, Debug)]
pub struct Dump {
    /// The format of the dump.
    pub origin: DumpOrigin,
    /// The clients in the dump.
    pub clients: Vec<DumpClient>,
    /// Notices for the user about omitted parts of the dump.
    pub notices: Vec<String>,
}

/// The resources of a client.
#[derive(Clone, Debug, Default)]
pub struct DumpClient {
    /// The serialized node, if the dump contains the node.
    pub node: Option<Vec<u8>>,
    /// The node's id.
    pub id: Option<String>,
    /// Types in the dump, including types without resources, with the version of the type if there
    /// is one.
    pub types: Vec<(TypeUrl, Option<Arc<str>>)>,
    /// The resources of the client.
    pub entries: Vec<DumpEntry>,
}

/// A resource of a client.
#[derive(Clone, Debug)]
pub struct DumpEntry {
    /// Type of the resource.
    pub type_url: TypeUrl,
    /// Name of the resource.
    pub name: Arc<str>,
    /// The content in use.
    pub active: Option<DumpContent>,
    /// The accepted content that is not in use yet.
    pub warming: Option<DumpContent>,
    /// The newest rejection, unless the client has accepted a newer version.
    pub refused: Option<DumpRefusal>,
    /// The reason why the client lacks the resource.
    pub absence: Option<Absence>,
}

/// A version of a resource.
#[derive(Clone, Debug)]
pub struct DumpContent {
    /// Version of the resource, if stated.
    pub version: Option<Arc<str>>,
    /// The serialized `Any`. `None` if missing or undecodable.
    pub any: Option<Vec<u8>>,
}

/// A rejection (`error_state`).
#[derive(Clone, Debug)]
pub struct DumpRefusal {
    /// The error message of the client.
    pub text: String,
    /// The rejected content, as far as the client has kept it.
    pub content: DumpContent,
}

/// The reason why a client lacks a resource (`client_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Requested without an answer yet, also after a timeout.
    Requested,
    /// The server has reported that the resource does not exist.
    DoesNotExist,
}

/// A file that is not a dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    #[error(
        "neither a config dump (configs, with types that end in ConfigDump) nor a CSDS response (config)"
    )]
    /// The content has a different structure.
    NotADump,
    /// The content is neither JSON nor YAML. Holds the error of the parser.
    #[error("truncated or not JSON: {0}")]
    Syntax(String),
}

const CSDS: &str = "envoy.service.status.v3.ClientStatusResponse";

/// Detects the format of a dump by its fields. Returns `None` for other content.
pub fn detect(value: &Value) -> Option<DumpOrigin> {
    let fields = value.as_object()?;
    if let Some(Value::Array(configs)) = fields.get("configs") {
        let is_dump = |config: &Value| config["@type"].as_str().is_some_and(config_dump::is_section);
        return configs.iter().any(is_dump).then_some(DumpOrigin::ConfigDump);
    }
    let clients = fields.get("config")?.as_array()?;
    let known = ["node", "xds_config", "generic_xds_configs", "client_scope"];
    let is_client = |client: &Value| known.iter().any(|name| !field(client, name).is_null());
    (clients.is_empty() && fields.len() == 1 || clients.iter().any(is_client)).then_some(DumpOrigin::Csds)
}

/// Reads a dump in JSON or YAML, or a CSDS response in binary protobuf.
///
/// `name` is the file name, whose extension is a hint on the format.
///
/// # Errors
///
/// Returns an error if the content is damaged or not a dump.
pub fn read(name: &str, content: &[u8], schema: &Schema) -> Result<Dump, DumpError> {
    let value = parse(name, content, schema)?;
    let origin = detect(&value).ok_or(DumpError::NotADump)?;
    let mut reader = DumpReader { schema, notices: Vec::new() };
    let clients = match origin {
        DumpOrigin::ConfigDump => vec![config_dump::client(&value, &mut reader)],
        DumpOrigin::Csds => csds::clients(&value, &mut reader),
    };
    Ok(Dump { origin, clients, notices: reader.notices })
}

fn parse(name: &str, content: &[u8], schema: &Schema) -> Result<Value, DumpError> {
    let json = match serde_json::from_slice::<Value>(content) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if let Some(value) = binary(content, schema) {
        return Ok(value);
    }
    let text = std::str::from_utf8(content).map_err(|_| DumpError::NotADump)?;
    let head = text.trim_start();
    if head.starts_with('{')
        || head.starts_with('[')
        || FileFormat::from_file_name(name) == Some(FileFormat::Json)
    {
        return Err(DumpError::Syntax(json.to_string()));
    }
    serde_saphyr::from_str(text).map_err(|error| DumpError::Syntax(error.to_string()))
}

/// Decodes a binary `ClientStatusResponse`. Requires at least one client and no unknown fields.
fn binary(content: &[u8], schema: &Schema) -> Option<Value> {
    let fits = schema.read_as(CSDS, FileFormat::Binary, content).is_ok();
    let value = fits.then(|| schema.message_to_json(CSDS, content))?;
    let clients = value.get("config")?.as_array()?.len();
    (clients > 0 && detect(&value) == Some(DumpOrigin::Csds)).then_some(value)
}

/// Whether the beginning of an unreadable file looks like a dump, for a better error message.
pub fn looks_like(head: &str) -> bool {
    head.contains("ConfigDump\"")
        || (head.contains("generic_xds_configs") || head.contains("genericXdsConfigs"))
}

/// Returns a field by its proto name or JSON name, or null if absent.
fn field<'a>(of: &'a Value, name: &str) -> &'a Value {
    match of.get(name) {
        Some(value) => value,
        None => of.get(camel(name)).unwrap_or(&Value::Null),
    }
}

fn camel(name: &str) -> String {
    let mut up = false;
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' => up = true,
            c => out.push(if std::mem::take(&mut up) { c.to_ascii_uppercase() } else { c }),
        }
    }
    out
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<Arc<str>> {
    value.as_str().filter(|text| !text.is_empty()).map(Arc::from)
}

/// Maximum number of notices, followed by one notice for the rest.
const MAX_NOTICES: usize = 8;

/// An encoded resource of a dump.
struct DumpResource {
    type_url: TypeUrl,
    /// The name in the resource.
    name: Option<Arc<str>>,
    /// The serialized `Any`. `None` if invalid.
    any: Option<Vec<u8>>,
}

/// A reader that encodes the resources of a dump and collects notices.
struct DumpReader<'a> {
    schema: &'a Schema,
    notices: Vec<String>,
}

impl DumpReader<'_> {
    fn note(&mut self, text: String) {
        match self.notices.len() {
            n if n < MAX_NOTICES => self.notices.push(text),
            MAX_NOTICES => self.notices.push("further parts of the dump are invalid".into()),
            _ => {}
        }
    }

    /// Returns the serialized node and its id.
    fn node(&mut self, node: &Value) -> (Option<Vec<u8>>, Option<String>) {
        if !node.is_object() {
            return (None, None);
        }
        let id = node["id"].as_str().map(str::to_owned);
        match self.schema.encode_known("envoy.config.core.v3.Node", node) {
            Ok(node) => (Some(node.bytes), id),
            Err(why) => {
                self.note(format!("invalid node: {why}"));
                (None, id)
            }
        }
    }

    /// Encodes a resource that is an `Any` in JSON.
    fn resource(&mut self, resource: &Value) -> Option<DumpResource> {
        let url = resource["@type"].as_str()?;
        let name = ["name", "cluster_name"].into_iter().find_map(|name| text(field(resource, name)));
        let mut body = resource.clone();
        body.as_object_mut()?.shift_remove("@type");
        if Kind::of_type_url(url).is_some_and(|(kind, _)| kind == Kind::Eds) {
            config_dump::remove_additions(&mut body);
        }
        let label =
            format!("{} {}", crate::wire::text::type_label(url), name.as_deref().unwrap_or("without a name"));
        let bytes = match self.schema.encode_known(url, &body) {
            Ok(LenientEncoding { bytes, unknown_field }) => {
                if let Some(error) = unknown_field {
                    self.note(format!("{label}: left out an unknown field: {error}"));
                }
                Some(bytes)
            }
            Err(why) => {
                self.note(format!("{label} is invalid: {why}"));
                None
            }
        };
        let any = bytes.map(|bytes| encode_any(url, &bytes));
        Some(DumpResource { type_url: TypeUrl::new(url), name, any })
    }

    /// Reads `error_state`, if present.
    fn refused(&mut self, state: &Value) -> Option<DumpRefusal> {
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

impl DumpEntry {
    fn new(type_url: TypeUrl, name: Arc<str>) -> DumpEntry {
        DumpEntry { type_url, name, active: None, warming: None, refused: None, absence: None }
    }
}

impl DumpClient {
    fn about(&mut self, type_url: TypeUrl, version: Option<Arc<str>>) {
        match self.types.iter_mut().find(|(known, _)| *known == type_url) {
            Some((_, known)) => *known = known.take().or(version),
            None => self.types.push((type_url, version)),
        }
    }

    /// Merges the entries with equal type and name.
    fn merge(&mut self) {
        let mut at = std::collections::HashMap::new();
        let mut merged: Vec<DumpEntry> = Vec::new();
        for entry in self.entries.drain(..) {
            let place = *at.entry((entry.type_url.clone(), entry.name.clone())).or_insert(merged.len());
            match merged.get_mut(place) {
                None => merged.push(entry),
                Some(known) => {
                    known.active = known.active.take().or(entry.active);
                    known.warming = known.warming.take().or(entry.warming);
                    known.refused = known.refused.take().or(entry.refused);
                    known.absence = known.absence.or(entry.absence);
                }
            }
        }
        self.entries = merged;
    }
}
