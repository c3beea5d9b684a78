//! Files and folders of resources as a side of a comparison: YAML, JSON, bootstraps and config
//! dumps.

use crate::cli::source::{offline, prefixes};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use xdscope_engine::applied::{self, Dump};
use xdscope_present::applied::dump_notice;
use xdscope_schema::redact::Redactor;
use xdscope_schema::{EncodeError, Schema, yaml_error};
use xdscope_sources::{VersionedResource, record};
use xdscope_wire::content::Redact;
use xdscope_wire::discovery::encode::encode_any;
use xdscope_wire::event::TypeUrl;

use super::side::{Content, Member, has_mark};
use crate::cli::args::SourceArgs;
use crate::cli::error::CliError;
use crate::cli::terminal::io::Io;

/// Finds the path of a source of resources.
///
/// # Errors
/// The source is missing, or of another kind.
pub(super) fn find(name: &str, io: &Io<'_>) -> Result<PathBuf, CliError> {
    let path = PathBuf::from(name.strip_prefix("file:").unwrap_or(name));
    if path.is_dir() {
        return Ok(path);
    }
    let path = offline::find(name, io)?;
    let no = || CliError::unreadable(format!("{name} is not a file of resources"));
    if !has_ending(&path) {
        return Err(no());
    }
    let mut head = Vec::new();
    let file = File::open(&path).map_err(|error| no().because(error))?;
    file.take(8 << 10).read_to_end(&mut head).map_err(|error| no().because(error))?;
    if record::detect(&head) == record::FileFormat::Other { Ok(path) } else { Err(no()) }
}

fn has_ending(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    matches!(ending.as_deref(), Some("yaml" | "yml" | "json"))
}

/// Reads all resources, in order of files.
///
/// Each is converted to its form on the wire, without secrets. The first resource of a name counts.
/// Notices describe the parts of a dump that could not be read.
pub(super) fn read(
    path: &Path,
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<(Vec<Member>, Vec<String>), CliError> {
    let files =
        if path.is_dir() { xdscope_sources::list_files(path, &has_ending)? } else { vec![path.to_owned()] };
    let redact: Option<Arc<dyn Redact>> =
        if args.keep_secrets { None } else { Some(Arc::new(Redactor::new(schema.clone(), seed))) };
    let mut members: Vec<Member> = Vec::new();
    let mut met = HashSet::new();
    let mut notices = Vec::new();
    for file in &files {
        let failed = || CliError::unreadable(format!("cannot read {}", file.display()));
        let content = xdscope_sources::read_resources(file, offline::options(&args.timers).history)?;
        let text = std::str::from_utf8(&content).map_err(|error| failed().because(error))?;
        let name = match prefixes::is_port(&args.source) {
            true => args.source.clone(),
            false => file.to_string_lossy().into_owned(),
        };
        if let Some(dump) = xdscope_sources::read_dump(&name, &content, schema)? {
            let of_dump = of_dump(&dump, schema, redact.as_deref());
            members.extend(of_dump.into_iter().filter(|member| met.insert(member.key())));
            notices.extend(dump.notices.iter().map(dump_notice));
            continue;
        }
        let mut found = Vec::new();
        for document in
            xdscope_sources::parse_documents(text).map_err(|why| failed().because(yaml_error(&why)))?
        {
            xdscope_sources::collect_resources(document, None, &mut found);
        }
        for VersionedResource { fields, version, .. } in found {
            let member = member(fields, version, schema, redact.as_deref()).map_err(|why| {
                failed().because(why).next("--proto FILE -I DIR or --protoset FILE adds descriptors")
            })?;
            if met.insert(member.key()) {
                members.push(member);
            }
        }
    }
    if members.is_empty() {
        return Err(CliError::unreadable(format!("there is no resource in {}", path.display()))
            .next("each needs an `@type`, such as type.googleapis.com/envoy.config.cluster.v3.Cluster"));
    }
    Ok((members, notices))
}

/// Returns the resources of a dump: the active one of each name, or else the warming one.
fn of_dump(dump: &Dump, schema: &Schema, redact: Option<&dyn Redact>) -> Vec<Member> {
    let entries = dump.clients.iter().flat_map(|client| &client.entries);
    let member = |entry: &applied::DumpEntry| {
        let content = entry.active.as_ref().or(entry.warming.as_ref())?;
        let any = content.any.as_deref();
        let clean = any.and_then(|any| redact?.resource(any));
        let tree = clean.as_deref().or(any).map(|any| schema.any_to_json(any));
        Some(Member {
            session: None,
            node: None,
            type_url: entry.type_url.clone(),
            name: entry.name.clone(),
            version: content.version.clone(),
            content: tree.map_or(Content::Unknown, Content::Tree),
            marked: any.is_some_and(has_mark),
        })
    };
    entries.filter_map(member).collect()
}

/// A resource that cannot be converted to its form on the wire.
#[derive(Debug, thiserror::Error)]
enum ResourceError {
    #[error("a resource without @type")]
    NoType,
    #[error("a {type_url} without a name")]
    NoName { type_url: String },
    #[error("{name}: {why}")]
    Encode { name: String, why: EncodeError },
}

/// Converts a resource to its form on the wire.
fn member(
    mut fields: Map<String, Value>,
    version: Option<Arc<str>>,
    schema: &Schema,
    redact: Option<&dyn Redact>,
) -> Result<Member, ResourceError> {
    let url = match fields.shift_remove("@type") {
        Some(Value::String(url)) => url,
        _ => return Err(ResourceError::NoType),
    };
    let named = |fields: &Map<String, Value>| {
        let name =
            ["name", "cluster_name", "clusterName"].iter().find_map(|name| fields.get(*name)?.as_str());
        name.map(str::to_owned)
    };
    let name = named(&fields).ok_or_else(|| ResourceError::NoName { type_url: url.clone() })?;
    let bytes = match schema.encode(&url, &Value::Object(fields)) {
        Ok(bytes) => bytes,
        Err(why) => return Err(ResourceError::Encode { name, why }),
    };
    let any = encode_any(&url, &bytes);
    let clean = redact.and_then(|redact| redact.resource(&any));
    let tree = schema.any_to_json(clean.as_deref().unwrap_or(&any));
    Ok(Member {
        session: None,
        node: None,
        type_url: TypeUrl::new(url),
        name: name.into(),
        version,
        content: Content::Tree(tree),
        marked: clean.is_none() && has_mark(&any),
    })
}
