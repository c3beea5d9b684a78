//! Files and folders of resources, in YAML or JSON, and files that hold one DiscoveryResponse each.
//!
//! A folder becomes a session of pushes without requests, one stream for each file.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::record::{Loaded, ResponseFile};
use xdscope_engine::applied;
use xdscope_engine::lint;
use xdscope_schema::{FormatError, MessageFormat, Schema, read_json};
use xdscope_wire::Frame;
use xdscope_wire::content::Catalog;
use xdscope_wire::event::{ApiVersion, Clock, Kind, StreamId, Time};
use xdscope_wire::text::count;

use super::whole::WholeSource;
use super::{MAX_RESPONSE_BYTES, SourceError, Spec, files, format};

/// Files and folders below a folder of resources that are looked at.
pub const MAX_FOLDER_ENTRIES: usize = 20_000;

/// Reads the files below a folder whose names end like those of responses.
pub(super) fn read_folder(spec: &Spec, schema: &Arc<Schema>) -> Result<Loaded, SourceError> {
    let is_response =
        |path: &Path| path.to_str().is_some_and(|name| MessageFormat::from_file_name(name).is_some());
    let (files, has_more) = files::list_first_files(&spec.path, MAX_FOLDER_ENTRIES, &is_response)?;
    if files.is_empty() {
        let dir = spec.path.clone();
        let is_of_messages = |path: &Path| path.to_str().is_some_and(format::is_name_of_messages);
        let (files, _) = files::list_first_files(&dir, MAX_FOLDER_ENTRIES, &is_of_messages)?;
        return Err(match files.is_empty() {
            true => SourceError::EmptyFolder { dir, has_more },
            false => SourceError::FolderOfMessages { dir, files },
        });
    }
    let mut reader = ResourceReader::new(spec, schema);
    if has_more {
        let most = count(MAX_FOLDER_ENTRIES as u64);
        let name = spec.path.display();
        reader.notices.push(format!("{name}: looked at the first {most} files and folders only"));
    }
    let (number, mut left) = (files.len(), MAX_RESPONSE_BYTES);
    for (at, path) in files.into_iter().enumerate() {
        let name = path.display().to_string();
        if left == 0 {
            let limit = MAX_RESPONSE_BYTES >> 20;
            reader.notices.push(format!("{at} of {number} files are read: the rest is beyond {limit} MiB"));
            break;
        }
        let failed = |source| SourceError::Io { name: name.clone(), source };
        let (file, size) = (files::open(&path).map_err(failed)?, files::size_of(&path));
        let content = WholeSource::new(&name, spec).response(file, size)?;
        left = left.saturating_sub(content.len() as u64);
        let text = std::str::from_utf8(&content).unwrap_or_default();
        if lint::Bootstrap::read(text).is_some() {
            reader.notices.push(format!("{name} is a bootstrap, and skipped: `xdscope lint {name}`"));
        } else if applied::read(&name, &content, schema).is_ok() {
            reader.notices.push(format!("{name} is a dump of a client, and skipped: `xdscope get {name}`"));
        } else {
            reader.file(&name, &content);
        }
    }
    Ok(reader.finish().loaded)
}

/// A response or resources, read.
pub(super) struct ReadContent {
    pub(super) loaded: Loaded,
    /// False if nothing could be decoded: the only frame is then a message that cannot be decoded.
    pub(super) has_resources: bool,
}

/// Reads the content of one file: a response, or resources.
pub(super) fn read_content(name: &str, content: &[u8], spec: &Spec, schema: &Arc<Schema>) -> ReadContent {
    let mut reader = ResourceReader::new(spec, schema);
    reader.file(name, content);
    reader.finish()
}

/// Turns files into frames, each file into a stream.
struct ResourceReader<'a> {
    schema: &'a Schema,
    catalog: Catalog,
    frames: Vec<Frame>,
    notices: Vec<String>,
    streams: u32,
    has_resources: bool,
}

impl ResourceReader<'_> {
    fn new<'a>(spec: &Spec, schema: &'a Arc<Schema>) -> ResourceReader<'a> {
        ResourceReader {
            schema,
            catalog: spec.catalog(schema),
            frames: Vec::new(),
            notices: Vec::new(),
            streams: 0,
            has_resources: false,
        }
    }

    /// Reads a file as one response, else as a list of responses.
    fn file(&mut self, name: &str, content: &[u8]) {
        let (frames, streams) = (self.frames.len(), self.streams);
        let Err(error) = self.response(name, content) else { return };
        let responses = responses(content);
        if responses.is_empty() {
            self.notices.push(format!("{name}: {error}"));
            return;
        }
        self.frames.truncate(frames);
        self.streams = streams;
        for response in responses {
            if let Err(error) = self.response(name, response.to_string().as_bytes()) {
                self.notices.push(format!("{name}: {error}"));
            }
        }
    }

    fn response(&mut self, name: &str, content: &[u8]) -> Result<(), FormatError> {
        self.streams = self.streams.saturating_add(1);
        let mut file = ResponseFile::new(StreamId(self.streams), name);
        let read = file.read(Time::ZERO, content, self.schema, &mut self.catalog, &mut self.frames);
        self.has_resources |= read.is_ok();
        read.map(drop)
    }

    fn finish(self) -> ReadContent {
        let clock = Clock { epoch: None, untimed: true };
        let (catalog, frames, notices) = (self.catalog, self.frames, self.notices);
        let loaded = Loaded { catalog, clock, frames, end: Time::ZERO, notices, secrets: false };
        ReadContent { loaded, has_resources: self.has_resources }
    }
}

/// The type of a resource with a TTL (docs/protocol.md#g-08).
const WRAPPER: &str = "type.googleapis.com/envoy.service.discovery.v3.Resource";

/// Resources of one type, on their way to a response.
struct TypeGroup {
    url: String,
    /// The version of all resources; `None` if they differ.
    version: Option<Arc<str>>,
    resources: Vec<Value>,
}

/// Groups the resources of a file into responses, one for each type.
fn responses(content: &[u8]) -> Vec<Value> {
    let documents = std::str::from_utf8(content).ok().and_then(|text| parse_documents(text).ok());
    let mut found = Vec::new();
    documents.into_iter().flatten().for_each(|document| collect_resources(document, None, &mut found));
    let mut groups: Vec<TypeGroup> = Vec::new();
    for VersionedResource { fields, version, ttl } in found {
        let url = fields.get("@type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let resource = match ttl {
            Some(ttl) => json!({ "@type": WRAPPER, "ttl": ttl, "resource": fields }),
            None => Value::Object(fields),
        };
        match groups.iter_mut().find(|group| group.url == url) {
            Some(group) => {
                group.version = group.version.take().filter(|known| Some(known) == version.as_ref());
                group.resources.push(resource);
            }
            None => groups.push(TypeGroup { url, version, resources: vec![resource] }),
        }
    }
    let response = |group: TypeGroup| {
        let version = group.version.as_deref().unwrap_or_default();
        json!({ "versionInfo": version, "typeUrl": group.url, "resources": group.resources })
    };
    groups.into_iter().map(response).collect()
}

/// Parses the documents of a file, in JSON or YAML.
///
/// # Errors
/// The YAML parser's message, if the text is neither.
pub fn parse_documents(text: &str) -> Result<Vec<Value>, serde_saphyr::Error> {
    if let Ok(value) = read_json(text.as_bytes()) {
        return Ok(vec![value]);
    }
    // In the API's own YAML, `on` and `yes` are strings.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_multiple_with_options(text, options)
}

/// A resource as an object with `@type`, and the version that stands above it.
pub struct VersionedResource {
    /// The fields in protobuf JSON, and `@type`.
    pub fields: Map<String, Value>,
    /// The version; `None` if the document has none.
    pub version: Option<Arc<str>>,
    /// The TTL in protobuf JSON, of a resource in a `Resource`.
    pub ttl: Option<Value>,
}

/// Collects the resources within a document: every object whose `@type` is that of a resource.
///
/// `version` is the version that stands above `value`, if there is one. `static_resources` of a
/// bootstrap get their `@type` from the name of their list.
pub fn collect_resources(value: Value, version: Option<&Arc<str>>, out: &mut Vec<VersionedResource>) {
    match value {
        Value::Array(items) => items.into_iter().for_each(|item| collect_resources(item, version, out)),
        Value::Object(fields) => {
            let kind = fields.get("@type").and_then(Value::as_str).and_then(Kind::of_type_url);
            if kind.is_some() {
                return out.push(VersionedResource { fields, version: version.cloned(), ttl: None });
            }
            let own = ["version_info", "versionInfo", "version"].iter().find_map(|name| fields.get(*name));
            let own = own.and_then(Value::as_str).map(Arc::from);
            let version = own.as_ref().or(version);
            let ttl = fields.get("ttl").cloned();
            for (name, inner) in fields {
                match name.as_str() {
                    "static_resources" => collect_static(inner, out),
                    "resource" => {
                        let known = out.len();
                        collect_resources(inner, version, out);
                        out.iter_mut().skip(known).for_each(|resource| resource.ttl = ttl.clone());
                    }
                    _ => collect_resources(inner, version, out),
                }
            }
        }
        _ => {}
    }
}

/// Collects the `static_resources` of a bootstrap.
fn collect_static(value: Value, out: &mut Vec<VersionedResource>) {
    let Value::Object(fields) = value else { return };
    for (name, items) in fields {
        let url = Kind::parse(&name).and_then(|kind| kind.type_url(ApiVersion::V3));
        let (Some(url), Value::Array(items)) = (url, items) else { continue };
        for item in items {
            if let Value::Object(mut fields) = item {
                fields.insert("@type".into(), url.as_str().into());
                out.push(VersionedResource { fields, version: None, ttl: None });
            }
        }
    }
}
