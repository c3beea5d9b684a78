//! Files that outputs may replace.

use std::path::{Path, PathBuf};

use super::{TOUR, run};
use crate::app::recording::recording_file;
use crate::app::recording::recording_file::Replaces;

const SOURCE: &str = "examples/nack.xds";

/// Commands that write the file behind them.
const WRITERS: &[&[&str]] = &[
    &["export", SOURCE, "--to", "xdsrec", "--output"],
    &["export", SOURCE, "--to", "raw", "--output"],
    &["export", SOURCE, "--to", "jsonl", "--output"],
    &["export", SOURCE, "--to", "script", "--output"],
    &["export", SOURCE, "--to", "dot", "--output"],
    &["export", TOUR, "--to", "md", "--output"],
    &["export", SOURCE, "--to", "bootstrap", "--output"],
    &["report", SOURCE, "--output"],
    &["picture", SOURCE, "-o", "text", "--output"],
    &["descriptors", "build", "--output"],
];

/// A folder with a recording.
fn recording() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.xdsrec");
    let args = [WRITERS[0], &[path.to_str().expect("a path")]].concat();
    assert!(path.metadata().is_err() && run(&args).err.contains("written to"));
    (folder, path)
}

/// Runs each command that writes the file. Returns what the refused ones say.
fn refusals(path: &Path, flags: &[&str]) -> Vec<String> {
    let before = std::fs::read(path).expect("a file");
    let path_text = path.to_str().expect("a path");
    let texts = WRITERS.iter().filter_map(|args| {
        let output = run(&[*args, &[path_text], flags].concat());
        let is_refused = output.err.contains("cannot write");
        assert!(!is_refused || std::fs::read(path).expect("a file") == before, "{args:?}");
        std::fs::write(path, &before).expect("a file");
        is_refused.then(|| format!("{args:?}: {}", output.err))
    });
    texts.collect()
}

#[test]
fn existing_files_stay_without_force() {
    let (folder, path) = recording();
    let refused = refusals(&path, &[]);
    assert_eq!(refused.len(), WRITERS.len());
    for text in refused {
        assert!(text.contains("the file holds a recording") && text.contains("--force"), "{text}");
    }
    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "notes").expect("a file");
    let refused = refusals(&other, &[]);
    assert_eq!(refused.len(), WRITERS.len());
    assert!(refused.iter().all(|text| text.contains("the file exists")), "{refused:?}");
}

#[test]
fn force_replaces_files_and_never_a_file_that_is_written() {
    let (folder, path) = recording();
    let lock = recording_file::claim(&path, Replaces::Recordings).expect("a lock");
    let refused = refusals(&path, &["--force"]);
    assert_eq!(refused.len(), WRITERS.len());
    for text in refused {
        assert!(text.contains("another xdscope is writing the file"), "{text}");
    }
    drop(lock);
    assert!(refusals(&path, &["--force"]).is_empty());
    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "notes").expect("a file");
    let refused = refusals(&other, &["--force"]);
    assert!(matches!(&refused[..], [text] if text.contains("is not a recording")), "{refused:?}");
}

/// A link of another user must not choose what `--force` replaces.
#[test]
fn force_replaces_nothing_through_a_link_to_another_folder() {
    let (folder, path) = recording();
    let other = tempfile::tempdir().expect("a folder");
    let link = other.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let refused = refusals(&link, &["--force"]);
    assert_eq!(refused.len(), WRITERS.len());
    for text in refused {
        assert!(text.contains("the path is a link to") && text.contains("in another folder"), "{text}");
        assert!(text.contains("next   --output with the file itself"), "{text}");
    }
    let lock = recording_file::claim(&path, Replaces::Recordings).expect("a lock");
    let refused = refusals(&link, &["--force"]);
    assert!(refused.iter().all(|text| text.contains("another xdscope is writing the file")), "{refused:?}");
    drop(lock);
    let beside = folder.path().join("link");
    std::os::unix::fs::symlink("a.xdsrec", &beside).expect("a link");
    assert!(refusals(&beside, &["--force"]).is_empty());
}

#[test]
fn pages_replace_pages_and_no_recording() {
    let (folder, path) = recording();
    let page = folder.path().join("xdscope.1");
    let write = || run(&["man", "--output", folder.path().to_str().expect("a path")]);
    assert!(write().err.contains("pages in") && write().err.contains("pages in"));
    std::fs::rename(path, page).expect("another name");
    assert!(write().err.contains("the file holds a recording"));
}
