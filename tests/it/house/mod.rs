//! Holds the source tree to `docs/architecture.md` and `docs/style.md`.

mod imports;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Which rooms each room may import. A room that is not listed here fails the test.
const MAY_IMPORT: [(&str, &[&str]); 10] = [
    ("wire", &[]),
    ("schema", &["wire"]),
    ("engine", &["wire", "schema"]),
    ("present", &["wire", "schema", "engine"]),
    ("peers", &["wire", "schema", "engine", "present"]),
    ("sources", &["wire", "schema", "engine", "present", "peers"]),
    ("net", &["wire", "schema", "engine", "present", "peers", "sources"]),
    ("tui", &["wire", "schema", "engine", "present", "peers", "sources"]),
    ("app", &["wire", "schema", "engine", "present", "peers", "sources", "net", "tui"]),
    ("cli", &["wire", "schema", "engine", "present", "peers", "sources", "net", "tui", "app"]),
];

/// Rooms without files, sockets, clocks, threads and async.
const CORE: [&str; 6] = ["wire", "schema", "engine", "present", "peers", "sources"];

/// Single files of the core that may name `std::fs`, and why.
const MAY_USE_FILES: [(&str, &str); 2] = [
    ("schema/resolve.rs", "build.rs includes it; at run time it reads the .proto files that a user names"),
    ("sources/open/files.rs", "the file access of sources::open, which opens what a user names"),
];

/// Words that the core must not contain, with reasons.
const FORBIDDEN: [(&str, &str); 9] = [
    ("tokio", "async belongs to net and app"),
    ("async fn", "async belongs to net and app"),
    ("std::net", "sockets belong to net"),
    ("std::fs", "files belong to net, app and cli"),
    ("std::env", "the environment belongs to cli"),
    ("std::thread", "threads belong to net, tui and app"),
    ("SystemTime", "time is an argument"),
    ("Instant", "time is an argument"),
    ("println!", "printing belongs to cli"),
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

/// The top-level modules that a text names through `crate::`.
fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split("};").next().expect("a first part");
                let mut depth = 0;
                let firsts = list.split(|c: char| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                });
                found.extend(firsts.map(|part| part.trim().split("::").next().expect("a name").to_owned()));
            }
            None => found.push(name),
        }
    }
    found
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let allowed = |room: &str| MAY_IMPORT.iter().find(|(name, _)| *name == room).map(|(_, rooms)| *rooms);
    let mut wrong = Vec::new();
    for (room, file, text) in code() {
        let Some(rooms) = allowed(&room) else {
            assert!(room == "lib" || room == "main", "{room} has no line in MAY_IMPORT");
            continue;
        };
        for import in imports(&text) {
            if import != room && allowed(&import).is_some() && !rooms.contains(&import.as_str()) {
                wrong.push(format!("{}: {room} must not import {import}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Largest group of files that may import each other.
const MAX_CIRCLE_FILES: usize = 3;

#[test]
fn import_circles_stay_small() {
    let root = Path::new(".").join("src");
    let code: Vec<_> = code().into_iter().map(|(_, file, text)| (file, text)).collect();
    let modules = imports::Modules::read(&root, &code);
    let circles = modules.circles();
    let large: Vec<_> = circles.iter().filter(|circle| circle.len() > MAX_CIRCLE_FILES).collect();
    assert!(large.is_empty(), "more than {MAX_CIRCLE_FILES} files import each other: {large:#?}");
}

#[test]
fn core_uses_no_files_sockets_clocks_or_threads() {
    let mut wrong = Vec::new();
    for (room, file, text) in code() {
        if !CORE.contains(&room.as_str()) {
            continue;
        }
        for (word, why) in FORBIDDEN {
            if word == "std::fs" && MAY_USE_FILES.iter().any(|(name, _)| file.ends_with(name)) {
                continue;
            }
            if text.contains(word) {
                wrong.push(format!("{}: names {word}; {why}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn features_are_named_in_lib_and_main_only() {
    let root = Path::new(".").join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let wrong: Vec<_> = files
        .iter()
        .filter(|file| !file.ends_with("src/lib.rs") && !file.ends_with("src/main.rs"))
        .filter(|file| fs::read_to_string(file).expect("readable").contains("feature = \""))
        .collect();
    assert!(wrong.is_empty(), "cfg(feature) belongs in lib.rs: {wrong:?}");
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
            let ours = name == "recording.proto" || name == "manifest.json" || name.ends_with(".md");
            if !ours {
                protos.push(name);
            }
        }
    }
    assert!(protos.is_empty(), "only our own: {protos:?}");
}
