//! Compiles the built-in descriptor sets from the .proto files of two locked dependencies.
//!
//! This is the build script of `src/schema`, which links to this file and to `descriptors`. The
//! dependencies themselves are never compiled. `descriptors/README.md` describes the selection
//! of files and how to update the sets.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use serde_json::Value;

// Next to the link in `src/schema`, and formatted there.
#[rustfmt::skip]
mod resolve;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Environment variable that names a folder of unpacked packages, for builds without a cargo
/// registry.
const SOURCES_VARIABLE: &str = "XDSCOPE_PROTO_SOURCES";

fn main() -> Result<()> {
    for file in ["build.rs", "resolve.rs", "descriptors/manifest.json"] {
        println!("cargo:rerun-if-changed={file}");
    }
    // The versions of the packages: of the workspace, or of a package of this crate alone.
    for lock in ["../../Cargo.lock", "Cargo.lock"].into_iter().filter(|lock| Path::new(lock).is_file()) {
        println!("cargo:rerun-if-changed={lock}");
    }
    println!("cargo:rerun-if-env-changed={SOURCES_VARIABLE}");
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let sources = Sources::find(&crate_dir)?;

    let mut docs = Docs::default();
    for (name, files) in [("v3", &sources.v3), ("v2", &sources.v2)] {
        let mut compiler =
            protox::Compiler::with_file_resolver(resolve::ProtoFiles::new(sources.roots.clone()));
        compiler.include_imports(true).include_source_info(true);
        compiler.open_files(files).map_err(|error| format!("the {name} set: {error}"))?;
        for file in compiler.descriptor_pool().files() {
            docs.add_file(file.file_descriptor_proto());
        }
        let set = strip_source_info(&compiler.encode_file_descriptor_set())?;
        fs::write(out.join(format!("{name}.zst")), zstd::bulk::compress(&set, 19)?)?;
    }
    fs::write(out.join("docs.zst"), zstd::bulk::compress(docs.text().as_bytes(), 19)?)?;
    Ok(())
}

/// The .proto files that the manifest selects.
struct Sources {
    /// Folders to search for imports, in order.
    roots: Vec<PathBuf>,
    /// File names relative to the roots.
    v3: BTreeSet<String>,
    v2: BTreeSet<String>,
}

impl Sources {
    fn find(crate_dir: &Path) -> Result<Sources> {
        let manifest: Value =
            serde_json::from_slice(&fs::read(crate_dir.join("descriptors/manifest.json"))?)?;
        let packages = strings(&manifest["packages"]);
        let folders = match env::var_os(SOURCES_VARIABLE) {
            Some(folder) => unpacked_packages(Path::new(&folder), &packages)?,
            None => locked_packages(crate_dir, &packages)?,
        };
        let mut roots = Vec::new();
        let mut files = BTreeSet::new();
        for root in manifest["roots"].as_array().ok_or("the manifest has no roots")? {
            let package =
                packages.iter().position(|name| root["package"] == *name).ok_or("unknown package")?;
            let folder = folders[package].join(root["dir"].as_str().ok_or("a root has no dir")?);
            for prefix in strings(&root["take"]) {
                list_protos(&folder, &folder.join(&prefix), &mut files)?;
            }
            roots.push(folder);
        }
        let contains_any = |file: &str, list: &Value| strings(list).iter().any(|part| file.contains(part));
        files.retain(|file| !contains_any(file, &manifest["skip"]));
        let is_v2 =
            |file: &String| contains_any(file, &manifest["v2"]) && !contains_any(file, &manifest["not_v2"]);
        let (v2, v3) = files.into_iter().partition(is_v2);
        Ok(Sources { roots, v3, v2 })
    }
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Returns the folders in which cargo has fetched or vendored the packages.
fn locked_packages(crate_dir: &Path, packages: &[String]) -> Result<Vec<PathBuf>> {
    let cargo = env::var_os("CARGO").ok_or("CARGO is not set")?;
    let metadata = |offline: bool| -> Result<Value> {
        let mut command = Command::new(&cargo);
        command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(crate_dir);
        let run = command.args(offline.then_some("--offline")).output()?;
        if !run.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&run.stderr)).into());
        }
        Ok(serde_json::from_slice(&run.stdout)?)
    };
    let metadata = metadata(true).or_else(|_| metadata(false))?;
    let known = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let folder = |name: &String| {
        let package = known.iter().find(|package| package["name"] == **name);
        let path = package.and_then(|package| package["manifest_path"].as_str()).map(Path::new);
        path.and_then(Path::parent).map(Path::to_owned).ok_or(format!("cargo metadata lacks {name}").into())
    };
    packages.iter().map(folder).collect()
}

/// Returns the folders of the packages under `parent`, named with or without a version.
fn unpacked_packages(parent: &Path, packages: &[String]) -> Result<Vec<PathBuf>> {
    let entries: Vec<PathBuf> =
        fs::read_dir(parent)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let folder = |name: &String| {
        let fits = |path: &&PathBuf| {
            let rest = path.file_name().and_then(|file| file.to_str()?.strip_prefix(name.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        entries
            .iter()
            .find(fits)
            .cloned()
            .ok_or(format!("{SOURCES_VARIABLE} contains no folder {name}").into())
    };
    packages.iter().map(folder).collect()
}

/// Adds all .proto files under `folder`, named relative to `root`.
fn list_protos(root: &Path, folder: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list_protos(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            let name: Vec<_> = path.strip_prefix(root)?.iter().map(|part| part.to_string_lossy()).collect();
            files.insert(name.join("/"));
        }
    }
    Ok(())
}

/// Field of `FileDescriptorProto` that holds the source info.
const SOURCE_CODE_INFO: u32 = 9;

/// Removes the source info from each file of a descriptor set.
///
/// Copies all other bytes unchanged, because decoding into prost's types would lose the custom
/// options.
fn strip_source_info(set: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(set.len());
    for RawField { number, payload, .. } in fields(set)? {
        let kept: Vec<u8> = fields(payload)?
            .into_iter()
            .filter(|field| field.number != SOURCE_CODE_INFO)
            .flat_map(|field| field.raw)
            .copied()
            .collect();
        prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut out);
        prost::encoding::encode_varint(kept.len() as u64, &mut out);
        out.extend(kept);
    }
    Ok(out)
}

/// A protobuf field with its bytes on the wire.
struct RawField<'b> {
    number: u32,
    /// Empty for a varint.
    payload: &'b [u8],
    /// Tag, length and payload.
    raw: &'b [u8],
}

/// Splits a message that has length-delimited fields and varints only, as descriptors do.
fn fields(bytes: &[u8]) -> Result<Vec<RawField<'_>>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let start = rest;
        let (number, wire) = prost::encoding::decode_key(&mut rest)?;
        let value = prost::encoding::decode_varint(&mut rest)?;
        let mut payload: &[u8] = &[];
        if wire == prost::encoding::WireType::LengthDelimited {
            (payload, rest) = rest.split_at_checked(value as usize).ok_or("a field is truncated")?;
        }
        out.push(RawField { number, payload, raw: &start[..start.len() - rest.len()] });
    }
    Ok(out)
}

/// Leading comments by full name.
#[derive(Default)]
struct Docs(std::collections::BTreeMap<String, String>);

impl Docs {
    /// Returns `name\0comment\0` for each element, sorted by name.
    fn text(&self) -> String {
        self.0.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect()
    }

    fn add_file(&mut self, file: &FileDescriptorProto) {
        let locations = file.source_code_info.iter().flat_map(|info| &info.location);
        for location in locations {
            let Some(name) = full_name(file, &location.path) else { continue };
            let text = clean_comment(location.leading_comments());
            if !text.is_empty() {
                self.0.insert(name, text);
            }
        }
    }
}

/// Removes the left margin, the directives for Envoy's documentation tools, and NULs from a
/// comment.
fn clean_comment(comment: &str) -> String {
    let lines = comment.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    let lines: Vec<&str> = lines.filter(|line| !(line.starts_with("[#") && line.ends_with(']'))).collect();
    lines.join("\n").trim().replace('\0', "")
}

/// Returns the full name of the element at a descriptor path.
fn full_name(file: &FileDescriptorProto, path: &[i32]) -> Option<String> {
    let (tag, index, rest) = next_element(path)?;
    let (name, inner) = match tag {
        4 => return name_in_message(file.package(), file.message_type.get(index)?, rest),
        5 => return name_in_enum(file.package(), file.enum_type.get(index)?, rest),
        6 => {
            let service = file.service.get(index)?;
            let method = match next_element(rest) {
                Some((2, method, [])) => Some(service.method.get(method)?.name()),
                Some(_) => return None,
                None => None,
            };
            (service.name(), method)
        }
        7 if rest.is_empty() => (file.extension.get(index)?.name(), None),
        _ => return None,
    };
    Some([file.package(), name].into_iter().chain(inner).collect::<Vec<_>>().join("."))
}

fn name_in_message(scope: &str, message: &DescriptorProto, path: &[i32]) -> Option<String> {
    let name = format!("{scope}.{}", message.name());
    let Some((tag, index, rest)) = next_element(path) else { return path.is_empty().then_some(name) };
    let inner = match tag {
        2 if rest.is_empty() => message.field.get(index)?.name(),
        3 => return name_in_message(&name, message.nested_type.get(index)?, rest),
        4 => return name_in_enum(&name, message.enum_type.get(index)?, rest),
        8 if rest.is_empty() => message.oneof_decl.get(index)?.name(),
        _ => return None,
    };
    Some(format!("{name}.{inner}"))
}

/// Names enum values inside their enum, which is where people look for them.
fn name_in_enum(scope: &str, item: &EnumDescriptorProto, path: &[i32]) -> Option<String> {
    let name = format!("{scope}.{}", item.name());
    match next_element(path) {
        None => path.is_empty().then_some(name),
        Some((2, index, [])) => Some(format!("{name}.{}", item.value.get(index)?.name())),
        Some(_) => None,
    }
}

/// Splits a descriptor path into the tag and index of its first element and the rest.
fn next_element(path: &[i32]) -> Option<(i32, usize, &[i32])> {
    match path {
        [tag, index, rest @ ..] => Some((*tag, usize::try_from(*index).ok()?, rest)),
        _ => None,
    }
}
