//! Replays the corpora of the fuzz targets, so that fixed defects stay fixed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

#[path = "../fuzz/checks/mod.rs"]
mod checks;

/// Time limit of one file, in an unoptimised build.
const LIMIT: Duration = Duration::from_secs(20);

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(name)
}

/// Replays every file of a target's corpus, each within the limit.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = folder("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        let bytes = fs::read(&file).expect("readable");
        assert!(bytes.len() <= 4096, "{}: fuzz with -max_len=4096", file.display());
        let (done, wait) = channel();
        let run = thread::spawn(move || {
            check(&bytes);
            // The receiver is gone once the limit has passed.
            done.send(()).unwrap_or_default();
        });
        match wait.recv_timeout(LIMIT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("{} takes more than {LIMIT:?}", file.display()),
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{}: {}", file.display(), panic_message(run.join().err()));
            }
        }
    }
}

/// Returns the message of a panic.
fn panic_message(panic: Option<Box<dyn std::any::Any + Send>>) -> String {
    let text = panic.as_ref().and_then(|panic| {
        panic
            .downcast_ref::<String>()
            .cloned()
            .or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
    });
    text.unwrap_or_else(|| "no words".into())
}

#[test]
fn h2_observer() {
    replay("h2_observer", checks::h2_observer);
}

#[test]
fn frame_splitter() {
    replay("frame_splitter", checks::frame_splitter);
}

#[test]
fn message_scan() {
    replay("message_scan", checks::message_scan);
}

#[test]
fn recording_reader() {
    replay("recording_reader", checks::recording_reader);
}

#[test]
fn arrow_script() {
    replay("arrow_script", checks::arrow_script);
}

#[test]
fn capture_reader() {
    replay("capture_reader", checks::capture_reader);
}

#[test]
fn replays_every_fuzz_target() {
    let here = include_str!("corpora.rs");
    for entry in fs::read_dir(folder("targets")).expect("the targets").flatten() {
        let name = entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
        assert!(here.contains(&format!("replay(\"{name}\"")), "{name} is not replayed");
    }
}
