//! Replays the corpora of the fuzz targets, so that fixed defects stay fixed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

#[path = "../../../fuzz/checks/mod.rs"]
mod checks;

// A program of the package `tests/fuzz`, which this build keeps in step with the library.
#[path = "../../../fuzz/seeds.rs"]
#[expect(dead_code, reason = "a program of its own")]
mod seeds;

/// Time limit of one file, in an unoptimised build on busy cores.
const LIMIT: Duration = Duration::from_secs(300);

/// Random changes of the files of a corpus that are tried, unless `XDSCOPE_MUTATIONS` is set.
const MUTATIONS: u64 = 100;

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
    let mut inputs = Vec::new();
    for file in files {
        let bytes = fs::read(&file).expect("readable");
        assert!(bytes.len() <= 4096, "{}: fuzz with -max_len=4096", file.display());
        run(check, &bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        inputs.push(bytes);
    }
    let mutations = std::env::var("XDSCOPE_MUTATIONS").ok().and_then(|number| number.parse().ok());
    for seed in 0..mutations.unwrap_or(MUTATIONS) {
        let input = mutated(&inputs, seed);
        if let Err(error) = run(check, &input) {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-{seed}"));
            fs::write(&kept, &input).expect("a file");
            panic!("change {seed}, kept in {}: {error}", kept.display());
        }
    }
}

/// Runs a check within the time limit.
fn run(check: fn(&[u8]), bytes: &[u8]) -> Result<(), String> {
    let bytes = bytes.to_vec();
    let (done, wait) = channel();
    let run = thread::spawn(move || {
        check(&bytes);
        // The receiver is gone once the limit has passed.
        done.send(()).unwrap_or_default();
    });
    wait.recv_timeout(LIMIT).map_err(|error| match error {
        RecvTimeoutError::Timeout => format!("takes more than {LIMIT:?}"),
        RecvTimeoutError::Disconnected => panic_message(run.join().err()),
    })
}

/// Returns a random change of a random input. Equal seeds give equal changes.
fn mutated(inputs: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut hashes = (0_u64..).map(|n| twox_hash::XxHash3_64::oneshot_with_seed(seed, &n.to_le_bytes()));
    let mut below = |limit: usize| hashes.next().unwrap_or_default() as usize % limit.max(1);
    let mut out = inputs[below(inputs.len())].clone();
    for _ in 0..1 + below(6) {
        let at = below(out.len() + 1);
        let byte = [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)];
        match below(6) {
            0 => out.insert(at, byte),
            1 => out.truncate(at),
            2 => out.extend_from_within(at..),
            3 => {
                let other = &inputs[below(inputs.len())];
                let from = below(other.len());
                let part = &other[from..(from + below(64)).min(other.len())];
                out.splice(at..at, part.iter().copied());
            }
            4 => _ = out.drain(at..(at + below(16)).min(out.len())),
            _ => {
                if let Some(changed) = out.get_mut(at) {
                    *changed = if below(2) == 0 { byte } else { *changed ^ 1 << below(8) };
                }
            }
        }
        out.truncate(4096);
    }
    out
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
fn header_block() {
    replay("header_block", checks::header_block);
}

#[test]
fn packet_headers() {
    replay("packet_headers", checks::packet_headers);
}

#[test]
fn descriptor_set() {
    replay("descriptor_set", checks::descriptor_set);
}

#[test]
fn constraints() {
    replay("constraints", checks::constraints);
}

#[test]
fn bootstrap() {
    replay("bootstrap", checks::bootstrap);
}

#[test]
fn filter() {
    replay("filter", checks::filter);
}

#[test]
fn raw_jsonl() {
    replay("raw_jsonl", checks::raw_jsonl);
}

#[test]
fn xdstp_names() {
    replay("xdstp_names", checks::xdstp_names);
}

#[test]
fn replays_every_fuzz_target() {
    let here = include_str!("corpora.rs");
    for entry in fs::read_dir(folder("targets")).expect("the targets").flatten() {
        let name = entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
        assert!(here.contains(&format!("replay(\"{name}\"")), "{name} is not replayed");
    }
}
