use std::path::{Path, PathBuf};

use super::*;

/// Returns every script of the repository with its text.
pub(super) fn scripts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut out = Vec::new();
    for folder in ["tests/fixtures/scripts", "tests/fixtures/lint", "tests/fixtures/rows", "examples"] {
        for entry in std::fs::read_dir(root.join(folder)).expect(folder) {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|end| end == "xds") {
                let text = std::fs::read_to_string(&path).expect("a text");
                out.push((path, text));
            }
        }
    }
    out.sort();
    out
}

#[test]
fn repository_scripts_load_and_round_trip() {
    let scripts = scripts();
    assert!(scripts.len() > 50, "only {} fixtures found", scripts.len());
    for (path, text) in scripts {
        let file = path.display().to_string();
        let script = parse(&text, &file).unwrap_or_else(|error| panic!("{error}"));
        let items =
            |script: &Script| script.lines.iter().map(|line| line.statement.clone()).collect::<Vec<_>>();
        let again = parse(&write(&script), &file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(items(&script), items(&again), "{file}");
        // No script needs descriptors, because the tests of some modules have none.
        let loaded = super::super::load(&script, &Plain).unwrap_or_else(|error| panic!("{error}"));
        assert!(loaded.frames.len() > 1, "{file}");
    }
}
