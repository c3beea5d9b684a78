//! Sizes of recordings.

use std::hash::Hasher;

use xdscope_sources::open_recording as open;
use xdscope_sources::record::Loaded;
use xdscope_wire::{FramePayload, MessageShape};

use crate::{clusters, large, say, traffic};

fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1e3
}

/// Returns the XXH3 hash of all messages of a recording, joined, and their total size in bytes.
fn messages(loaded: &Loaded) -> (u64, u64) {
    let (mut hash, mut bytes) = (twox_hash::XxHash3_64::new(), 0);
    for frame in &loaded.frames {
        if let FramePayload::Message(message) = &frame.what {
            let message = message.bytes(&loaded.catalog).expect("no message is lost");
            hash.write(&message);
            bytes += message.len() as u64;
        }
    }
    (hash.finish(), bytes)
}

/// Measures pushes of all clusters with one of them changed.
pub fn churn(quick: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("churn.xdsrec");
    let (count, pushes) = if quick { (1000, 10) } else { (10_000, 50) };
    let unique: Vec<u8> = (0..count).flat_map(|i| clusters::cluster(i, 5)).collect();
    let unique = zstd::bulk::compress(&unique, 3).expect("zstd").len() as u64;
    for (word, random) in [("in order", false), ("random order", true)] {
        let (_, first) = traffic::churn(&path, count, 1, random);
        let (raw, size) = traffic::churn(&path, count, pushes, random);
        let a_push = (size - first) as f64 / (pushes - 1) as f64;
        say(&format!(
            "churn, {word}: {:.1} MB of traffic in {:.1} KB ({:.2} x its unique content zstd -3), {a_push:.0} bytes a push",
            raw as f64 / 1e6,
            kb(size),
            size as f64 / unique as f64
        ));
    }
}

/// Measures ACKs that repeat a large node.
pub fn acks(quick: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("acks.xdsrec");
    let node = traffic::node();
    let mut recording = traffic::Recording::new(&path, "StreamAggregatedResources");
    let count = if quick { 100 } else { 1000 };
    for version in 0..count {
        recording.message(10_000, MessageShape::SotwRequest, &traffic::ack_with_node(version, &node));
    }
    let raw = recording.raw;
    let size = recording.finish();
    let once = zstd::bulk::compress(&node, 3).expect("zstd").len() as u64;
    let peak = large::run("replay", &path);
    say(&format!(
        "{count} ACKs with a node of {:.1} KB: {:.1} MB of traffic in {:.1} KB (the node alone, zstd -3: {:.1} KB); {:.2} MB held once replayed",
        kb(node.len() as u64),
        raw as f64 / 1e6,
        kb(size),
        kb(once),
        peak.held
    ));
}

/// Measures delta updates of one resource each, at several rates.
pub fn deltas(quick: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("deltas.xdsrec");
    let updates = if quick { 500 } else { 5000 };
    for (word, pace) in [("1,000 a second", 1000), ("20 a second", 50_000), ("3 a second", 300_000)] {
        for clusters in [100, 5000] {
            let mut frames = Vec::new();
            let (_, size) =
                traffic::deltas(&path, clusters, updates, pace, &mut |frame| frames.extend_from_slice(frame));
            let packed = zstd::bulk::compress(&frames, 3).expect("zstd").len();
            let loaded = open(&path).expect("a recording");
            let (_, bytes) = messages(&loaded);
            assert_eq!(bytes + 10 * updates as u64, frames.len() as u64, "the recording holds all frames");
            say(&format!(
                "delta updates of {clusters} clusters, {word}: {:.1} KB, {:.2} x the frames zstd -3",
                kb(size),
                size as f64 / packed as f64
            ));
        }
    }
}
