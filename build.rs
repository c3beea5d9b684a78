//! Compiles the .proto files that two locked, never compiled dependencies carry into the built-in descriptor
//! sets. `descriptors/README.md` says what goes in and how to refresh it.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};
use serde_json::Value;

#[path = "src/schema/resolve.rs"]
mod resolve;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A folder that holds one package's folder for each package of the manifest, for builders without cargo.
const SOURCES: &str = "XDSCOPE_PROTO_SOURCES";

fn main() -> Result<()> {
    for file in ["build.rs", "src/schema/resolve.rs", "descriptors/manifest.json", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={file}");
    }
    println!("cargo:rerun-if-env-changed={SOURCES}");
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let manifest: Value = serde_json::from_slice(&fs::read(here.join("descriptors/manifest.json"))?)?;
    let packages = strings(&manifest["packages"]);
    let folders = match env::var_os(SOURCES) {
        Some(folder) => unpacked(Path::new(&folder), &packages)?,
        None => locked(&here, &packages)?,
    };

    let mut roots = Vec::new();
    let mut files = BTreeSet::new();
    let skip = strings(&manifest["skip"]);
    for root in manifest["roots"].as_array().ok_or("the manifest has no roots")? {
        let package = packages.iter().position(|name| root["package"] == *name).ok_or("unknown package")?;
        let folder = folders[package].join(root["dir"].as_str().ok_or("a root without dir")?);
        for take in strings(&root["take"]) {
            list(&folder, &folder.join(&take), &mut files)?;
        }
        roots.push(folder);
    }
    files.retain(|file| !skip.iter().any(|skip| file.contains(skip)));
    let has = |file: &str, list: &Value| strings(list).iter().any(|part| file.contains(part));
    let (v2, v3): (BTreeSet<String>, BTreeSet<String>) =
        files.into_iter().partition(|file| has(file, &manifest["v2"]) && !has(file, &manifest["not_v2"]));

    let mut docs = Docs::default();
    for (name, files) in [("v3", v3), ("v2", v2)] {
        let mut compiler = protox::Compiler::with_file_resolver(resolve::Files::new(roots.clone()));
        compiler.include_imports(true).include_source_info(true);
        compiler.open_files(&files).map_err(|error| format!("the {name} set: {error}"))?;
        for file in compiler.descriptor_pool().files() {
            docs.file(file.file_descriptor_proto());
        }
        let set = strip(&compiler.encode_file_descriptor_set())?;
        fs::write(out.join(format!("{name}.zst")), zstd::bulk::compress(&set, 19)?)?;
    }
    fs::write(out.join("docs.zst"), zstd::bulk::compress(docs.text().as_bytes(), 19)?)?;
    Ok(())
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// The folders of the packages as cargo has fetched or vendored them.
fn locked(here: &Path, packages: &[String]) -> Result<Vec<PathBuf>> {
    let cargo = env::var_os("CARGO").ok_or("no CARGO")?;
    let metadata = |offline: bool| -> Result<Value> {
        let mut command = Command::new(&cargo);
        command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(here);
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

/// The folders of the packages under `parent`, named with or without their version.
fn unpacked(parent: &Path, packages: &[String]) -> Result<Vec<PathBuf>> {
    let entries: Vec<PathBuf> =
        fs::read_dir(parent)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let folder = |name: &String| {
        let fits = |path: &&PathBuf| {
            let rest = path.file_name().and_then(|file| file.to_str()?.strip_prefix(name.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        entries.iter().find(fits).cloned().ok_or(format!("{SOURCES} has no folder {name}").into())
    };
    packages.iter().map(folder).collect()
}

/// Adds all .proto files under `folder`, by their names relative to `root`.
fn list(root: &Path, folder: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            list(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            let name: Vec<_> = path.strip_prefix(root)?.iter().map(|part| part.to_string_lossy()).collect();
            files.insert(name.join("/"));
        }
    }
    Ok(())
}

/// The set without source info (field 9 of each file), the rest byte for byte: a typed copy would lose the
/// custom options.
fn strip(set: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(set.len());
    for (number, file, _) in fields(set)? {
        let kept: Vec<u8> =
            fields(file)?.into_iter().filter(|f| f.0 != 9).flat_map(|f| f.2).copied().collect();
        prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut out);
        prost::encoding::encode_varint(kept.len() as u64, &mut out);
        out.extend(kept);
    }
    Ok(out)
}

/// Number, payload and whole bytes of each field; a file descriptor has length-delimited fields and varints.
fn fields(bytes: &[u8]) -> Result<Vec<(u32, &[u8], &[u8])>> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let start = rest;
        let (number, wire) = prost::encoding::decode_key(&mut rest)?;
        let value = prost::encoding::decode_varint(&mut rest)?;
        let mut payload: &[u8] = &[];
        if wire == prost::encoding::WireType::LengthDelimited {
            (payload, rest) = rest.split_at_checked(value as usize).ok_or("a field is cut short")?;
        }
        out.push((number, payload, &start[..start.len() - rest.len()]));
    }
    Ok(out)
}

/// Leading comments by full name.
#[derive(Default)]
struct Docs(std::collections::BTreeMap<String, String>);

impl Docs {
    /// `name\0comment\0` for each, in order of names.
    fn text(&self) -> String {
        self.0.iter().map(|(name, text)| format!("{name}\0{text}\0")).collect()
    }

    fn file(&mut self, file: &FileDescriptorProto) {
        let locations = file.source_code_info.iter().flat_map(|info| &info.location);
        for location in locations {
            let Some(name) = named(file, &location.path) else { continue };
            let text = clean(location.leading_comments());
            if !text.is_empty() {
                self.0.insert(name, text);
            }
        }
    }
}

/// A comment without its left margin, its marks for Envoy's own documentation tools, and NULs.
fn clean(comment: &str) -> String {
    let lines = comment.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    let lines: Vec<&str> = lines.filter(|line| !(line.starts_with("[#") && line.ends_with(']'))).collect();
    lines.join("\n").trim().replace('\0', "")
}

/// The full name of the element at a descriptor path.
fn named(file: &FileDescriptorProto, path: &[i32]) -> Option<String> {
    let (tag, index, rest) = step(path)?;
    let (name, inner) = match tag {
        4 => return in_message(file.package(), file.message_type.get(index)?, rest),
        5 => return in_enum(file.package(), file.enum_type.get(index)?, rest),
        6 => {
            let service = file.service.get(index)?;
            let method = match step(rest) {
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

fn in_message(scope: &str, message: &DescriptorProto, path: &[i32]) -> Option<String> {
    let name = format!("{scope}.{}", message.name());
    let Some((tag, index, rest)) = step(path) else { return path.is_empty().then_some(name) };
    let inner = match tag {
        2 if rest.is_empty() => message.field.get(index)?.name(),
        3 => return in_message(&name, message.nested_type.get(index)?, rest),
        4 => return in_enum(&name, message.enum_type.get(index)?, rest),
        8 if rest.is_empty() => message.oneof_decl.get(index)?.name(),
        _ => return None,
    };
    Some(format!("{name}.{inner}"))
}

/// Enum values are named inside their enum, which is how people look for them.
fn in_enum(scope: &str, item: &EnumDescriptorProto, path: &[i32]) -> Option<String> {
    let name = format!("{scope}.{}", item.name());
    match step(path) {
        None => path.is_empty().then_some(name),
        Some((2, index, [])) => Some(format!("{name}.{}", item.value.get(index)?.name())),
        Some(_) => None,
    }
}

fn step(path: &[i32]) -> Option<(i32, usize, &[i32])> {
    match path {
        [tag, index, rest @ ..] => Some((*tag, usize::try_from(*index).ok()?, rest)),
        _ => None,
    }
}
