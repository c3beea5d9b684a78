//! Sources of several times `--memory`: each verb reads them piece by piece.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use xdscope_sources::record::{Header, Writer, raw};
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::event::{Clock, StreamId, Time};
use xdscope_wire::pb::put_len_field;
use xdscope_wire::{Frame, FramePayload, Message, MessageShape, Open};

use crate::support::process::{Child, reopened};
use crate::support::snapshot::CLUSTER;
use crate::support::tap::{Tap, peak_memory, xdscope};
use crate::support::wait::{ANALYSIS_PATIENCE, look_every, wait_for_analysis};

const METHOD: &str = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/// `--memory` of the verbs, and what the process may take beyond it and beyond a small source.
const MEMORY: &str = "16MB";
const MAX_EXTRA: usize = (16 + 64) << 20;
/// Interval between two looks at the memory of a process, and runs of a small source.
const MEMORY_INTERVAL: Duration = Duration::from_millis(2);
const SHORT_RUNS: usize = 6;
/// Updates of the large source, each with as much new content that does not compress.
const UPDATES: u64 = 12_000;
/// Updates of raw JSONL, which needs more bytes for the same content.
const JSONL_UPDATES: u64 = 8_500;
const CONTENT_BYTES: usize = 10_000;

/// Writes a session of updates to a recording, or to raw JSONL.
fn write(path: &Path, updates: u64) {
    let mut catalog = Catalog::new(1, None, Box::new(MemoryBodies::default()));
    let clock = Clock { epoch: Some(1 << 60), untimed: false };
    let file = File::create(path).expect("a file");
    let (mut recording, mut lines) = (None, None);
    match path.extension().is_some_and(|end| end == "jsonl") {
        true => lines = Some(raw::Writer::new(std::io::BufWriter::new(file), clock, None)),
        false => {
            let header = Header { seed: 1, clock, ..Header::default() };
            recording = Some(Writer::new(file, header).expect("a header"));
        }
    }
    let mut put = |at, what, catalog: &Catalog| {
        let frame = Frame { at: Time(at), stream: StreamId(1), what };
        if let Some(writer) = &mut recording {
            writer.write(&frame, catalog).expect("a disk");
        }
        if let Some(writer) = &mut lines {
            writer.write(&frame, catalog).expect("a disk");
        }
    };
    put(0, FramePayload::Open(Box::new(Open { method: METHOD.into(), ..Open::default() })), &catalog);
    for i in 0..updates {
        for (shape, bytes) in
            [(MessageShape::DeltaRequest, request(i)), (MessageShape::DeltaResponse, response(i))]
        {
            let message = Message::parse(shape, &bytes, &mut catalog);
            put(i * 1_000_000, FramePayload::Message(Arc::new(message)), &catalog);
        }
    }
    if let Some(writer) = recording {
        writer.finish().expect("a disk");
    }
    if let Some(writer) = lines {
        writer.finish().expect("a disk");
    }
}

fn request(i: u64) -> Vec<u8> {
    let mut request = Vec::new();
    put_len_field(&mut request, 2, CLUSTER.as_bytes());
    match i.checked_sub(1) {
        None => put_len_field(&mut request, 3, b"*"),
        Some(before) => put_len_field(&mut request, 6, format!("nonce-{before}").as_bytes()),
    }
    request
}

fn response(i: u64) -> Vec<u8> {
    let name = format!("cluster-{}", i % 20);
    let mut state = i + 1;
    let content: Vec<u8> = (0..CONTENT_BYTES)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b' ' + (state >> 58) as u8
        })
        .collect();
    let (mut cluster, mut any, mut resource, mut response) = (vec![], vec![], vec![], vec![]);
    put_len_field(&mut cluster, 1, name.as_bytes());
    put_len_field(&mut cluster, 28, &content);
    put_len_field(&mut resource, 3, name.as_bytes());
    put_len_field(&mut resource, 1, format!("version-{i}").as_bytes());
    put_len_field(&mut any, 1, CLUSTER.as_bytes());
    put_len_field(&mut any, 2, &cluster);
    put_len_field(&mut resource, 2, &any);
    put_len_field(&mut response, 2, &resource);
    put_len_field(&mut response, 4, CLUSTER.as_bytes());
    put_len_field(&mut response, 5, format!("nonce-{i}").as_bytes());
    response
}

/// A small and a large source.
struct Sources {
    folder: tempfile::TempDir,
    small: PathBuf,
    large: PathBuf,
}

impl Sources {
    fn new(ending: &str, updates: u64) -> Sources {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(format!("{name}.{ending}"));
        let (small, large) = (at("small"), at("large"));
        write(&small, 20);
        write(&large, updates);
        Sources { folder, small, large }
    }

    /// Runs a verb on both. `is_stdin` gives the source as a pipe.
    #[track_caller]
    fn check(&self, args: &[&str], is_stdin: bool) {
        // A short run may end between two looks at its memory, above all on busy cores.
        let small = (0..SHORT_RUNS).map(|_| self.peak(args, &self.small, is_stdin)).max().unwrap_or(0);
        assert!(small > 0, "{args:?}: no look at a short run");
        let large = self.peak(args, &self.large, is_stdin);
        assert!(large < small + MAX_EXTRA, "{args:?}: {large} bytes, {small} for a small source");
    }

    /// Runs a verb to its end, and returns the highest memory.
    fn peak(&self, args: &[&str], path: &Path, is_stdin: bool) -> usize {
        let mut command = xdscope(self.folder.path());
        let source = if is_stdin { Path::new("-") } else { path };
        command.arg(args[0]).arg(source).args(&args[1..]).args(["--memory", MEMORY]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut cat = None;
        if is_stdin {
            let mut pipe = Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().expect("cat");
            command.stdin(pipe.stdout.take().expect("a pipe"));
            cat = Some(pipe);
        }
        let mut child = command.spawn().expect("xdscope");
        let mut peak = 0;
        let ended = look_every(MEMORY_INTERVAL, ANALYSIS_PATIENCE, || {
            peak = peak.max(peak_memory(child.id()).unwrap_or(0));
            child.try_wait().expect("its state")
        });
        let status = ended.unwrap_or_else(|| {
            child.kill().expect("its end");
            panic!("{args:?} takes more than {ANALYSIS_PATIENCE:?}")
        });
        assert!(matches!(status.code(), Some(0 | 1)), "{args:?}: {status}");
        if let Some(mut cat) = cat {
            cat.wait().expect("cat");
        }
        peak
    }

    fn large_bytes(&self) -> u64 {
        std::fs::metadata(&self.large).expect("a file").len()
    }
}

#[test]
fn raw_jsonl() {
    let sources = Sources::new("jsonl", JSONL_UPDATES);
    assert!(sources.large_bytes() > 110_000_000);
    for args in [&["status"][..], &["log", "--tail", "1"], &["get", "cds/cluster-7"], &["info"]] {
        sources.check(args, false);
    }
    sources.check(&["status"], true);
}

#[test]
fn recordings_from_pipes_and_scripts_of_recordings() {
    let sources = Sources::new("xdsrec", UPDATES);
    assert!(sources.large_bytes() > 80_000_000);
    for args in [&["status"][..], &["get", "cds/cluster-7", "--at", "#30"]] {
        sources.check(args, true);
    }
    sources.check(&["export", "--to", "script"], false);
}

#[test]
fn followed_files_and_served_sources() {
    let sources = Sources::new("xdsrec", UPDATES);
    let last = format!("nonce-{}", UPDATES - 2);
    let follow = |path: &Path, last: &str| {
        let _writer = reopened(path);
        let mut command = xdscope(sources.folder.path());
        command.args(["log", "--follow", "-o", "jsonl", "--memory", MEMORY]).arg(path);
        let child = Child::start(&mut command, &sources.folder.path().join(format!("follow-{last}.log")));
        wait_for_analysis("the last line", || child.log().contains(last).then_some(()));
        peak_memory(child.id()).expect("its memory")
    };
    let (small, large) = (follow(&sources.small, "nonce-18"), follow(&sources.large, &last));
    assert!(large < small + MAX_EXTRA, "follow: {large} bytes, {small} for a small source");
    for mode in ["snapshot", "script"] {
        // A script is in memory as a whole, and is refused if it does not fit.
        let memory = if mode == "script" { "400MB" } else { MEMORY };
        let serve = |path: &Path| {
            Tap::serve(sources.folder.path(), path, &["--mode", mode, "--memory", memory]).peak_memory()
        };
        let (small, large) = (serve(&sources.small), serve(&sources.large));
        let extra = if mode == "script" { sources.large_bytes() as usize * 2 } else { MAX_EXTRA };
        assert!(large < small + extra, "serve {mode}: {large} bytes, {small} for a small source");
    }
}
