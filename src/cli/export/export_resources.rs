//! `export --to dir|bootstrap`: the resources of one client, as files or as a static bootstrap.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use xdscope_engine::store::{ResourceFact, Store};
use xdscope_present::json;
use xdscope_present::text::shell_word;
use xdscope_schema::Schema;
use xdscope_schema::bootstrap;
use xdscope_schema::bootstrap::ResourcesByKind;
use xdscope_sources::ReplayPosition;
use xdscope_sources::peers::server::Snapshot;
use xdscope_wire::event::{ApiVersion, Kind, TypeUrl};
use xdscope_wire::text::{display_safe, plural};

use crate::cli::args::{ExportArgs, ExportTo, Global};
use crate::cli::error::{CliError, Exit};
use crate::cli::output::output_file::{create_private, to_file};
use crate::cli::source;
use crate::cli::source::select;
use crate::cli::source::select::Picked;
use crate::cli::terminal::io::Io;

/// Full name of the message of a node.
const NODE: &str = "envoy.config.core.v3.Node";

/// Longest name of a file, without its extension.
const MAX_FILE_NAME: usize = 200;

pub(crate) fn run(args: &ExportArgs, global: &Global, io: &mut Io<'_>) -> Result<Exit, CliError> {
    check_flags(args)?;
    let (store, folded) = source::store_at(&args.source, &args.until, global, io)?;
    let schema = folded.schema;
    let picked = Picked::of(args.streams.pick().as_ref(), &store)?;
    let nodes: BTreeSet<&str> = picked.streams.iter().filter_map(select::node).collect();
    if nodes.len() > 1 {
        let n = plural(nodes.len() as u64, "client");
        let error = CliError::usage(format!("the source has {n}, and their resources may differ"));
        return Err(CliError { next: nodes.into_iter().take(5).map(select::flag).collect(), ..error });
    }
    let resources = ClientResources::of(&store, &picked, &schema);
    if resources.by_type.is_empty() {
        let error = CliError::unreadable(format!("no resource in {}", args.source.source));
        return Err(error.next(format!("xdscope info {}", shell_word(&args.source.source))));
    }
    let mut notes = resources.notes.clone();
    match (&args.output, args.to) {
        (Some(dir), ExportTo::Dir) => resources.write_files(dir)?,
        (output, _) => {
            let node = picked.streams.iter().filter_map(|stream| stream.node.as_ref()?.blob).next_back();
            let node = node.and_then(|blob| store.catalog().bytes(blob));
            let node = node.map(|node| schema.message_to_json(NODE, &node)).unwrap_or_default();
            let made = bootstrap::offline(&resources.by_kind(&mut notes), &node);
            notes.extend(made.notes);
            let is_json = output.as_ref().and_then(|path| path.extension()).is_some_and(|of| of == "json");
            let text = if is_json {
                xdscope_schema::to_pretty_json(&made.value)
            } else {
                xdscope_schema::to_yaml(&made.value) + "\n"
            };
            match output {
                None => io.stdout.write_all(text.as_bytes())?,
                Some(path) => {
                    let source = &args.source.source;
                    to_file(
                        path,
                        args.to,
                        source,
                        args.force,
                        io,
                        |out| Ok(out.write_all(text.as_bytes())?),
                    )?;
                }
            }
        }
    }
    io.flush()?;
    if !global.quiet {
        notes.iter().for_each(|note| io.say(&display_safe(note)));
        if let Some(path) = &args.output {
            let n = resources.by_type.values().map(BTreeMap::len).sum::<usize>();
            io.say(&format!("{} written to {}", plural(n as u64, "resource"), path.display()));
        }
    }
    Ok(Exit::Yes)
}

fn check_flags(args: &ExportArgs) -> Result<(), CliError> {
    let name = shell_word(&args.source.source);
    if args.filter.is_some() {
        let error = CliError::usage("--filter selects messages, and this format has resources");
        return Err(error.next(format!("xdscope export {name} --node NAME")));
    }
    if !matches!(args.from, ReplayPosition::Start) {
        let error = CliError::usage("--from selects messages, and this format shows one moment");
        return Err(error.next("--until WHEN, for an earlier moment"));
    }
    if args.to == ExportTo::Dir && args.output.is_none() {
        let error = CliError::usage("--to dir needs --output DIRECTORY");
        return Err(error.next(format!("xdscope export {name} --to dir --output resources")));
    }
    Ok(())
}

/// A resource in protobuf JSON.
struct ExportedResource {
    value: Value,
    /// Redaction removed part of the content.
    incomplete: bool,
}

/// The resources that a client uses, or has yet to accept.
struct ClientResources {
    by_type: BTreeMap<TypeUrl, BTreeMap<String, ExportedResource>>,
    notes: BTreeSet<String>,
}

impl ClientResources {
    fn of(store: &Store, picked: &Picked, schema: &Schema) -> ClientResources {
        let snapshot = Snapshot::from_store(store, &picked.streams);
        let mut out = ClientResources { by_type: BTreeMap::new(), notes: BTreeSet::new() };
        for (url, known) in snapshot.types() {
            let streams = picked.streams.iter();
            let facts = streams.flat_map(|stream| store.resources(stream.stream, url));
            let is_unused = |fact: &ResourceFact| fact.refusal.is_some() && !fact.is_used_from_refused_push();
            let refused: BTreeMap<_, _> =
                facts.filter(is_unused).map(|fact| (fact.name.clone(), fact)).collect();
            let word = json::type_word(url);
            for (name, resource) in known.resources().filter(|(name, _)| !refused.contains_key(*name)) {
                if resource.incomplete {
                    out.notes.insert(format!("{word}/{name}: incomplete, because its secrets were redacted"));
                }
                let value = schema.message_to_json("google.protobuf.Any", &resource.any);
                let resource = ExportedResource { value, incomplete: resource.incomplete };
                out.by_type.entry(url.clone()).or_default().insert(name.to_string(), resource);
            }
            for fact in refused.values() {
                out.add_in_force(store, schema, fact);
            }
        }
        out
    }

    /// Adds the version in force of a resource whose newest version was refused.
    fn add_in_force(&mut self, store: &Store, schema: &Schema, fact: &ResourceFact) {
        let name = format!("{}/{}", json::type_word(&fact.type_url), fact.name);
        let in_force = fact.in_force.as_ref();
        let content = in_force.and_then(|known| known.content);
        let known = content.and_then(|id| Some((id, store.catalog().bytes(id)?)));
        let Some(((id, any), in_force)) = known.zip(in_force) else {
            self.notes.insert(format!("{name}: left out, because the client refused it"));
            return;
        };
        let version = &in_force.version;
        self.notes
            .insert(format!("{name}: version {version}, because the client did not accept the newest one"));
        let value = schema.message_to_json("google.protobuf.Any", &any);
        let resource = ExportedResource { value, incomplete: store.catalog().blob(id).redacted };
        self.by_type.entry(fact.type_url.clone()).or_default().insert(fact.name.to_string(), resource);
    }

    /// Returns the resources that a bootstrap can hold: of v3, and complete secrets.
    fn by_kind(&self, notes: &mut BTreeSet<String>) -> ResourcesByKind {
        let mut out = ResourcesByKind::new();
        for (url, resources) in &self.by_type {
            let Some((kind, ApiVersion::V3)) = Kind::of_type_url(url.as_str()) else {
                notes.insert(format!("{}: left out, a bootstrap cannot hold this type", url.as_str()));
                continue;
            };
            let is_usable =
                |(_, resource): &(&String, &ExportedResource)| kind != Kind::Sds || !resource.incomplete;
            let usable = resources.iter().filter(is_usable);
            out.insert(kind, usable.map(|(name, resource)| (name.clone(), resource.value.clone())).collect());
        }
        out
    }

    /// Writes `DIR/TYPE/NAME.yaml` for each resource. `serve DIR` and `get DIR` read them.
    fn write_files(&self, dir: &Path) -> Result<(), CliError> {
        let failed = |path: &Path| CliError::unreadable(format!("cannot write {}", path.display()));
        if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            let error = CliError::usage(format!("{} is not empty", dir.display()));
            return Err(error.next("--output NEW-DIRECTORY"));
        }
        for (url, resources) in &self.by_type {
            let folder = dir.join(file_name(json::type_word(url)));
            std::fs::create_dir_all(&folder).map_err(|error| failed(&folder).because(error))?;
            for (name, resource) in resources {
                let path = folder.join(file_name(name) + ".yaml");
                let text = xdscope_schema::to_yaml(&resource.value) + "\n";
                let written = create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| failed(&path).because(error))?;
            }
        }
        Ok(())
    }
}

/// Returns a name as one file name: other than letters, digits and `._-` are percent-encoded.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for (at, byte) in name.bytes().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && at > 0);
        if is_plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.len() > MAX_FILE_NAME {
        let hash = twox_hash::XxHash3_64::oneshot(name.as_bytes());
        out.truncate(MAX_FILE_NAME - 17);
        out.push_str(&format!("-{hash:016x}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use crate::cli::Exit;
    use crate::cli::tests::run;

    const GATEWAY: &str = "tests/fixtures/tui/gateway.xds";

    #[test]
    fn writes_one_file_for_each_resource() {
        let dir = tempfile::tempdir().expect("a folder");
        let out = dir.path().join("resources");
        let out = out.to_str().expect("a path");
        let made = run(&["export", GATEWAY, "--to", "dir", "--output", out, "--stream", "#1"]);
        assert_eq!(made.exit, Exit::Yes, "{}", made.err);
        let read = run(&["get", out, "-o", "name"]);
        let before = run(&["get", GATEWAY, "-o", "name", "--stream", "#1"]).out;
        assert!(!read.out.is_empty(), "{}", read.err);
        for name in read.out.lines() {
            assert!(before.contains(name), "{name}: {before}");
        }
        let again = run(&["export", GATEWAY, "--to", "dir", "--output", out, "--stream", "#1"]);
        assert!(again.exit == Exit::Usage && again.err.contains("not empty"), "{}", again.err);
    }

    #[test]
    fn refuses_missing_folder_and_several_clients() {
        let missing = run(&["export", GATEWAY, "--to", "dir"]);
        assert!(missing.exit == Exit::Usage && missing.err.contains("--output"), "{}", missing.err);
        let several = run(&["export", GATEWAY, "--to", "bootstrap"]);
        assert!(several.exit == Exit::Usage && several.err.contains("2 clients"), "{}", several.err);
    }

    #[test]
    fn writes_bootstrap_without_sources() {
        let made = run(&["export", GATEWAY, "--to", "bootstrap", "--stream", "#1"]);
        assert_eq!(made.exit, Exit::Yes, "{}", made.err);
        assert!(made.out.contains("static_resources:") && !made.out.contains("eds_config"), "{}", made.out);
    }

    #[test]
    fn exports_what_is_in_force() {
        const REFUSED: &str = "tests/fixtures/tui/refused.xds";
        let made = run(&["export", REFUSED, "--to", "bootstrap"]);
        assert!(made.err.contains("lds/web: version 1, because"), "{}", made.err);
        assert!(made.err.contains("cds/bad: left out, because the client refused it"), "{}", made.err);
        for name in ["name: web", "name: admin", "name: extra", "name: cart", "10.0.0.1"] {
            assert!(made.out.contains(name), "{name} is not in {}", made.out);
        }
        for name in ["name: bad", "name: new", "name: old", "edge-2"] {
            assert!(!made.out.contains(name), "{name} is in {}", made.out);
        }
    }

    #[test]
    fn file_names_are_distinct_and_flat() {
        assert_eq!(file_name("a/b"), "a%2Fb");
        assert_eq!(file_name("..").replace("%2E", "."), "..");
        assert!(!file_name("../x").contains('/') && !file_name(".x").starts_with('.'));
        let long = "x".repeat(400);
        assert!(file_name(&long).len() <= 200 && file_name(&long) != file_name(&long[..399]));
    }
}
