//! The configuration that a client has applied, from Envoy's config dump or a CSDS response (Envoy
//! and gRPC).
//!
//! [`Dump::frames`] converts a dump to a session that leads to the dumped state, so that a dump can
//! be used like any other source. [`AppliedState::compare`] compares a dump with the resources that
//! were sent.

#![warn(missing_docs)]

mod additions;
mod applied_diff;
mod client_streams;
mod config_dump;
mod csds;
mod dump;
mod following;
mod missing;
mod pods;
mod reader;
mod session;
mod syncz;
#[cfg(test)]
mod tests;
mod ztunnel;

use serde_json::Value;

use xdscope_schema::bootstrap::fields::field;
use xdscope_schema::{MessageFormat, Schema, read_json, without_values, yaml_error};

use pods::PodDump;
use reader::DumpReader;

pub use applied_diff::{AppliedDiff, AppliedState};
pub use dump::{
    Dump, DumpClient, DumpContent, DumpEntry, DumpNotice, DumpOrigin, DumpRefusal, DumpResourceError,
    DumpTimes, DumpedResource, MissingReference, TypeStatus,
};
pub use following::DumpFollower;
pub(crate) use session::{missing_references, other_clusters};

/// A file that is not a dump.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DumpError {
    /// The content has a different structure.
    #[error(
        "neither a config dump (configs, with types that end in ConfigDump) nor a CSDS response (config)"
    )]
    NotADump,
    /// The content is neither JSON nor YAML. Holds the error of the parser.
    #[error("truncated or not JSON: {0}")]
    Syntax(String),
}

const CSDS: &str = "envoy.service.status.v3.ClientStatusResponse";

/// Detects the format of a dump by its fields. Returns `None` for other content.
pub fn detect(value: &Value) -> Option<DumpOrigin> {
    if syncz::proxies_of(value).is_some() {
        return Some(DumpOrigin::Syncz);
    }
    if ztunnel::is_dump(value) {
        return Some(DumpOrigin::Ztunnel);
    }
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
    let mut reader = DumpReader { schema, notices: Vec::new() };
    let Some(pods) = pods::dumps(&value) else {
        let (origin, clients, times) = read_value(&value, &mut reader)?;
        return Ok(Dump { origin, clients, times, notices: reader.notices });
    };
    let mut whole: Option<(DumpOrigin, Vec<DumpClient>, Option<DumpTimes>)> = None;
    for PodDump { pod, dump } in pods {
        match dump {
            Err(why) => reader.note(pods::unread(pod, why)),
            Ok(dump) => match read_value(dump, &mut reader) {
                Err(error) => reader.note(pods::unread(pod, &error.to_string())),
                Ok((origin, mut clients, times)) => {
                    pods::name_clients(&mut clients, pod);
                    let (_, all, known) = whole.get_or_insert((origin, Vec::new(), None));
                    all.append(&mut clients);
                    *known = pods::joined(*known, times);
                }
            },
        }
    }
    let (origin, clients, times) = whole.ok_or(DumpError::NotADump)?;
    Ok(Dump { origin, clients, times, notices: reader.notices })
}

/// Reads the clients of one dump, and the times of the dump.
fn read_value(
    value: &Value,
    reader: &mut DumpReader<'_>,
) -> Result<(DumpOrigin, Vec<DumpClient>, Option<DumpTimes>), DumpError> {
    let origin = detect(value).ok_or(DumpError::NotADump)?;
    let mut times = None;
    let clients = match origin {
        DumpOrigin::ConfigDump => {
            let mut client = config_dump::client(value, reader);
            client.missing = missing::in_dump(value, &client, reader.schema);
            vec![client]
        }
        DumpOrigin::Csds => csds::clients(value, reader),
        DumpOrigin::Ztunnel => vec![ztunnel::client(value, reader)],
        DumpOrigin::Syncz => {
            let clients;
            (clients, times) = syncz::clients(value, reader);
            clients
        }
    };
    Ok((origin, clients, times))
}

/// Reads a dump as JSON, as binary protobuf or as YAML.
fn parse(name: &str, content: &[u8], schema: &Schema) -> Result<Value, DumpError> {
    let json = match read_json::<Value>(content) {
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
        || MessageFormat::from_file_name(name) == Some(MessageFormat::Json)
    {
        return Err(DumpError::Syntax(without_values(json)));
    }
    serde_saphyr::from_str(text).map_err(|error| DumpError::Syntax(yaml_error(&error)))
}

/// Decodes a binary `ClientStatusResponse`. Requires at least one client and no unknown fields.
fn binary(content: &[u8], schema: &Schema) -> Option<Value> {
    schema.read_as(CSDS, MessageFormat::Binary, content).ok()?;
    let value = schema.message_to_json(CSDS, content);
    let clients = value.get("config")?.as_array()?.len();
    (clients > 0 && detect(&value) == Some(DumpOrigin::Csds)).then_some(value)
}

/// Whether the beginning of an unreadable file looks like a dump, for a better error message.
pub fn looks_like(head: &str) -> bool {
    head.contains("ConfigDump\"")
        || (head.contains("generic_xds_configs") || head.contains("genericXdsConfigs"))
}
