//! Sizes that a recording must keep to; each against the bytes that went by.

use super::sample::*;
use crate::record::Writer;
use xdscope_wire::content::{Catalog, MemoryBodies};
use xdscope_wire::{Frame, FramePayload, Message, MessageShape};

const CLUSTERS: u64 = 10_000;

fn catalog() -> Catalog {
    Catalog::new(42, None, Box::new(MemoryBodies::default()))
}

/// Records 50 pushes of 10,000 clusters, each with one change and its ACK. Returns the file size.
fn churn(shuffled: bool) -> usize {
    let mut catalog = catalog();
    let mut dice = Dice(1);
    let mut clusters: Vec<_> = (0..CLUSTERS).map(|i| cluster(i, 0)).collect();
    let mut frames = vec![frame(0, 1, opened(ADS))];
    let mut at = 0;
    for i in 0..50 {
        let changed = dice.roll(CLUSTERS) as usize;
        clusters[changed] = cluster(changed as u64, i + 1);
        let mut entries: Vec<_> = clusters.iter().map(Vec::as_slice).collect();
        if shuffled {
            dice.shuffle(&mut entries);
        }
        at += 100 + dice.roll(50);
        frames.push(frame(at, 1, message(MessageShape::SotwResponse, &push(&entries, i), &mut catalog)));
        at += 1 + dice.roll(9);
        frames.push(frame(at, 1, message(MessageShape::SotwRequest, &ack(i, None), &mut catalog)));
    }
    let first = record(&frames[..2], &catalog, 1).len();
    let all = record(&frames, &catalog, 2).len();
    let unique: Vec<u8> = (0..CLUSTERS).flat_map(|i| cluster(i, 0)).collect();
    let unique = zstd::bulk::compress(&unique, 3).unwrap().len();
    println!("unique {unique}, first {first}, all {all}, a push {}", (all - first) / 49);
    if !shuffled {
        assert!((all - first) / 49 <= 200, "{} bytes a push", (all - first) / 49);
        assert!(all < unique + unique / 3 + 12_000, "{all} of {unique}");
    }
    all
}

#[test]
fn churn_costs_unique_content() {
    assert!(churn(false) <= 400_000);
}

#[test]
fn churn_in_random_order_adds_order() {
    assert!(churn(true) <= 1_300_000);
}

#[test]
fn stores_repeated_node_once() {
    let mut catalog = catalog();
    let mut dice = Dice(2);
    let node: Vec<u8> =
        (0..4000).flat_map(|i| format!("extension.{i}.{};", dice.roll(1 << 20)).into_bytes()).collect();
    let node = [
        b"\x0a\x01n".to_vec(),
        [
            &[0x7a, 0x80 | (node.len() as u8 & 0x7f)][..],
            &[(node.len() >> 7) as u8 | 0x80, (node.len() >> 14) as u8],
            &node,
        ]
        .concat(),
    ]
    .concat();
    assert!(node.len() > 60_000);
    let mut frames = vec![frame(0, 1, opened(ADS))];
    for i in 0..1000 {
        frames.push(frame(
            i * 10 + dice.roll(9),
            1,
            message(MessageShape::SotwRequest, &ack(i, Some(&node)), &mut catalog),
        ));
    }
    let size = record(&frames, &catalog, 1).len();
    println!("acks with node: {size}");
    assert!(size <= 300_000, "{size}");
}

fn deltas(every: usize, clusters: u64) -> f64 {
    let mut catalog = catalog();
    let mut dice = Dice(3);
    let mut raw = Vec::new();
    let method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
    let mut frames: Vec<Frame> = vec![frame(0, 1, opened(method))];
    let mut micros = 0;
    for i in 0..5000 {
        let mut ack = Vec::new();
        xdscope_wire::pb::put_len_field(&mut ack, 2, CDS.as_bytes());
        xdscope_wire::pb::put_len_field(&mut ack, 6, nonce(i).as_bytes());
        for (shape, bytes) in
            [(MessageShape::DeltaResponse, delta(dice.roll(clusters), i)), (MessageShape::DeltaRequest, ack)]
        {
            micros += 300 + dice.roll(400);
            let what =
                FramePayload::Message(std::sync::Arc::new(Message::parse(shape, &bytes, &mut catalog)));
            raw.extend_from_slice(&[0, 0, 0, (bytes.len() >> 8) as u8, bytes.len() as u8]);
            raw.extend_from_slice(&bytes);
            frames.push(Frame { at: xdscope_wire::event::Time(micros * 1000), ..frame(0, 1, what) });
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deltas.xdsrec");
    let mut writer = Writer::in_file(std::fs::File::create_new(&path).unwrap(), header()).unwrap();
    for (i, frame) in frames.iter().enumerate() {
        writer.write(frame, &catalog).unwrap();
        if i % every == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    let packed = zstd::bulk::compress(&raw, 3).unwrap().len();
    println!("deltas over {clusters}, flush every {every}: {size} of {packed} (raw {})", raw.len());
    size as f64 / packed as f64
}

#[test]
fn compresses_small_deltas_like_raw_frames() {
    // A flush each tenth of a second, at a thousand updates a second and at few.
    for every in [200, 2] {
        for clusters in [100, 1000, 5000] {
            let ratio = deltas(every, clusters);
            assert!(ratio <= 1.2, "{ratio:.2} over {clusters} clusters, a flush every {every} messages");
        }
    }
}
