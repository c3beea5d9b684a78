//! Holds the source tree to `docs/architecture.md` and `docs/style.md`.

mod harness;
mod imports;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates, each with the crates that it may depend on. `xdscope` is the binary.
const CRATES: [(&str, &str, &[&str]); 8] = [
    ("wire", "src/wire", &[]),
    ("schema", "src/schema", &["wire"]),
    ("engine", "src/engine", &["wire", "schema"]),
    ("present", "src/present", &["wire", "schema", "engine"]),
    ("sources", "src/sources", &["wire", "schema", "engine", "present"]),
    ("tui", "src/tui", &["wire", "schema", "engine", "present"]),
    ("fleet", "src/fleet", &["wire", "schema", "engine", "present"]),
    ("xdscope", ".", &["wire", "schema", "engine", "present", "sources", "tui", "fleet"]),
];

/// Crates without sockets, terminal and async.
const CORE: [&str; 5] = ["wire", "schema", "engine", "present", "sources"];

/// Dependencies that the core must not have.
const NOT_IN_CORE: [&str; 13] = [
    "async-trait",
    "crossterm",
    "futures",
    "http",
    "hyper",
    "h2",
    "ratatui",
    "rustix",
    "rustls",
    "tokio",
    "tonic",
    "tower",
    "tempfile",
];

/// Files of the tests that may sleep, and why. Others wait for events, or say in whose part they
/// pause.
const MAY_SLEEP: [(&str, &str); 4] = [
    ("support/wait.rs", "waits for events, for silence, and in the part of a peer"),
    ("support/faulty.rs", "a server that is slow, or ends connections at an age"),
    ("support/retrying.rs", "a client that pauses between streams"),
    ("support/soak.rs", "a control plane that pushes at an interval, and clients that connect again"),
];

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("src is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Returns each file of `src` with its text.
fn source_texts() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    sources(&Path::new(".").join("src"), &mut files);
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).expect("a readable source");
        (file, text)
    };
    files.into_iter().map(read).collect()
}

/// Module and text of each source file, comments and tests left out.
fn code() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(".").join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let inner = file.strip_prefix(&root).expect("below src");
        let module =
            inner.iter().next().expect("a name").to_string_lossy().trim_end_matches(".rs").to_owned();
        if file.file_name().is_some_and(|name| name == "tests.rs") || inner.iter().any(|part| part == "tests")
        {
            continue;
        }
        let text = fs::read_to_string(&file).expect("readable");
        let text = text.split("#[cfg(test)]\nmod tests {").next().expect("a first part");
        let lines: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        out.push((module, file, lines.join("\n")));
    }
    assert!(out.len() > 40, "the sources were found");
    out
}

/// Returns the names of the dependencies of a crate, without those of its tests.
fn dependencies(folder: &str) -> Vec<String> {
    let file = Path::new(folder).join("Cargo.toml");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let manifest: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let names = manifest["dependencies"].as_table().expect("a table").keys();
    names.cloned().collect()
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let mut wrong = Vec::new();
    for (name, folder, allowed) in CRATES {
        for dependency in dependencies(folder) {
            let own = dependency.strip_prefix("xdscope-");
            if own.is_some_and(|own| !allowed.contains(&own)) {
                wrong.push(format!("{name} must not depend on {dependency}"));
            }
            if CORE.contains(&name) && NOT_IN_CORE.contains(&dependency.as_str()) {
                wrong.push(format!("{name} is core and must not depend on {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files, sockets, clocks and threads are disallowed in the core by its settings of clippy.
#[test]
fn core_crates_share_the_settings_of_clippy() {
    for (_, folder, _) in CRATES.iter().filter(|(name, ..)| CORE.contains(name)) {
        let target = fs::read_link(Path::new(folder).join("clippy.toml"));
        assert_eq!(target.ok().as_deref(), Some(Path::new("../core-clippy.toml")), "{folder}/clippy.toml");
    }
}

/// Largest group of files that may import each other.
const MAX_CIRCLE_FILES: usize = 3;

#[test]
fn import_circles_stay_small() {
    let code = code();
    let mut large = Vec::new();
    for (name, folder, _) in CRATES {
        let root = if name == "xdscope" { PathBuf::from("./src") } else { Path::new(".").join(folder) };
        let is_member = |room: &str| CRATES.iter().any(|(name, ..)| *name == room);
        let own =
            code.iter().filter(|(room, ..)| if name == "xdscope" { !is_member(room) } else { room == name });
        let own: Vec<_> = own.map(|(_, file, text)| (file.clone(), text.clone())).collect();
        assert!(own.len() > 5, "the files of {name} were found");
        let modules = imports::Modules::read(&root, &own);
        let circles = modules.circles().into_iter().filter(|circle| circle.len() > MAX_CIRCLE_FILES);
        large.extend(circles.map(|circle| format!("{name}: {circle:?}")));
    }
    assert!(large.is_empty(), "more than {MAX_CIRCLE_FILES} files import each other: {large:#?}");
}

#[test]
fn tests_wait_for_events() {
    let mut files = Vec::new();
    sources(&Path::new(".").join("tests/it"), &mut files);
    let call = ["sleep", "("].concat();
    let mut sleeping: Vec<_> = files
        .iter()
        .filter(|file| fs::read_to_string(file).expect("readable").contains(&call))
        .filter(|file| !MAY_SLEEP.iter().any(|(name, _)| file.ends_with(name)))
        .collect();
    sleeping.sort();
    assert!(files.len() > 80, "the tests were found");
    assert!(sleeping.is_empty(), "use support::wait instead of a sleep: {sleeping:?}");
}

#[test]
fn main_is_thin() {
    let main = fs::read_to_string(Path::new(".").join("src/main.rs")).expect("main.rs");
    assert!(main.lines().count() <= 30, "main.rs only calls the library");
}

#[test]
fn third_party_descriptors_are_not_checked_in() {
    let root = Path::new(".");
    let mut protos = Vec::new();
    for dir in ["proto", "descriptors"] {
        for entry in fs::read_dir(root.join(dir)).expect("is there").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = ["recording.proto", "attach.proto", "manifest.json"].contains(&&*name)
                || name.ends_with(".md");
            if !ours {
                protos.push(name);
            }
        }
    }
    assert!(protos.is_empty(), "only our own: {protos:?}");
}
