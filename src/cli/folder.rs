//! Files and directories of resources: YAML and JSON with one resource or many, and files of one response each. A
//! directory is a session of pushes nobody answers, as a client sees that reads it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::engine::applied;
use crate::engine::lint;
use crate::schema::{Format, Schema};
use crate::sources::record::{Loaded, ResponseFile};
use crate::wire::Frame;
use crate::wire::content::{Catalog, MemoryBodies};
use crate::wire::event::{ApiVersion, Clock, Kind, StreamId, Time};

use super::args::SourceArgs;
use super::descriptors;
use super::error::CliError;

/// Directories within directories.
const DEPTH: usize = 8;

/// Bytes of a file, at most.
const LARGEST: u64 = 512 << 20;

/// Reads all files below a directory whose names end as responses do.
pub(super) fn read(
    dir: &Path,
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> Result<Loaded, CliError> {
    let mut files = Vec::new();
    let wanted = |path: &Path| path.to_str().is_some_and(|name| Format::of_name(name).is_some());
    list(dir, &wanted, &mut files)?;
    if files.is_empty() {
        let error = CliError::unreadable(format!("there is no file of resources in {}", dir.display()));
        return Err(error.next("names end in .json, .yaml, .pb_text or .pb"));
    }
    let mut reader = Reader::new(args, seed, schema);
    for path in files {
        let failed = |error| CliError::unreadable(format!("cannot read {}", path.display())).because(error);
        let mut content = Vec::new();
        let file = fs::File::open(&path).map_err(failed)?;
        file.take(LARGEST).read_to_end(&mut content).map_err(failed)?;
        let name = path.display().to_string();
        let text = std::str::from_utf8(&content).unwrap_or_default();
        if lint::Bootstrap::read(text).is_some() {
            reader.notices.push(format!("{name} is a bootstrap, and left out: `xdscope lint {name}`"));
        } else if applied::read(&name, &content, schema).is_ok() {
            reader.notices.push(format!("{name} is a dump of a client, and left out: `xdscope get {name}`"));
        } else {
            reader.file(&name, &content);
        }
    }
    Ok(reader.done())
}

/// Reads one file: a response, or resources. False: it is neither, which its one message stands for.
pub(super) fn read_file(
    name: &str,
    content: &[u8],
    args: &SourceArgs,
    seed: u64,
    schema: &Arc<Schema>,
) -> (Loaded, bool) {
    let mut reader = Reader::new(args, seed, schema);
    reader.file(name, content);
    let is_read = reader.is_read;
    (reader.done(), is_read)
}

/// Files on their way to frames.
struct Reader<'a> {
    schema: &'a Schema,
    catalog: Catalog,
    frames: Vec<Frame>,
    notices: Vec<String>,
    streams: u32,
    /// Something was.
    is_read: bool,
}

impl Reader<'_> {
    fn new<'a>(args: &SourceArgs, seed: u64, schema: &'a Arc<Schema>) -> Reader<'a> {
        let redact = (!args.keep_secrets).then(|| descriptors::redactor(schema, seed));
        let catalog = Catalog::new(seed, redact, Box::new(MemoryBodies::default()));
        Reader { schema, catalog, frames: Vec::new(), notices: Vec::new(), streams: 0, is_read: false }
    }

    fn file(&mut self, name: &str, content: &[u8]) {
        let before = (self.frames.len(), self.streams);
        let Err(why) = self.response(name, content) else { return };
        let responses = responses(content);
        if responses.is_empty() {
            self.notices.push(format!("{name}: {why}"));
            return;
        }
        self.frames.truncate(before.0);
        self.streams = before.1;
        for response in responses {
            if let Err(why) = self.response(name, response.to_string().as_bytes()) {
                self.notices.push(format!("{name}: {why}"));
            }
        }
    }

    fn response(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.streams = self.streams.saturating_add(1);
        let mut file = ResponseFile::new(StreamId(self.streams), name);
        let read = file.read(Time::ZERO, content, self.schema, &mut self.catalog, &mut self.frames);
        self.is_read |= read.is_ok();
        read.map(drop).map_err(|error| error.to_string())
    }

    fn done(self) -> Loaded {
        let clock = Clock { epoch: None, untimed: true };
        let (catalog, frames, notices) = (self.catalog, self.frames, self.notices);
        Loaded { catalog, clock, frames, end: Time::ZERO, notices, secrets: false }
    }
}

/// Resources of a file as responses, one for each type; none: there is no resource in it.
fn responses(content: &[u8]) -> Vec<Value> {
    let documents = std::str::from_utf8(content).ok().and_then(|text| parse(text).ok());
    let mut found = Vec::new();
    documents.into_iter().flatten().for_each(|document| collect(document, None, &mut found));
    let mut by_type: Vec<(String, Option<Arc<str>>, Vec<Value>)> = Vec::new();
    for (fields, version) in found {
        let url = fields.get("@type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match by_type.iter_mut().find(|(known, ..)| *known == url) {
            Some((_, first, resources)) => {
                // Resources of several versions have none together.
                *first = first.take().filter(|first| Some(first) == version.as_ref());
                resources.push(Value::Object(fields));
            }
            None => by_type.push((url, version, vec![Value::Object(fields)])),
        }
    }
    let response = |(url, version, resources): (String, Option<Arc<str>>, Vec<Value>)| json!({ "versionInfo": version.as_deref().unwrap_or_default(), "typeUrl": url, "resources": resources });
    by_type.into_iter().map(response).collect()
}

/// The files below a directory that are `wanted`, sorted; hidden ones are not.
pub(super) fn list(
    dir: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), CliError> {
    list_to(dir, DEPTH, wanted, files)
}

fn list_to(
    dir: &Path,
    depth: usize,
    wanted: &dyn Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<(), CliError> {
    let failed =
        |error: std::io::Error| CliError::unreadable(format!("cannot read {}", dir.display())).because(error);
    let entries: Result<Vec<_>, _> = fs::read_dir(dir).map_err(failed)?.collect();
    let mut paths: Vec<PathBuf> = entries.map_err(failed)?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() && depth > 0 {
            list_to(&path, depth - 1, wanted, files)?;
        } else if path.is_file() && wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// The documents of a file, in JSON or YAML.
pub(super) fn parse(text: &str) -> Result<Vec<Value>, String> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(vec![value]);
    }
    // `on` and `yes` are texts in the API's own YAML.
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| error.to_string())
}

/// A resource, and the version that stands above it.
pub(super) type Found = (Map<String, Value>, Option<Arc<str>>);

/// Finds what has the type of a resource, with the version that stands above it.
pub(super) fn collect(value: Value, version: Option<&Arc<str>>, out: &mut Vec<Found>) {
    match value {
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, version, out)),
        Value::Object(fields) => {
            let kind = fields.get("@type").and_then(Value::as_str).and_then(Kind::of_type_url);
            if kind.is_some() {
                return out.push((fields, version.cloned()));
            }
            let own = ["version_info", "versionInfo", "version"].iter().find_map(|name| fields.get(*name));
            let own = own.and_then(Value::as_str).map(Arc::from);
            let version = own.as_ref().or(version);
            for (name, inner) in fields {
                match name.as_str() {
                    "static_resources" => bootstrap(inner, out),
                    _ => collect(inner, version, out),
                }
            }
        }
        _ => {}
    }
}

/// `static_resources` of a bootstrap: their types go without saying.
fn bootstrap(value: Value, out: &mut Vec<Found>) {
    let Value::Object(fields) = value else { return };
    for (name, items) in fields {
        let (Some(url), Value::Array(items)) =
            (Kind::parse(&name).and_then(|kind| kind.type_url(ApiVersion::V3)), items)
        else {
            continue;
        };
        for item in items {
            if let Value::Object(mut fields) = item {
                fields.insert("@type".into(), url.as_str().into());
                out.push((fields, None));
            }
        }
    }
}
