//! What a client says that it has applied: Envoy's config dump, and the answers of CSDS (Envoy and
//! gRPC).
//!
//! A dump is a state, not a session. [`Dump::frames`] tells it as the session that would have led
//! to it, so that it is a source like any other; [`Beside::account`] holds it against what was
//! sent.

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

/// What a dump was made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpOrigin {
    /// `/config_dump` of Envoy's admin interface.
    ConfigDump,
    /// A `ClientStatusResponse`.
    Csds,
}

/// All clients of a dump: one in a config dump, any number in CSDS.
#[derive(Clone, Debug)]
pub struct Dump {
    pub origin: DumpOrigin,
    pub clients: Vec<DumpClient>,
    /// What a person must know: what could not be read, and was left out.
    pub notices: Vec<String>,
}

/// What one client has of each type.
#[derive(Clone, Debug, Default)]
pub struct DumpClient {
    /// Its node in binary protobuf; `None` where the dump leaves it out.
    pub node: Option<Vec<u8>>,
    /// The node's id.
    pub id: Option<String>,
    /// Types that the dump is about, those without a resource too, with the version of the type
    /// where there is one.
    pub types: Vec<(TypeUrl, Option<Arc<str>>)>,
    pub entries: Vec<DumpEntry>,
}

/// One resource as the client has it.
#[derive(Clone, Debug)]
pub struct DumpEntry {
    pub type_url: TypeUrl,
    pub name: Arc<str>,
    /// In use.
    pub active: Option<DumpContent>,
    /// Accepted, and not in use yet.
    pub warming: Option<DumpContent>,
    /// The newest refusal, while nothing newer was accepted.
    pub refused: Option<DumpRefusal>,
    pub lack: Option<Absence>,
}

/// One content of a resource.
#[derive(Clone, Debug)]
pub struct DumpContent {
    pub version: Option<Arc<str>>,
    /// A serialized `Any`; `None` where the dump leaves it out, or it could not be read.
    pub any: Option<Vec<u8>>,
}

/// `error_state`.
#[derive(Clone, Debug)]
pub struct DumpRefusal {
    pub text: String,
    /// What was refused, as far as the client kept it.
    pub content: DumpContent,
}

/// Why a client has nothing of a name (`client_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Asked for, no answer yet; also after the client's timer.
    Requested,
    DoesNotExist,
}

/// Why a file is no dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    #[error("neither a config dump (configs, with types that end in ConfigDump) nor a CSDS answer (config)")]
    NotADump,
    #[error("it is cut, or no JSON: {0}")]
    Syntax(String),
}

const CSDS: &str = "envoy.service.status.v3.ClientStatusResponse";

/// What a file's content seems to be, by its shape. `None`: something else.
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

/// Reads a dump: JSON, YAML, and of CSDS also binary protobuf. `name` is the file's, for its
/// ending.
///
/// # Errors
/// It is damaged, or something else.
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

/// A `ClientStatusResponse` in binary: nothing in it that such a one has not, and a client.
fn binary(content: &[u8], schema: &Schema) -> Option<Value> {
    let fits = schema.read_as(CSDS, FileFormat::Binary, content).is_ok();
    let value = fits.then(|| schema.message_to_json(CSDS, content))?;
    let clients = value.get("config")?.as_array()?.len();
    (clients > 0 && detect(&value) == Some(DumpOrigin::Csds)).then_some(value)
}

/// Whether a text that can't be read was meant to be a dump: a cut file is told as that.
pub fn looks_like(head: &str) -> bool {
    head.contains("ConfigDump\"")
        || (head.contains("generic_xds_configs") || head.contains("genericXdsConfigs"))
}

/// A field by its proto name or its JSON name; null where there is none.
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

/// Notices are kept up to this number; the rest is counted in the last one.
const MAX_NOTICES: usize = 8;

/// Turns what a dump holds into what would be on the wire, and notes what it can't.
struct DumpReader<'a> {
    schema: &'a Schema,
    notices: Vec<String>,
}

impl DumpReader<'_> {
    fn note(&mut self, text: String) {
        match self.notices.len() {
            n if n < MAX_NOTICES => self.notices.push(text),
            MAX_NOTICES => self.notices.push("more of the dump could not be read".into()),
            _ => {}
        }
    }

    /// The serialized node, and its id.
    fn node(&mut self, node: &Value) -> (Option<Vec<u8>>, Option<String>) {
        if !node.is_object() {
            return (None, None);
        }
        let id = node["id"].as_str().map(str::to_owned);
        match self.schema.encode_known("envoy.config.core.v3.Node", node) {
            Ok(node) => (Some(node.bytes), id),
            Err(why) => {
                self.note(format!("the node can't be read: {why}"));
                (None, id)
            }
        }
    }

    /// A resource given as an `Any` in JSON: its type, its name, its bytes.
    fn resource(&mut self, resource: &Value) -> Option<(TypeUrl, Option<Arc<str>>, Option<Vec<u8>>)> {
        let url = resource["@type"].as_str()?;
        let name = ["name", "cluster_name"].into_iter().find_map(|name| text(field(resource, name)));
        let mut body = resource.clone();
        body.as_object_mut()?.shift_remove("@type");
        if Kind::of_type_url(url).is_some_and(|(kind, _)| kind == Kind::Eds) {
            config_dump::without_additions(&mut body);
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
                self.note(format!("{label} can't be read: {why}"));
                None
            }
        };
        let any = bytes.map(|bytes| encode_any(url, &bytes));
        Some((TypeUrl::new(url), name, any))
    }

    /// `error_state`, where there is one.
    fn refused(&mut self, state: &Value) -> Option<DumpRefusal> {
        let details = field(state, "details").as_str().unwrap_or_default();
        let version = text(field(state, "version_info"));
        if details.is_empty() && version.is_none() {
            return None;
        }
        let failed = field(state, "failed_configuration");
        let any = if failed.is_object() { self.resource(failed).and_then(|(_, _, any)| any) } else { None };
        Some(DumpRefusal { text: details.to_owned(), content: DumpContent { version, any } })
    }
}

impl DumpEntry {
    fn new(type_url: TypeUrl, name: Arc<str>) -> DumpEntry {
        DumpEntry { type_url, name, active: None, warming: None, refused: None, lack: None }
    }
}

impl DumpClient {
    fn about(&mut self, type_url: TypeUrl, version: Option<Arc<str>>) {
        match self.types.iter_mut().find(|(known, _)| *known == type_url) {
            Some((_, known)) => *known = known.take().or(version),
            None => self.types.push((type_url, version)),
        }
    }

    /// Puts what is known of one name from several places into one entry.
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
                    known.lack = known.lack.or(entry.lack);
                }
            }
        }
        self.entries = merged;
    }
}
